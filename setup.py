"""Put the configs into the wheel, as hetpose/configs; everything else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithConfigs(build_py):
    """Copy ``configs`` into the package. An editable install reads them from the checkout."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / 'hetpose' / 'configs'
            shutil.rmtree(target, ignore_errors=True)
            ignored = shutil.ignore_patterns('__pycache__')
            shutil.copytree(Path(__file__).parent / 'configs', target, ignore=ignored)


setup(cmdclass={'build_py': BuildWithConfigs})
