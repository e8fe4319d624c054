"""Compare what is installed with what was tested, and tell how to remove each difference."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import subprocess
import sys
from dataclasses import dataclass

from packaging.requirements import Requirement

from hetpose.paths import DATA_VARIABLE, data_root

TESTED_MMPOSE = '1.3.2'
DATA_FAMILIES = {
    'uci': 'hetpose prepare-uci',
    'lsp': 'hetpose prepare-pose lsp',
    'lspet': 'hetpose prepare-pose lspet',
    'mpii': 'hetpose prepare-pose mpii',
    'coco': 'hetpose prepare-pose coco',
}


@dataclass(frozen=True)
class Finding:
    """One line of the report: ``broken`` decides the exit code, ``fix`` puts it right."""

    name: str
    state: str
    broken: bool = False
    fix: str = ''

    def __str__(self) -> str:
        mark = 'x' if self.broken else ('-' if self.fix else '+')
        return f'{mark} {self.name:<24}{self.state}' + (
            f'\n    fix: {self.fix}' if self.fix else ''
        )


def check_python(version: tuple[int, int] | None = None) -> Finding:
    """Python 3.10 to 3.13 are supported."""
    version = version or sys.version_info[:2]
    fits = (3, 10) <= version <= (3, 13)
    fix = '' if fits else 'make clean && make PYTHON=python3.13 install'
    return Finding('python', platform.python_version(), not fits, fix)


def check_package(requirement: Requirement) -> Finding:
    """A dependency is installed in a version that the requirement admits."""
    fix = f'pip install "{requirement.name}{requirement.specifier}"'
    if requirement.name == 'mmpose':
        fix = f'pip install --no-deps {requirement}'
    try:
        found = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(requirement.name, 'missing', True, fix)
    # A local label such as +cpu or +cu126 names a build, not another version.
    if not requirement.specifier.contains(found.partition('+')[0], prereleases=True):
        return Finding(
            requirement.name, f'{found}, tested with {requirement.specifier}', True, fix
        )
    return Finding(requirement.name, found)


def check_packages() -> list[Finding]:
    """Every dependency of hetpose that is not an extra, and mmpose, which pip cannot resolve."""
    try:
        declared = importlib.metadata.requires('hetpose') or []
    except importlib.metadata.PackageNotFoundError:
        return [Finding('hetpose', 'not installed', True, 'make install')]
    wanted = [Requirement(text) for text in declared]
    wanted = [r for r in wanted if r.marker is None or r.marker.evaluate({'extra': ''})]
    return [check_package(r) for r in [*wanted, Requirement(f'mmpose=={TESTED_MMPOSE}')]]


def check_import(module: str, fix: str = 'make clean && make install') -> Finding:
    """A package that is installed can still fail to import."""
    try:
        importlib.import_module(module)
    except Exception as error:  # a broken install raises whatever it likes
        reason = ' '.join(str(error).split())
        return Finding(f'import {module}', f'{type(error).__name__}: {reason}', True, fix)
    return Finding(f'import {module}', 'works')


def check_imports() -> list[Finding]:
    """Every package that stands between a config and a running model, lowest first."""
    # opencv-python wants libGL, which slim images lack; the headless wheel has the same version.
    headless = 'pip install --force-reinstall --no-deps "opencv-python-headless>=4.8,<5"'
    # hetpose.compat corrects torchvision where torch has no CUDA, so it comes before torchvision.
    stack = ['torch', 'hetpose.compat', 'torchvision', 'mmcv', 'mmengine', 'mmpose']
    return [check_import('cv2', headless), *map(check_import, [*stack, 'hetpose.models'])]


def check_mmpose_alone() -> Finding:
    """Whether mmpose's own API imports in a script that does not import hetpose first.

    It need not: mmpose 1.3.2 stops with mmcv-lite and on a current stack, which
    ``hetpose.compat`` corrects.
    """
    run = subprocess.run(
        [sys.executable, '-c', 'import mmpose.apis'], capture_output=True, text=True, check=False
    )
    if run.returncode == 0:
        return Finding('import mmpose.apis', 'works')
    reason = (run.stderr.strip().splitlines() or ['it stops without a word'])[-1]
    state = f'works after `import hetpose` only; alone: {reason}'
    return Finding('import mmpose.apis', state, fix='put `import hetpose` before it in a script')


def check_devices() -> list[Finding]:
    """The devices that torch sees, and whether mmcv's operators are compiled; they may be not."""
    import torch

    count = torch.cuda.device_count()
    cuda = f'{torch.version.cuda}, {count} device(s)' if count else 'none: CPU'
    extension = sys.modules.get('mmcv._ext')  # hetpose.compat puts one without a loader there
    compiled = extension is not None and getattr(extension.__spec__, 'loader', None) is not None
    return [
        Finding('cuda', cuda),
        Finding('mmcv operators', 'compiled' if compiled else 'not compiled (enough for pose)'),
        Finding('torch threads', str(torch.get_num_threads())),
    ]


def check_data() -> list[Finding]:
    """The data roots that exist. The demo and the synthetic suites need none."""
    found = []
    for family, command in DATA_FAMILIES.items():
        root = data_root(family)
        if root.is_dir():
            found.append(Finding(f'data: {family}', str(root)))
        else:
            fix = f'{command}   (or set {DATA_VARIABLE})'
            found.append(Finding(f'data: {family}', f'absent ({root}), optional', fix=fix))
    return found


def diagnose() -> list[Finding]:
    """Every finding, in the order of the print-out."""
    findings = [check_python(), *check_packages()]
    findings += check_imports()
    if not any(f.broken for f in findings if f.name.startswith('import')):
        findings += [check_mmpose_alone(), *check_devices()]
    return findings + check_data()
