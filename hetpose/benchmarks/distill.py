"""Prediction with a Taylor-induced covariance, with the distilled one, and by mmpose alone.

The ratios are of CPU seconds of neighbouring calls, which other work on the machine moves little.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmpose.registry import MODELS

from hetpose.apis.distillation import DistillSettings, student_config
from hetpose.apis.loading import without_init
from hetpose.benchmarks.harness import Row, compare_pairs
from hetpose.benchmarks.pose import prediction
from hetpose.engine.config_file import load_config
from hetpose.paths import config_root

LIMIT = 1.03
CONFIGS = {
    'ViTPose-B': 'td-hybrid_vitpose-base_1xb32-100e_mpii-lsp-lspet-256x256.py',
    'ViTPose-S': 'td-hybrid_vitpose-small_1xb32-100e_mpii-lsp-lspet-256x256.py',
    'ResNet-50': 'td-hybrid_resnet50_1xb32-100e_mpii-lsp-lspet-256x256.py',
}
OURS = (
    *('bottleneck_dim', 'covariance_width', 'covariance_blocks', 'temperature', 'objective'),
    *('learn_temperature', 'objective_weight', 'heatmap_evidence', 'score_radius', 'covariance'),
)


def built(model: Any) -> Any:
    """An untrained model of a config, with the flip test."""
    settings = copy.deepcopy(model)
    without_init(settings)
    settings.test_cfg = dict(flip_test=True)
    torch.manual_seed(0)
    return MODELS.build(settings).eval()


def mmpose_model(config: Config) -> Any:
    """The config's model with mmpose's own head of the same layers, and UDP decoding."""
    settings = copy.deepcopy(config.model)
    head = {name: value for name, value in settings.head.items() if name not in OURS}
    codec = {k: v for k, v in head['decoder'].items() if k in ('input_size', 'heatmap_size')}
    settings.head = dict(
        head,
        type='HeatmapHead',
        loss=dict(type='KeypointMSELoss', use_target_weight=True),
        decoder=dict(codec, type='UDPHeatmap', sigma=2),
    )
    return settings


def predictions(name: str, batch: int, repeats: int) -> list[Row]:
    """Time both of our predictions, each in turn with mmpose's."""
    init_default_scope('mmpose')
    config = load_config(config_root() / 'pose' / CONFIGS[name])
    teacher = built(config.model)
    student = built(student_config(config, teacher, DistillSettings()).model)
    width, height = config.model.head.decoder.input_size
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch, 3, height, width, generator=generator)
    alone = prediction(built(Config(dict(model=mmpose_model(config))).model), images)

    def row(model: Any, title: str, turns: int, limit: float | None) -> Row:
        times = compare_pairs(prediction(model, images), alone, turns)
        return Row(
            f'{name}, {title}, flip test (batch {batch})',
            {
                'CPU seconds': times.ours,
                'mmpose CPU seconds': times.reference,
                'times mmpose': times.ratio,
                'standard error': times.error,
            },
            '' if limit is None else f'<= {limit}x mmpose',
            None if limit is None else times.ratio <= limit,
        )

    few = math.ceil(repeats / 4)  # the Taylor terms make a large difference
    return [
        row(teacher, 'Taylor-induced Σ', few, None),
        row(student, 'distilled Σ', repeats, LIMIT),
    ]


def run(quick: bool = False) -> list[Row]:
    """Two rows for each model and batch size; quick takes a batch of 1 of one model once."""
    if quick:
        return predictions('ViTPose-S', 1, 1)
    sizes = {1: 20, 8: 8}  # pairs of calls for each size of a batch
    return [
        row
        for name in CONFIGS
        for batch, repeats in sizes.items()
        for row in predictions(name, batch, repeats)
    ]
