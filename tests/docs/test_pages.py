"""Files that the pages name exist, and the code of the calibration page runs."""

import importlib
import re
import sys
from pathlib import Path

import pytest
from mmpose.registry import DATASETS, HOOKS, KEYPOINT_CODECS, METRICS, MODELS, TRANSFORMS

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
