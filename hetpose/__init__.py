"""Calibrated, correlated keypoint uncertainty for any MMPose model.

Importing the package registers every component in mmpose's registries; a config needs only
``custom_imports = dict(imports=['hetpose'])``.
"""

import sys

from hetpose.version import __version__

try:
    from hetpose import compat  # before anything that imports mmpose  # isort: skip
    from hetpose import datasets, engine, evaluation, models, visualization
    from hetpose.apis.calibration.report import calibration
except ImportError as error:
    # `python -m hetpose doctor` must run where the installation is broken; argv[0] is '-m' while
    # Python imports the package of a module that it is about to run.
    if sys.argv[:1] != ['-m']:
        raise ImportError(
            f'hetpose cannot load: {error}; run `python -m hetpose doctor` to see what to mend'
        ) from error

__all__ = [
    '__version__',
    'calibration',
    'compat',
    'datasets',
    'engine',
    'evaluation',
    'models',
    'visualization',
]
