"""Importing this module registers every component of hetpose in mmpose's registries.

Nobody has to import it by hand: a config's ``custom_imports = dict(imports=['hetpose'])`` does,
and so does the first look-up of a name in a registry of mmpose once hetpose is imported.
"""

from hetpose import compat  # before anything that imports mmpose  # isort: skip
from hetpose import compat_mmpose, datasets, engine, models
from hetpose.evaluation import metrics
from hetpose.visualization import local_visualizer

compat_mmpose.apply()

__all__ = [
    'compat',
    'compat_mmpose',
    'datasets',
    'engine',
    'local_visualizer',
    'metrics',
    'models',
]
