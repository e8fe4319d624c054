"""Data flows one way: ops <- components <- apis <- tools."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / 'hetpose'
# A module may import from its own layer and from lower ones.
LAYERS = (
    {'download', 'errors', 'fileio', 'lazy', 'memory', 'paths', 'tables', 'unpickling', 'version'},
    {'zoo'},
    {'compat', 'compat_mmpose', 'launcher', 'xtcoco'},
    {'ops'},
    {'models', 'datasets', 'engine', 'evaluation', 'visualization'},
    {'registration'},
    {'apis', 'benchmarks'},
    {'commands'},
    {'cli'},
)
TOP = {'__init__', '__main__'}  # the package itself ties the layers together
SOURCES = sorted(
    path
    for path in PACKAGE.rglob('*.py')
    if path.relative_to(PACKAGE).stem not in TOP or len(path.relative_to(PACKAGE).parts) > 1
)


def layer_of(part: str) -> int:
    return next(level for level, parts in enumerate(LAYERS) if part in parts)


def imports(path: Path, root: Path = ROOT) -> set[str]:
    """Every absolute module name that a file imports, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(root).parent.parts
            base = '.'.join(package[: len(package) - node.level + 1]) if node.level else ''
            module = '.'.join(filter(None, (base, node.module)))
            names |= {f'{module}.{alias.name}' for alias in node.names}
    return names


@pytest.mark.parametrize('path', SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_imports_upward(path: Path) -> None:
    own = layer_of(path.relative_to(PACKAGE).with_suffix('').parts[0])
    for name in imports(path):
        parts = name.split('.')
        if parts[0] == 'hetpose' and len(parts) > 1:
            assert layer_of(parts[1]) <= own, f'{path} imports {name} from a higher layer'


@pytest.mark.parametrize(
    'path', sorted((PACKAGE / 'ops').glob('*.py')), ids=lambda path: path.stem
)
def test_ops_know_no_openmmlab(path: Path) -> None:
    foreign = {
        name
        for name in imports(path)
        if name.split('.')[0] in {'mmengine', 'mmcv', 'mmpose', 'mmpretrain', 'mmdet'}
    }
    assert not foreign


def test_the_check_sees_an_upward_import(tmp_path: Path) -> None:
    sample = tmp_path / 'sample.py'
    sample.write_text('def f():\n    from hetpose.apis import doctor\n')
    assert 'hetpose.apis.doctor' in imports(sample, tmp_path)


def test_every_module_is_tested_where_the_tree_says() -> None:
    """tests/ mirrors hetpose/: a/b.py is tested by tests/a/test_b*.py or tests/test_a*.py.

    A module b_part.py is a part of b.py, and may be tested through it.
    """
    untested = []
    for path in SOURCES:
        relative = path.relative_to(PACKAGE)
        if relative.stem in {'__init__', 'version', 'base', 'errors'}:
            continue
        folder, whole = ROOT / 'tests' / relative.parent, relative.stem.partition('_')[0]
        found = list(folder.glob(f'test_{relative.stem}*.py'))
        found += list(folder.parent.glob(f'test_{relative.parent.name}*.py'))
        if (path.parent / f'{whole}.py').exists():
            found += list(folder.glob(f'test_{whole}.py'))
        if not found:
            untested.append(str(relative))
    assert not untested, f'no test file for: {", ".join(untested)}'
