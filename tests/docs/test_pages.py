"""Files that the pages name exist, and the code of the calibration page runs."""

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from helpers_commands import BLOCK, commands_of
from mmpose.registry import DATASETS, HOOKS, KEYPOINT_CODECS, METRICS, MODELS, TRANSFORMS

from hetpose.apis.suites.plan import known_methods
from hetpose.datasets.pose import SyntheticPose

PAGES = sorted(path.stem for path in (Path(__file__).parents[2] / 'docs').glob('*.md'))
REGISTRIES = (DATASETS, HOOKS, KEYPOINT_CODECS, METRICS, MODELS, TRANSFORMS)
REGISTERED = re.compile(
    r'`((?:[A-Z][A-Za-z0-9]+)(?:Covariance|Objective|Metric|Hook|Head|Codec|Regressor|Dataset))`'
)


@pytest.mark.parametrize('page', PAGES)
def test_links_and_paths_exist(root, page):
    text = (root / 'docs' / f'{page}.md').read_text(encoding='utf-8')
    for link in re.findall(r'\]\(([^)#]+?)\)', text):
        if '://' not in link and not link.endswith('.png'):
            assert (root / 'docs' / link).exists(), link
    for path in re.findall(r'\b((?:tools|configs|hetpose)/[\w/-]+(?:\.\w+(?:\.\w+)?)?)', text):
        assert (root / path).exists(), path


@pytest.mark.parametrize('page', PAGES)
def test_components_are_registered(root, page):
    text = (root / 'docs' / f'{page}.md').read_text(encoding='utf-8')
    defined_here = set(re.findall(r'^class (\w+)', text, re.MULTILINE))
    for name in set(REGISTERED.findall(text)) - defined_here:
        assert any(registry.get(name) is not None for registry in REGISTRIES), name


def test_functions_of_the_overview_exist(root):
    text = (root / 'docs' / 'api.md').read_text(encoding='utf-8')
    for module, names in re.findall(r'^\| `((?:ops|evaluation)\.[\w.]+)` \| (.*) \|$', text, re.M):
        found = importlib.import_module(f'hetpose.{module}')
        for name in re.findall(r'`(\w+)`', names):
            assert hasattr(found, name), f'{module}.{name}'
    for module, name in re.findall(r'`(hetpose\.apis(?:\.\w+)+)\.(\w+)', text):
        assert hasattr(importlib.import_module(module), name), f'{module}.{name}'


def test_the_calibration_page_runs(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'argv', list(sys.argv))
    text = (root / 'docs' / 'calibration.md').read_text(encoding='utf-8')
    names: dict = {}
    for code in re.findall(r'^```python\n(.*?)^```', text, re.MULTILINE | re.DOTALL):
        exec(compile(code, 'calibration.md', 'exec'), names)
    assert (tmp_path / 'calibration.png').stat().st_size > 0
    assert names['recalibration'].alpha[0] == pytest.approx(4, rel=0.1)
    assert names['ellipses'].scale == pytest.approx([4] * 3, rel=0.2)
    assert 'Over-confident' in capsys.readouterr().out


def test_what_the_readme_writes_is_not_seen_by_git(root):
    """An output of a command that is shown is ignored, so that a checkout stays clean."""
    if not (root / '.git').exists() or shutil.which('git') is None:
        pytest.skip('needs a checkout and git')
    text = (root / 'README.md').read_text(encoding='utf-8')
    commands = [line for block in BLOCK.findall(text) for line in commands_of(block)]
    written = re.compile(r'--(?:out|work-dir|vis-out-dir|pred-out-dir|json|out-dir) (\S+)')
    paths = {path for command in commands for path in written.findall(command)}
    assert len(paths) > 3
    for path in paths:
        name = path if Path(path).suffix else f'{path}/x'  # of a folder, a file in it
        ignored = subprocess.run(['git', 'check-ignore', '-q', name], cwd=root, check=False)
        assert ignored.returncode == 0, path


def test_the_joint_that_the_readme_gives_lies_on_that_joint(root):
    """The picture is a rendered figure whose joints are known."""
    text = (root / 'README.md').read_text(encoding='utf-8')
    name, x, y = re.findall(r'--given "(\w+)=(\d+),(\d+)"', text)[0]
    figures = SyntheticPose(length=14, image_size=256, seed=1, pipeline=[])
    sample = figures.get_data_info(13)
    shown = cv2.imread(str(root / 'docs' / 'images' / 'figure.png'))
    assert np.abs(sample['img'].astype(int) - shown).mean() < 3
    distance = np.linalg.norm(sample['keypoints'][0] - np.array([float(x), float(y)]), axis=-1)
    assert figures.metainfo['keypoint_id2name'][int(distance.argmin())] == name


def test_the_readme_counts_the_methods(root):
    text = (root / 'README.md').read_text(encoding='utf-8')
    assert len(known_methods('uci')) - 1 == 12
    assert 'twelve methods with the homoscedastic baseline' in ' '.join(text.split())
