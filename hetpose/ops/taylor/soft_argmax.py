"""Jacobian and Hessian of z → soft_argmax(decoder(features + lift(z))) for ReLU decoders.

ReLU does not bend, so all curvature comes from the softmax. With h_i the logits of one joint,
a_i = ∂h_i/∂z, p = softmax(h), c_i a pixel's coordinate, u = Σ p_i c_i, w_i = p_i (c_i − u) and
ā = Σ p_i a_i:
    ∂u/∂z = Σ w_i a_i,    ∂²u/∂z² = Σ w_i (a_i − ā)(a_i − ā)ᵀ.

The Jacobian is a reverse sweep of 2K images per sample. Up to the first ReLU the map from z is the
same for all samples: it is formed once, and there the sweep ends in a matrix product.

Axes: B batch, K joints, m entries of z, N images, C channels, H and W sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hetpose.ops.taylor.convolutional import (
    CONVOLUTIONS,
    Convolution,
    Gate,
    Step,
    backward,
    forward,
    largest_image,
    linearise,
)

# Images swept at once: enough to fill the convolutions, few enough to stay near the caches.
SWEEP_BYTES = 2**25


@dataclass
class Softmax:
    """w (B, K, 2, H, W) times the temperature, and p (B, K, H, W)."""

    weights: Tensor
    probabilities: Tensor


def soft_weights(logits: Tensor, temperature: float | Tensor) -> Softmax:
    """w = p (c − u) for x and y, from logits (B, K, H, W)."""
    height, width = logits.shape[-2:]
    p = (temperature * logits).flatten(-2).softmax(-1).unflatten(-1, (height, width))
    x = torch.arange(width, dtype=p.dtype, device=p.device)
    y = torch.arange(height, dtype=p.dtype, device=p.device).unsqueeze(-1)
    mean_x = (p * x).sum((-2, -1), keepdim=True)
    mean_y = (p * y).sum((-2, -1), keepdim=True)
    weights = torch.stack((p * (x - mean_x), p * (y - mean_y)), dim=2)
    return Softmax(weights, p)


def _rows(images: Tensor) -> Tensor:
    """Images (N, C, H, W) as rows (N, H·W·C): a view of channels-last images."""
    return images.permute(0, 2, 3, 1).flatten(1)


def basis_images(lift: nn.Module, m: int, like: Tensor) -> Tensor:
    """The linear part of ``lift``, applied to the unit vectors: (m, C, h, w)."""
    unit = torch.eye(m, dtype=like.dtype, device=like.device)
    return torch.func.jvp(lift, (torch.zeros_like(unit),), (unit,))[1]


AFFINE_LAYERS = (nn.Linear, nn.Conv2d, nn.Unflatten, nn.Flatten, nn.Upsample, nn.Identity)


def check_affine(lift: nn.Module, like: Tensor) -> None:
    """Refuse a lift (B, m) → (B, C, h, w) that bends.

    A sequence of layers that are affine by what they are needs no probe. Any other map is probed
    at random points p: an affine one has lift(p) + lift(−p) = 2·lift(0).
    """
    parts = lift if type(lift) is nn.Sequential else [lift]
    if all(type(part) in AFFINE_LAYERS and not part._forward_hooks for part in parts):
        return
    generator = torch.Generator().manual_seed(0)
    point = torch.randn(2, like.shape[1], generator=generator, dtype=torch.float64).to(like)
    positive, negative, origin = lift(torch.cat([point, -point, 0 * point])).chunk(3)
    bend = positive + negative - 2 * origin
    largest = float(torch.stack([positive, negative, origin]).abs().max())
    if float(bend.abs().max()) > 1e3 * torch.finfo(like.dtype).eps * largest:
        raise ValueError('lift: expected an affine map of z, this one bends')


@dataclass
class Entry:
    """The way of z into steps that differ by sample: ``columns`` (m, C, H, W) or an adjoint."""

    steps: list[Step]  # those behind the entry
    columns: Tensor | None


def _entry(problem: Problem, steps: list[Step], z: Tensor) -> Entry:
    """The common columns where they pay; always where lift's last layer makes them cheap."""
    lift, m = problem.lift, z.shape[1]
    split = next(
        (i for i, s in enumerate(steps) if isinstance(s, Gate) and s.per_sample), len(steps)
    )
    common, rest = steps[:split], steps[split:]
    first = common[0] if common else None
    if isinstance(first, Convolution) and first.module.groups == 1 and _ends_in_mix(lift):
        assert isinstance(lift, nn.Sequential)
        columns = basis_images(lift[:-1], m, z)
        mix = lift[-1]
        assert isinstance(mix, nn.Conv2d)
        common = [first.after_channel_mix(mix.weight.flatten(1)), *common[1:]]
    elif problem.columns_pay:
        columns = basis_images(lift, m, z)
    else:
        return Entry(steps, None)
    columns = columns.contiguous(memory_format=torch.channels_last)
    return Entry(rest, forward(common, columns, 0))


def _ends_in_mix(lift: nn.Module) -> bool:
    """Whether lift is a sequence that ends in a 1×1 convolution, which the next one can absorb."""
    if type(lift) is not nn.Sequential or len(lift) < 2 or type(lift[-1]) is not nn.Conv2d:
        return False
    last = lift[-1]
    still = last.stride == (1, 1) and last.padding == (0, 0) and last.groups == 1
    return last.kernel_size == (1, 1) and still


