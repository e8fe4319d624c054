from mmpose.registry import MODELS

from hetpose.benchmarks import distill
from hetpose.engine.config_file import load_config
from hetpose.paths import config_root


def test_every_model_has_a_counterpart_of_mmpose() -> None:
    for name in distill.CONFIGS.values():
        config = load_config(config_root() / 'pose' / name)
        head = dict(distill.mmpose_model(config).head)
        ours = dict(config.model.head)
        assert head['type'] == 'HeatmapHead'
        assert {k: head[k] for k in ('in_channels', 'out_channels')} == {
            k: ours[k] for k in ('in_channels', 'out_channels')
        }
        MODELS.build(head)


def test_quick_rows(monkeypatch) -> None:
    tiny = 'td-hybrid_vit-96x4_1xb32-8e_synthetic-128x128.py'
    monkeypatch.setitem(distill.CONFIGS, 'ViTPose-S', tiny)
    teacher, student = distill.run(quick=True)
    assert teacher.passed is None
    assert student.required
    assert min(row.metrics['times mmpose'] for row in (teacher, student)) > 0
