"""Measurements of speed and memory for the claims of the package.

A benchmark is a module with ``run(quick: bool = False) -> list[Row]`` and a line in BENCHMARKS.
"""

from __future__ import annotations

import importlib
from typing import Any

from hetpose import lazy

BENCHMARKS = {
    'clicks': 'corrections of an annotator per person: without conditioning, Gaussian and robust',
    'distill': 'prediction with a Taylor-induced and with a distilled covariance, against mmpose',
    'infer': "images per second of infer on a folder, against mmpose's own inferencer",
    'neighbours': 'exact k nearest neighbours against dense distances and scikit-learn',
    'people': 'box AP of the person detector on HETPOSE_DATA/coco_mini, at one size and at two',
    'pose': 'ViTPose-B 256x256: steps of both phases and prediction, against mmpose',
    'posthoc': 'covariances of frozen models: prediction against the model alone, and the fit',
    'runner': 'the mmengine Runner against a bare training loop on the white wine set',
    'smoothing': 'RMSE of occluded joints in films: Kalman with Σ, with a constant Σ, One-Euro',
    'step': 'training step of nll, w2, w2_bound and nll_tic against the target dimension',
    'suite': 'the UCI suite: what its units cost, against the plain form of each part',
    'tac': 'task-agnostic correlations error: one solve against one inversion per dimension',
    'taylor': 'TIC terms, full order, of the residual network against vmap(hessian)',
    'wrapped': 'configs that come with mmpose: wrapped, fitted, tested, on generated data',
    'w2': 'exact 2-Wasserstein distance, forward and backward, against eigendecompositions',
}

__getattr__, __dir__, __all__ = lazy.attach(
    __name__, dict.fromkeys(('Row', 'format_table', 'machine'), 'hetpose.benchmarks.harness')
)
__all__ += ['BENCHMARKS', 'run']


def run(name: str, quick: bool = False, **options: Any) -> list[Any]:
    """The rows of one benchmark, by its name in ``BENCHMARKS``, with options of its own."""
    return importlib.import_module(f'hetpose.benchmarks.{name}').run(quick=quick, **options)
