"""Whoever imports what first, a config that asks for hetpose finds its components."""

import subprocess
import sys

import pytest

FROM_CONFIG = (
    'from mmengine.config import Config; '
    'from mmengine.registry import RUNNERS, init_default_scope; '
    'c = Config.fromfile("configs/{}"); init_default_scope("mmpose"); '
)
POSE = FROM_CONFIG.format('pose/td-hybrid_vit-96x4_1xb32-8e_synthetic-128x128.py')
SUITE = FROM_CONFIG.format('uci/nll.py')
MODEL = 'from mmengine.registry import MODELS; print(type(MODELS.build(c.model).head).__name__)'


@pytest.mark.parametrize(
    ('code', 'expected'),
    [
        (POSE + MODEL, 'HeteroscedasticHead'),  # a foreign tool, such as mmpose's train.py
        ('import hetpose; ' + POSE + MODEL, 'HeteroscedasticHead'),
        ('import hetpose; import mmpose.apis; ' + POSE + MODEL, 'HeteroscedasticHead'),
        ('import mmengine; import hetpose; import mmpose; ' + POSE + MODEL, 'HeteroscedasticHead'),
        (SUITE + 'print(RUNNERS.get("SuiteRunner").__name__)', 'SuiteRunner'),
        ('import hetpose; ' + SUITE + 'print(RUNNERS.get("SuiteRunner").__name__)', 'SuiteRunner'),
        (
            'import hetpose; from mmpose.registry import METRICS; '
            'print(METRICS.get("CalibrationMetric").__name__)',
            'CalibrationMetric',
        ),
    ],
    ids=['config', 'hetpose first', 'mmpose.apis', 'mmengine first', 'suite', 'suite2', 'look-up'],
)
def test_components_are_found(root, code: str, expected: str) -> None:
    run = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False, cwd=root
    )
    assert run.stdout.split()[-1:] == [expected], run.stderr
