"""Predictions in the form of the supervision package, for its annotators, zones and trackers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hetpose.errors import UserError


def to_supervision(predictions: Sequence[Mapping[str, Any]]) -> Any:
    """The people of one image as ``supervision.KeyPoints``.

    ``xy`` (N, K, 2) and ``keypoint_confidence`` (N, K) hold the joints and their scores,
    ``detection_confidence`` (N,) the boxes' scores. ``data['covariance']`` (N, K, 2, 2), in
    pixels², is what supervision's ellipse annotators read; ``data['full_covariance']``
    (N, 2K, 2K), ``data['bbox']`` (N, 4), ``data['track_id']`` (N,) and
    ``data['degrees_of_freedom']`` (N,) are there where the predictions have them. Supervision
    draws Σ as that of a Gaussian: of a Student-t its ellipses hold another share than they claim.

    Args:
        predictions: ``result['predictions'][0]`` of the inferencer, or what its JSON file holds
            for an image or a frame.
    """
    try:
        from supervision import KeyPoints
    except ImportError as error:
        raise UserError(
            'to_supervision needs the package supervision: pip install "supervision>=0.31"'
        ) from error
    if not hasattr(KeyPoints, 'keypoint_confidence'):  # a default, hence also of the class
        raise UserError('this supervision is too old: pip install "supervision>=0.31"')
    people = list(predictions)
    if people and 'covariance' not in people[0]:
        raise UserError('to_supervision takes the people of one image, with their covariance')
    if not people:
        return KeyPoints.empty()
    joints = np.array([person['keypoints'] for person in people], dtype=np.float32)
    data = {'covariance': np.array([person['covariance'] for person in people], np.float32)}
    data['bbox'] = np.array([np.reshape(person['bbox'], 4) for person in people], np.float32)
    if 'full_covariance' in people[0]:
        data['full_covariance'] = np.array([person['full_covariance'] for person in people])
    for name in ('track_id', 'degrees_of_freedom'):
        if name in people[0]:
            data[name] = np.array([person[name] for person in people])
    scores = np.array([person['keypoint_scores'] for person in people], dtype=np.float32)
    return KeyPoints(
        xy=joints,
        keypoint_confidence=scores,
        detection_confidence=np.array([p['bbox_score'] for p in people], dtype=np.float32),
        class_id=np.zeros(len(people), dtype=int),
        data=data,
    )
