"""The wheel works where there is no checkout: commands, configs, suites and schema."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = ('hetpose', 'configs', 'pyproject.toml', 'setup.py', 'README.md', 'LICENSE')
WHERE = (
    'import hetpose, hetpose.paths as p; from hetpose.apis.inference.outputs import schema; '
    'print(hetpose.__file__, p.find_config("configs/uci/nll.py"), schema()["title"], sep="\\n")'
)


@pytest.fixture(scope='module')
def installed(root: Path, tmp_path_factory) -> Path:
    """A folder with the unpacked wheel in it, built from a copy of the sources."""
    scratch = tmp_path_factory.mktemp('wheel')
    source = scratch / 'source'
    source.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (root / name).is_dir() else shutil.copy
        copy(root / name, source / name)
    pip = [sys.executable, '-m', 'pip', '--quiet', '--disable-pip-version-check']
    offline = ['--no-deps', '--no-index']
    build = [*pip, 'wheel', *offline, '--no-build-isolation', '-w', str(scratch), str(source)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = scratch.glob('hetpose-*.whl')
    target = scratch / 'installed'
    subprocess.run([*pip, 'install', *offline, '--target', str(target), str(wheel)], check=True)
    return target


def python(installed: Path, folder: Path, *arguments: str) -> str:
    """The output of a fresh interpreter in an empty folder, with the wheel on its path."""
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, 'PYTHONPATH': str(installed), 'OMP_NUM_THREADS': '1'},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.mark.slow
def test_it_brings_its_configs_and_schema(installed: Path, tmp_path: Path) -> None:
    package, config, title = python(installed, tmp_path, '-c', WHERE).splitlines()
    assert Path(package).is_relative_to(installed)
    assert Path(config) == installed / 'hetpose' / 'configs' / 'uci' / 'nll.py'
    assert title
    script = (installed / 'bin' / 'hetpose').read_text()
    assert 'from hetpose.cli import main' in script


@pytest.mark.slow
def test_a_suite_and_a_training_run_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    options = ('--methods', 'w2_bound', '--epochs', '20', '--jobs', '1')
    text = python(installed, tmp_path, '-m', 'hetpose', 'suite', 'bivariate', *options)
    assert 'report.md' in text
    options = ('--cfg-options', 'dataset=4', 'epochs=1', 'source.count=64')
    python(installed, tmp_path, '-m', 'hetpose', 'train', 'multivariate/mse', *options)
    assert (tmp_path / 'work_dirs' / 'mse' / 'last_checkpoint').is_file()
