"""Data flows one way: ops <- components <- apis <- commands <- tools."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / 'hetpose'
# A part may import from itself and from lower layers; the small modules at the bottom from each
# other too.
LAYERS = (
    {
        'apart',
        'download',
        'errors',
        'fileio',
        'lazy',
        'machine',
        'memory',
        'paths',
        'tables',
        'unpickling',
        'version',
    },
    {'launcher', 'xtcoco', 'zoo'},
    {'compat', 'compat_mmpose'},
    {'ops'},
    {'models', 'datasets', 'evaluation'},
    {'engine', 'visualization'},
    {'registration'},
    {'apis'},
    {'benchmarks'},
    {'commands'},
    {'cli'},
)
# Tested where what they serve is tested.
ELSEWHERE = {'datasets/pose/feature_views.py': 'apis/data/test_feature_views.py'}
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
def test_nothing_imports_upward_or_sideways(path: Path) -> None:
    part = path.relative_to(PACKAGE).with_suffix('').parts[0]
    for name in imports(path):
        parts = name.split('.')
        if parts[0] == 'hetpose' and len(parts) > 1 and parts[1] != part:
            lower = layer_of(parts[1]) < layer_of(part) or layer_of(part) == 0
            assert lower, f'{path} imports {name}, which is not in a lower layer'


@pytest.mark.parametrize(
    'path', sorted((PACKAGE / 'ops').rglob('*.py')), ids=lambda path: path.stem
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


def defined(path: Path) -> set[str]:
    """The public classes, functions and constants that a module defines."""
    names = set()
    for node in ast.parse(path.read_text(encoding='utf-8')).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith('_')}


def is_tested(path: Path) -> bool:
    """Whether a module has its own test file, or one of its folder names what it defines."""
    relative = path.relative_to(PACKAGE)
    folder = ROOT / 'tests' / relative.parent
    if list(folder.glob(f'test_{relative.stem}*.py')):
        return True
    shared = [*folder.glob('test_*.py'), *folder.parent.glob(f'test_{relative.parent.name}*.py')]
    words = set(re.findall(r'\w+', ' '.join(file.read_text() for file in shared)))
    return bool(words & defined(path))


def test_every_module_is_tested_where_the_tree_says() -> None:
    """tests/ mirrors hetpose/: a/b.py is tested by tests/a/test_b*.py.

    Small modules may share a test file of their folder, which then names what they define. The
    commands share tests/test_commands.py, which calls every one; a ``base`` is tested through all
    that derive from it.
    """
    untested = [
        str(path.relative_to(PACKAGE))
        for path in SOURCES
        if path.stem not in {'__init__', 'version', 'errors', 'base'}
        and path.parent.name != 'commands'
        and str(path.relative_to(PACKAGE)) not in ELSEWHERE
        and not is_tested(path)
    ]
    assert all((ROOT / 'tests' / file).is_file() for file in ELSEWHERE.values())
    assert not untested, f'no test for: {", ".join(untested)}'


def test_the_check_sees_a_module_without_a_test(tmp_path: Path) -> None:
    assert is_tested(PACKAGE / 'models' / 'objectives' / 'nll.py')
    lonely = PACKAGE / 'models' / 'objectives' / 'no_such_objective.py'
    with pytest.raises(FileNotFoundError):
        is_tested(lonely)  # no file of its name, so that its definitions are asked for
