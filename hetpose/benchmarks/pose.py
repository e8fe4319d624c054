"""ViTPose-B at 256×256: training steps and predictions compared with mmpose's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from mmengine.registry import init_default_scope
from mmengine.structures import InstanceData, PixelData
from mmpose.registry import MODELS
from mmpose.structures import PoseDataSample
from torch import Tensor

from hetpose.benchmarks.harness import Row, compare, interleave
from hetpose.models.codecs import SoftArgmaxCodec
from hetpose.ops.soft_argmax import soft_argmax
from hetpose.ops.taylor.terms import TaylorTerms, evaluating

JOINTS = 14
ARCH: str | dict = 'base'
STEP_LIMIT, PREDICT_LIMIT = 2.0, 1.05
HEAD = dict(
    in_channels=768,
    out_channels=JOINTS,
    deconv_out_channels=(256, 256),
    deconv_kernel_sizes=(4, 4),
)
TAYLOR = dict(type='TaylorInducedCovariance', order='gradient', floor=1e-2)
FACTOR = dict(type='FactorCovariance', floor=1e-2)


def estimator(head: dict) -> Any:
    """A TopdownPoseEstimator on an untrained ViT-B."""
    init_default_scope('mmpose')
    torch.manual_seed(0)
    backbone = dict(
        type='mmpretrain.VisionTransformer',
        arch=ARCH,
        img_size=(256, 256),
        patch_size=16,
        qkv_bias=True,
        with_cls_token=False,
        out_type='featmap',
        patch_cfg=dict(padding=2),
    )
    return MODELS.build(
        dict(
            type='TopdownPoseEstimator',
            backbone=backbone,
            head=head,
            test_cfg=dict(flip_test=True, flip_mode='heatmap', shift_heatmap=False),
        )
    )


def mmpose_estimator() -> Any:
    """ViTPose-B of mmpose: heatmaps, their MSE, UDP decoding."""
    codec = dict(type='UDPHeatmap', input_size=(256, 256), heatmap_size=(64, 64), sigma=2)
    loss = dict(type='KeypointMSELoss', use_target_weight=True)
    return estimator(dict(type='HeatmapHead', **HEAD, loss=loss, decoder=codec))


def our_estimator(covariance: dict, objective: str) -> Any:
    """ViTPose-B with a covariance."""
    codec = dict(type='SoftArgmaxCodec')
    head = dict(type='HeteroscedasticHead', **HEAD, decoder=codec, covariance=covariance)
    return estimator({**head, 'objective': dict(type=objective)})


def samples(count: int) -> list[PoseDataSample]:
    """Annotated samples with random joints and pseudo-labels."""
    rng = np.random.default_rng(0)
    codec = SoftArgmaxCodec()
    batch = []
    for _ in range(count):
        keypoints = rng.uniform(10, 245, (1, JOINTS, 2)).astype(np.float32)
        factor = rng.normal(size=(1, 2 * JOINTS, 2 * JOINTS)).astype(np.float32)
        encoded = codec.encode(keypoints, None, factor)
        data = PoseDataSample()
        data.gt_fields = PixelData(heatmaps=torch.as_tensor(encoded.pop('heatmaps')))
        labels = {name: torch.as_tensor(value) for name, value in encoded.items()}
        data.gt_instance_labels = InstanceData(**labels)
        data.gt_instances = InstanceData(
            bboxes=np.array([[0, 0, 255, 255]], np.float32), bbox_scores=np.ones(1, np.float32)
        )
        data.set_metainfo(
            dict(
                input_size=(256, 256),
                input_center=np.array([128, 128], np.float32),
                input_scale=np.array([256, 256], np.float32),
                flip_indices=[5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6, 12, 13],
            )
        )
        batch.append(data)
    return batch


def step(model: Any, images: Tensor) -> Callable[[], None]:
    """One optimiser step, as a callable."""
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-6)
    batch = samples(len(images))

    def run() -> None:
        losses = model.loss(images, batch)
        loss = sum(value for name, value in losses.items() if name.startswith('loss'))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return run


def through_the_backbone(model: Any, images: Tensor) -> Any:
    """Let the head take J the general way: jacrev of one image's mean, backbone included."""

    def mean(shift: Tensor, image: Tensor) -> Tensor:
        (features,) = model.extract_feat(image[None])
        z = model.head.bottleneck.down(features) + shift
        heatmaps = model.head.heatmap_decoder(features + model.head.bottleneck.lift(z))
        return soft_argmax(heatmaps, model.head.temperature).flatten()

    @torch.no_grad()
    def terms(features: Tensor, z: Tensor) -> TaylorTerms:
        with evaluating(model):
            jacobian = torch.func.jacrev(mean)
            shift = torch.zeros_like(z[0])
            return TaylorTerms(torch.stack([jacobian(shift, image) for image in images]))

    model.head.taylor_provider = terms
    return model


def prediction(model: Any, images: Tensor) -> Callable[[], None]:
    """Prediction with a mirrored second pass, as a callable."""
    model.eval()
    batch = samples(len(images))

    def run() -> None:
        with torch.no_grad():
            model.predict(images, batch)

    return run


def steps(images: Tensor, repeats: int) -> list[Row]:
    """Steps of both phases and the general formulation, compared with mmpose's step."""
    sides = {
        'mmpose': step(mmpose_estimator(), images),
        'w2_bound': step(our_estimator(TAYLOR, 'W2BoundObjective'), images),
        'nll': step(our_estimator(TAYLOR, 'NLLObjective'), images),
        'general': step(
            through_the_backbone(our_estimator(TAYLOR, 'NLLObjective'), images), images
        ),
    }
    times = interleave(sides, repeats)
    rows = [
        Row(
            f'step, gradient TIC, {phase} (batch {len(images)})',
            {
                'seconds': times[phase],
                'mmpose seconds': times['mmpose'],
                'ratio': times[phase] / times['mmpose'],
            },
            f'<= {STEP_LIMIT}x mmpose',
            times[phase] <= STEP_LIMIT * times['mmpose'],
        )
        for phase in ('w2_bound', 'nll')
    ]
    general: dict[str, float | str] = {
        'seconds': times['nll'],
        'torch.func seconds': times['general'],
        'ratio': times['nll'] / times['general'],
    }
    name = 'step, gradient TIC, nll, against jacrev through backbone and head'
    return [*rows, Row(name, general, '< 1x torch.func', times['nll'] < times['general'])]


def predictions(images: Tensor, repeats: int) -> Row:
    """Prediction with a full covariance without Taylor terms, compared with mmpose's."""
    ours = prediction(our_estimator(FACTOR, 'NLLObjective'), images)
    times = compare(ours, prediction(mmpose_estimator(), images), repeats)
    ratio = times.ours / times.reference
    return Row(
        f'prediction with Σ, flip test (batch {len(images)})',
        {'seconds': times.ours, 'mmpose seconds': times.reference, 'ratio': ratio},
        f'<= {PREDICT_LIMIT}x mmpose',
        ratio <= PREDICT_LIMIT,
    )


def run(quick: bool = False) -> list[Row]:
    """Four rows; quick takes a batch of 2 once."""
    batch, repeats = (2, 1) if quick else (8, 3)
    images = torch.randn(batch, 3, 256, 256, generator=torch.Generator().manual_seed(0))
    return [*steps(images, repeats), predictions(images, repeats)]
