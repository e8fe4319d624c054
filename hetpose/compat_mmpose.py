"""Corrections of mmpose after its import; ``hetpose.registration`` applies them."""

from __future__ import annotations

import functools
import sys
from typing import Any

import mmpose.structures
import mmpose.structures.utils
import numpy as np
from mmpose.visualization.opencv_backend_visualizer import OpencvBackendVisualizer

# It binds split_instances when it is imported, which may have been before this module was.
INFERENCER = 'mmpose.apis.inferencers.base_mmpose_inferencer'


def patch_visualizer() -> None:
    """Let mmpose's OpenCV visualizer take a radius that is an array of one element.

    Defect: mmpose 1.3.2 hands ``draw_circles`` such an array and converts it by ``int()``, which
    numpy 2.4 refuses.
    """
    original = OpencvBackendVisualizer.draw_circles
    if getattr(original, 'takes_arrays', False):
        return

    @functools.wraps(original)
    def draw_circles(self: Any, center: Any, radius: Any, *args: Any, **kwargs: Any) -> Any:
        if self.backend == 'opencv':
            radius = float(np.asarray(radius).item())
        return original(self, center, radius, *args, **kwargs)

    draw_circles.takes_arrays = True  # type: ignore[attr-defined]
    OpencvBackendVisualizer.draw_circles = draw_circles


def carry_covariances() -> None:
    """Let MMPoseInferencer return the covariances of a model that predicts them.

    Defect: mmpose's ``split_instances`` copies keypoints, scores and boxes, and drops all else.
    Each person gets the fields that ``hetpose infer`` writes: ``covariance``, (K, 2, 2), and
    ``full_covariance``, (2K, 2K), in pixels², and where the model has them
    ``degrees_of_freedom`` and ``keypoint_probabilities``, (K,).
    """
    original = mmpose.structures.utils.split_instances
    if getattr(original, 'carries_covariances', False):
        return

    @functools.wraps(original)
    def split_instances(instances: Any) -> list[dict[str, Any]]:
        people = original(instances)
        for i, person in enumerate(people):
            if 'keypoint_covariances' in instances:
                person['covariance'] = instances.keypoint_covariances[i].tolist()
                person['full_covariance'] = instances.covariances[i].tolist()
            for name in ('degrees_of_freedom', 'keypoint_probabilities'):
                if name in instances:
                    person[name] = instances[name][i].tolist()
        return people

    split_instances.carries_covariances = True  # type: ignore[attr-defined]
    for name in ('mmpose.structures.utils', 'mmpose.structures', INFERENCER):
        module: Any = sys.modules.get(name)
        if module is not None:
            module.split_instances = split_instances


def apply() -> None:
    """Apply every shim. Safe to call again."""
    patch_visualizer()
    carry_covariances()
