"""Predictions of frames, smoothed: forward and backward for a file, forward only for a camera."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
from mmengine.structures import InstanceData
from mmpose.structures import PoseDataSample

from hetpose.apis.inference.inputs import BadInput, Picture
from hetpose.apis.inference.smoothing import Crowd, Person

Prediction = tuple[Picture, PoseDataSample]
Replace = Callable[[InstanceData, np.ndarray], None]  # sets covariances and all that follows


def smooth_live(found: Iterable[Prediction], crowd: Crowd, put: Replace) -> Iterator[Prediction]:
    """Every frame as soon as it is there, given those before it."""
    for picture, sample in found:
        numbers = _add(crowd, picture, sample)
        states = [crowd.tracks[number].filtered() for number in numbers]
        _put(sample, numbers, states, put)
        crowd.forget()
        yield picture, sample


def smooth_file(
    found: Iterable[Prediction],
    crowd: Crowd,
    put: Replace,
    pictures: Iterable[Picture | BadInput] | None,
) -> Iterator[Prediction]:
    """Every frame, given all of them.

    The images are read a second time (``pictures``) and not kept meanwhile; None delivers frames
    without an image, for when nothing is drawn.
    """
    frames: dict[int, tuple[Picture, PoseDataSample, list[int], list[int]]] = {}
    for picture, sample in found:
        numbers = _add(crowd, picture, sample)
        places = [len(crowd.tracks[number].times) - 1 for number in numbers]
        light = replace(picture, image=picture.image[:0])
        frames[picture.index] = (light, sample, numbers, places)
    smoothed = {number: track.smoothed() for number, track in crowd.tracks.items()}
    again: Iterable[Picture | BadInput] = [frame[0] for frame in frames.values()]
    for item in again if pictures is None else pictures:
        if isinstance(item, BadInput) or item.index not in frames:
            continue  # which the first pass reported
        _, sample, numbers, places = frames.pop(item.index)
        states = [smoothed[n][place] for n, place in zip(numbers, places, strict=True)]
        _put(sample, numbers, states, put)
        yield item, sample


def _add(crowd: Crowd, picture: Picture, sample: PoseDataSample) -> list[int]:
    assert picture.time is not None, 'only frames have a time'
    people = sample.pred_instances
    sizes = (people.bboxes[:, 2:4] - people.bboxes[:, :2]).max(-1, initial=0)
    return crowd.add(
        picture.time,
        [
            Person(joints, covariance, float(size))
            for joints, covariance, size in zip(
                people.keypoints, people.covariances, sizes, strict=True
            )
        ],
    )


def _put(
    sample: PoseDataSample,
    numbers: list[int],
    states: list[tuple[np.ndarray, np.ndarray]],
    put: Replace,
) -> None:
    people = sample.pred_instances
    people.track_ids = np.asarray(numbers, dtype=np.int64)
    if states:
        joints, covariances = (np.stack(part) for part in zip(*states, strict=True))
        people.keypoints = joints
        # The filter knows moments alone: what it leaves is taken for a Gaussian.
        people.pop('degrees_of_freedom', None)
        put(people, covariances)
