"""Covariances of frozen models: prediction compared with the model alone, and the fit."""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mmpose
import numpy as np
import torch
from mmengine.registry import init_default_scope
from mmengine.structures import InstanceData
from mmpose.registry import MODELS
from mmpose.structures import PoseDataSample
from torch import Tensor

from hetpose.apis.fit.cache import Errors
from hetpose.apis.fit.forms import FitSettings, fit_forms
from hetpose.apis.fit.training import TrainingSettings
from hetpose.benchmarks.harness import Row, compare_pairs
from hetpose.engine.config_file import load_config

CONFIGS = {
    'ResNet-50': 'topdown_heatmap/coco/td-hm_res50_8xb64-210e_coco-256x192.py',
    'RTMPose-s': 'rtmpose/coco/rtmpose-s_8xb256-420e_coco-256x192.py',
}
PREDICT_LIMIT, FIT_LIMIT = 1.03, 180.0
JOINTS, FEATURES = 17, 8192
COVARIANCE = dict(type='AnchoredCovariance', floor=1e-4)
OBJECTIVE = dict(type='AnchoredNLLObjective', prior=0.1)


def models(config: str) -> tuple[Any, Any, tuple[int, int]]:
    """A packaged model of mmpose, untrained, the same one wrapped, and its input size."""
    folder = Path(mmpose.__file__).parent / '.mim' / 'configs' / 'body_2d_keypoint'
    settings = load_config(folder / config).model
    init_default_scope('mmpose')
    settings.backbone.pop('init_cfg', None)
    foreign = MODELS.build(copy.deepcopy(settings)).eval()
    settings.head = dict(
        type='PosthocCovarianceHead',
        head=settings.head,
        covariance=COVARIANCE,
        objective=OBJECTIVE,
    )
    wrapped = MODELS.build(settings).eval()
    wrapped.load_state_dict(foreign.state_dict(), strict=False)
    return foreign, wrapped, foreign.head.decoder.input_size


def samples(count: int, size: tuple[int, int]) -> list[PoseDataSample]:
    """Samples without labels."""
    made = []
    for _ in range(count):
        data, scale = PoseDataSample(), np.array(size, np.float32)
        data.gt_instances = InstanceData(
            bboxes=np.array([[0, 0, *size]], np.float32), bbox_scores=np.ones(1, np.float32)
        )
        data.set_metainfo(
            dict(
                input_size=size,
                input_center=scale / 2,
                input_scale=scale,
                flip_indices=list(range(JOINTS)),
            )
        )
        made.append(data)
    return made


def prediction(model: Any, images: Tensor, size: tuple[int, int]) -> Callable[[], None]:
    """Prediction as the config asks for it, as a callable."""

    def run() -> None:
        with torch.no_grad():
            model.predict(images, samples(len(images), size))

    return run


def predictions(name: str, batch: int, repeats: int) -> Row:
    """Prediction with Σ compared with the unwrapped model's."""
    foreign, wrapped, size = models(CONFIGS[name])
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch, 3, size[1], size[0], generator=generator)
    times = compare_pairs(
        prediction(wrapped, images, size), prediction(foreign, images, size), repeats
    )
    return Row(
        f'{name}, prediction with Σ (batch {batch})',
        {
            'CPU seconds': times.ours,
            'model alone': times.reference,
            'ratio': f'{times.ratio:.3f}',
            'standard error': f'{times.error:.3f}',
        },
        f'<= {PREDICT_LIMIT}x the model alone',
        times.ratio <= PREDICT_LIMIT,
    )


def cached(count: int) -> Errors:
    """Errors of people that grow with what is seen."""
    rng = np.random.default_rng(0)
    statistics = rng.normal(size=(count, JOINTS, 8)).astype(np.float32)
    side = rng.uniform(80, 300, count)
    size = np.exp(0.3 * statistics[..., :1]) * side[:, None, None] / 50
    return Errors(
        pooled=rng.normal(size=(count, FEATURES)).astype(np.float16),
        statistics=statistics,
        residual=size * rng.normal(size=(count, JOINTS, 2)),
        mask=rng.random((count, JOINTS)) < 0.9,
        side=side,
        image=np.arange(count).astype(str),
    )


def fit(count: int, settings: FitSettings | None = None) -> Row:
    """Seconds of a whole fit on a cache: a diagonal Σ and a full one with either tails."""
    errors, settings = cached(count), settings or FitSettings()
    held = np.arange(count) % 8 == 0
    start, busy = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        fit_forms(
            FEATURES, errors.select(~held), errors.select(held), Path(folder), settings, False
        )
    seconds = time.perf_counter() - start
    return Row(
        f'fit on {count} cached people, {JOINTS} joints, up to {settings.training.epochs} epochs',
        {'seconds': seconds, 'CPU seconds': time.process_time() - busy},
        f'<= {FIT_LIMIT:.0f} s',
        seconds <= FIT_LIMIT,
    )


def run(quick: bool = False) -> list[Row]:
    """Three rows; quick takes a batch of 1 once and few people."""
    if quick:
        once = FitSettings(training=TrainingSettings(epochs=1))
        return [predictions('RTMPose-s', 1, 1), fit(200, once)]
    return [*(predictions(name, 8, 25) for name in CONFIGS), fit(5000)]
