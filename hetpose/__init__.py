"""Calibrated, correlated keypoint uncertainty for any MMPose model.

Importing the package registers every component in mmpose's registries; a config needs only
``custom_imports = dict(imports=['hetpose'])``.
"""

from hetpose import compat  # noqa: F401  isort: skip  (must come before anything that imports mmpose)

from hetpose import datasets, engine, evaluation, models, visualization
from hetpose.version import __version__

__all__ = ['__version__', 'datasets', 'engine', 'evaluation', 'models', 'visualization']
