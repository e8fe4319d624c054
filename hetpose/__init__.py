"""Calibrated, correlated keypoint uncertainty for any MMPose model.

``import hetpose`` is light: what it exports is imported at first use. The components are
registered (``hetpose.registration``) as soon as somebody needs them:

- at once where mmengine is loaded already, which is so when a config asks for hetpose with
  ``custom_imports = dict(imports=['hetpose'])``;
- else when a registry of mmpose is first asked for a name. Before mmpose itself is imported,
  ``hetpose.compat`` is, which corrects what keeps mmpose from importing on a current stack.
"""

import importlib
import importlib.abc
import importlib.util
import sys
from types import ModuleType

from hetpose import lazy
from hetpose.version import __version__

_PACKAGES = ['apis', 'compat', 'datasets', 'engine', 'evaluation', 'models', 'ops']
_EXPORTS = {name: f'hetpose.{name}' for name in [*_PACKAGES, 'visualization']}
_EXPORTS['calibration'] = 'hetpose.apis.calibration.report'

__getattr__, __dir__, __all__ = lazy.attach(__name__, _EXPORTS)
__all__ += ['__version__']


class _BeforeMMPose(importlib.abc.MetaPathFinder):
    """Import ``hetpose.compat`` when mmpose is about to be imported; finds nothing itself."""

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> None:
        if fullname == 'mmpose':
            sys.meta_path.remove(self)
            importlib.import_module('hetpose.compat')


if 'mmengine' in sys.modules and importlib.util.find_spec('mmpose') is not None:
    importlib.import_module('hetpose.registration')
else:
    sys.meta_path.insert(0, _BeforeMMPose())
