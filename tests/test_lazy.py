"""A lazy package imports what it exports at first use, and a light import stays light."""

import json
import subprocess
import sys

import pytest

import hetpose
from hetpose import apis, benchmarks, lazy
from hetpose.commands import COMMANDS

HEAVY = ('torch', 'numpy', 'scipy', 'mmengine', 'mmcv', 'mmpose', 'mmdet', 'mmpretrain')
BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ('mmengine', 'mmcv', 'mmpose', 'mmdet', 'mmpretrain'):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
"""


def python(code: str) -> str:
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def loaded_after(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after ``code``."""
    code += "; import json, sys; print(json.dumps(sorted({n.split('.')[0] for n in sys.modules})))"
    return set(json.loads(python(code)))


@pytest.mark.parametrize(
    'code',
    [
        'import hetpose; hetpose.apis',
        # what every --help costs
        'import hetpose.cli'
        + ''.join(f', hetpose.commands.{name.replace("-", "_")}' for name in COMMANDS),
    ],
    ids=['package', 'commands'],
)
def test_importing_it_loads_nothing_heavy(code: str) -> None:
    assert not loaded_after(code) & set(HEAVY)


@pytest.mark.parametrize('package', [hetpose, apis, benchmarks], ids=lambda p: p.__name__)
def test_every_exported_name_is_there(package) -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None


def test_no_export_is_hidden_by_a_submodule() -> None:
    """Importing ``apis.x`` would set the attribute ``x``, whatever the table has for it."""
    import pkgutil

    assert not {module.name for module in pkgutil.iter_modules(apis.__path__)} & set(apis.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'hetpose.apis' has no attribute 'infer'"):
        apis.infer  # noqa: B018
    getattribute, directory, names = lazy.attach('p', {'b': 'p.b', 'a': 'p.c'})
    assert directory() == names == ['a', 'b']


def test_calibration_needs_torch_and_scipy_alone() -> None:
    code = BLOCK + (
        'import hetpose, numpy as np\n'
        'rng = np.random.default_rng(0)\n'
        'target = rng.normal(size=(500, 3))\n'
        'result = hetpose.calibration(0 * target, np.eye(3)[None].repeat(500, 0), target)\n'
        'print(result.summary())\n'
    )
    assert '500' in python(code)


def test_calibration_draws_without_openmmlab(tmp_path) -> None:
    code = BLOCK + (
        'import hetpose, numpy as np\n'
        'target = np.random.default_rng(0).normal(size=(500, 3))\n'
        'result = hetpose.calibration(0 * target, np.eye(3)[None].repeat(500, 0), target)\n'
        f'result.plot({str(tmp_path / "a.png")!r})\n'
    )
    python(code)
    assert (tmp_path / 'a.png').stat().st_size > 1000