def _seeds(steps: list[Step], weights: Tensor, joints: slice, sample: int) -> tuple[Tensor, int]:
    """First images (N, C, H, W) of the sweep of some joints, and how many steps that skips.

    Behind a final 1×1 convolution V the image of joint k is the outer product of V_k and w_k, so
    that convolution and the diagonal before it need no sweep. weights (K, 2, H, W).
    """
    chosen = weights[joints].unsqueeze(-1)  # (k, 2, H, W, 1): channels come last
    last = steps[-1] if steps else None
    if isinstance(last, Convolution) and last.is_pointwise:
        rows, skipped = last.weight.flatten(1)[joints, None, None], 1
        before = steps[-2] if len(steps) > 1 else None
        if isinstance(before, Gate):
            rows, skipped = rows * before.at(sample)[0].permute(1, 2, 0), 2
    else:
        unit = torch.eye(len(weights), dtype=weights.dtype, device=weights.device)
        rows, skipped = unit[joints, None, None], 0
    images = rows.unsqueeze(1) * chosen
    return images.flatten(0, 1).permute(0, 3, 1, 2), skipped


def _sweep(problem: Problem, entry: Entry, weights: Tensor, sample: int, m: int) -> Tensor:
    """Rows (2K, m) of one sample's Jacobian from its weights (K, 2, H, W)."""
    steps, found, joints = entry.steps, [], max(problem.images_at_once // 2, 1)
    for start in range(0, len(weights), joints):
        images, skipped = _seeds(steps, weights, slice(start, start + joints), sample)
        images = backward(steps[: len(steps) - skipped], images, sample)
        if entry.columns is not None:
            found.append(_rows(images))
        else:
            origin = images.new_zeros(len(images), m)
            found.append(torch.func.vjp(problem.lift, origin)[1](images)[0])
    rows = torch.cat(found)
    return rows if entry.columns is None else rows @ _rows(entry.columns).mT


def _curvature(columns: Tensor, soft: Softmax, sample: int) -> tuple[Tensor, Tensor]:
    """Jacobian (2K, m) and packed Hessians (2K, p) from a (m, K, H·W)."""
    p, weights = soft.probabilities[sample].flatten(1), soft.weights[sample].flatten(2)
    m, joints = columns.shape[:2]
    i, j = torch.triu_indices(m, m, device=columns.device)
    jacobian = torch.einsum('kci,mki->kcm', weights, columns).flatten(0, 1)
    packed = []
    for k in range(joints):
        centred = columns[:, k] - (columns[:, k] @ p[k]).unsqueeze(-1)  # (m, H·W)
        bent = (weights[k].unsqueeze(1) * centred) @ centred.mT  # (2, m, m)
        packed.append(bent[:, i, j])
    return jacobian, torch.cat(packed)


@dataclass
class Problem:
    """The values that are the same for all chunks of samples."""

    layers: Sequence[nn.Module]
    lift: nn.Module
    temperature: float | Tensor
    full: bool
    images_at_once: int
    columns_pay: bool  # whether forming the common columns of z is less work than not


def _terms(problem: Problem, features: Tensor, z: Tensor) -> tuple[Tensor, Tensor | None]:
    """Jacobian (B, 2K, m) and packed Hessian (B, 2K, p) of one chunk of samples."""
    start = (features + problem.lift(z)).contiguous(memory_format=torch.channels_last)
    logits, steps = linearise(problem.layers, start)
    soft = soft_weights(logits, problem.temperature)
    entry = _entry(problem, steps, z)
    jacobians, hessians = [], []
    for sample in range(len(z)):
        if problem.full:
            assert entry.columns is not None
            parts = entry.columns.split(problem.images_at_once)
            swept = torch.cat([forward(entry.steps, part, sample) for part in parts])
            swept = problem.temperature * swept.flatten(2)
            jacobian, hessian = _curvature(swept, soft, sample)
            hessians.append(hessian)
        else:
            weights = problem.temperature * soft.weights[sample]
            jacobian = _sweep(problem, entry, weights, sample, z.shape[1])
        jacobians.append(jacobian)
    return torch.stack(jacobians), torch.stack(hessians) if problem.full else None


def closed_form(
    layers: Sequence[nn.Module],
    features: Tensor,
    lift: nn.Module,
    z: Tensor,
    temperature: float | Tensor,
    full: bool,
    memory_limit: int,
) -> tuple[Tensor, Tensor | None]:
    """Jacobian (B, 2K, m) and packed Hessian (B, 2K, p) at features (B, C, h, w), z (B, m)."""
    check_affine(lift, z)
    largest, total = largest_image(layers, features.shape[1:])
    budget = min(memory_limit // 4, SWEEP_BYTES)
    at_once = max(budget // (largest * z.element_size()), 1)
    samples = max(memory_limit // (4 * total * z.element_size()), 1)
    joints = next((x.out_channels for x in reversed(layers) if isinstance(x, CONVOLUTIONS)), 0)
    pay = full or z.shape[1] <= 2 * len(z) * joints
    problem = Problem(layers, lift, temperature, full, at_once, pay)
    chunks = zip(features.split(samples), z.split(samples), strict=True)
    parts = [_terms(problem, *chunk) for chunk in chunks]
    jacobian = torch.cat([part[0] for part in parts])
    return jacobian, torch.cat(
        [part[1] for part in parts if part[1] is not None]
    ) if full else None
