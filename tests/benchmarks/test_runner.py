import torch
from mmengine.registry import init_default_scope

from hetpose.benchmarks import runner


def test_both_loops_take_the_same_steps(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv('HETPOSE_DATA', str(tmp_path / 'absent'))
    monkeypatch.setattr(runner, 'SHAPE', (150, 4))
    init_default_scope('mmpose')
    config = runner.unit_config(tmp_path, epochs=2)
    config.custom_hooks = []  # which would choose weights on validation data
    _, trained = runner.with_runner(config)
    _, again = runner.bare(config)
    for (name, value), other in zip(
        trained.state_dict().items(), again.state_dict().values(), strict=True
    ):
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(value, other, msg=name)
