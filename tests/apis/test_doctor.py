"""The doctor sees what is broken and names the cure."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hetpose.apis import doctor


def test_this_installation_is_sound() -> None:
    assert not [f for f in doctor.diagnose() if f.broken]


def test_a_missing_package_brings_its_command() -> None:
    finding = doctor.check_package(Requirement('no-such-package==1.0'))
    assert finding.broken
    assert finding.fix == 'pip install "no-such-package==1.0"'


def test_mmpose_is_fixed_without_its_dependencies() -> None:
    finding = doctor.check_package(Requirement('mmpose==0.0.1'))
    assert finding.broken
    assert finding.fix == 'pip install --no-deps mmpose==0.0.1'


@pytest.mark.parametrize(('found', 'broken'), [('2.13.0+cpu', False), ('2.14.0', True)])
def test_a_build_label_is_no_other_version(
    monkeypatch: pytest.MonkeyPatch, found: str, broken: bool
) -> None:
    monkeypatch.setattr(importlib.metadata, 'version', lambda name: found)
    assert doctor.check_package(Requirement('torch>=2.1,<=2.13.0')).broken is broken


def test_another_python_is_refused() -> None:
    assert [doctor.check_python((3, minor)).broken for minor in range(9, 15)] == [
        *(True, False, False, False, False, True)
    ]


def test_a_package_that_does_not_import_is_broken() -> None:
    finding = doctor.check_import('hetpose.no_such_module')
    assert finding.broken
    assert 'ModuleNotFoundError' in finding.state


def test_absent_data_is_told_and_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('HETPOSE_DATA', '/nowhere')
    findings = doctor.check_data()
    assert all('/nowhere' in f.state and f.fix and not f.broken for f in findings)


@pytest.mark.slow
def test_it_runs_where_mmpose_is_broken(tmp_path: Path) -> None:
    """The module must start although the package cannot import what it stands on."""
    (tmp_path / 'mmpose').mkdir()
    (tmp_path / 'mmpose' / '__init__.py').write_text('raise ImportError("broken on purpose")')
    run = subprocess.run(
        [sys.executable, '-m', 'hetpose', 'doctor'],
        env={**os.environ, 'PYTHONPATH': str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert 'x import mmpose' in run.stdout
    assert 'Traceback' not in run.stderr


@pytest.mark.parametrize('stops', [True, False])
def test_mmpose_without_hetpose_is_told_as_it_is(stops: bool, monkeypatch) -> None:
    error = 'Traceback ...\nModuleNotFoundError: No module named mmcv._ext\n' if stops else ''
    found = subprocess.CompletedProcess([], int(stops), '', error)
    monkeypatch.setattr(doctor.subprocess, 'run', lambda *_, **__: found)
    finding = doctor.check_mmpose_alone()
    assert finding.broken is False
    assert ('works after `import hetpose` only' in finding.state) == stops
    assert ('No module named mmcv._ext' in finding.state) == stops
