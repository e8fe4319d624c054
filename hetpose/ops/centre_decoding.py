"""From the maps of a centre-based network, MoveNet's, to people.

Axes: B batch, K joints, P people, (H, W) cells of the maps. The regressed displacements and the
offsets come as K pairs (y, x) along the channels; everything here returns (x, y), in cells.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

DISTANCE_OFFSET = 1.7998046875  # cells, added to a cell's distance from the regressed joint
NEIGHBOURHOOD = 5  # cells; a centre is the largest within this window
SPREAD = 0.300048828125  # of the shorter side: the squared length over which a joint's prior falls
JOINT_SCORE = 0.126953125  # joints below it do not count in a person's score


class People(NamedTuple):
    """The people that ``decode_people`` finds, best centre first, in cells."""

    keypoints: Tensor  # (B, P, K, 2)
    keypoint_scores: Tensor  # (B, P, K)
    boxes: Tensor  # (B, P, 4): x1, y1, x2, y2
    scores: Tensor  # (B, P)


def _at(maps: Tensor, index: Tensor) -> Tensor:
    """Maps (B, C, H, W) at cells (B, P) → (B, P, C)."""
    flat = maps.flatten(2)
    return flat.gather(2, index[:, None, :].expand(-1, flat.shape[1], -1)).mT


def _pairs(values: Tensor) -> Tensor:
    """(…, 2K) pairs y, x → (…, K, 2) pairs x, y."""
    return values.unflatten(-1, (-1, 2)).flip(-1)


def _cell(index: Tensor, width: int) -> Tensor:
    """Flat indices (…) → cells (…, 2) as x, y."""
    return torch.stack([index % width, index // width], dim=-1)


def _grid(maps: Tensor) -> Tensor:
    """The cells (H·W, 2) of maps (…, H, W), as x, y."""
    index = torch.arange(maps.shape[-2] * maps.shape[-1], device=maps.device)
    return _cell(index, maps.shape[-1]).to(maps.dtype)


def _refined(cells: Tensor, offset: Tensor, width: int) -> Tensor:
    """Chosen cells (B, P, K), as flat indices, plus each joint's own offset there → (B, P, K, 2).

    offset: (B, 2K, H, W).
    """
    joints = cells.shape[-1]
    maps = offset.unflatten(1, (joints, 2)).flatten(3)  # (B, K, 2, H·W)
    index = cells.mT[:, :, None, :].expand(-1, -1, 2, -1)  # (B, K, 2, P)
    shift = maps.gather(3, index).permute(0, 3, 1, 2).flip(-1)
    return _cell(cells, width).to(offset.dtype) + shift


def decode_person(
    heatmap: Tensor, regress: Tensor, centre: Tensor, offset: Tensor, centre_weight: Tensor
) -> tuple[Tensor, Tensor]:
    """The one person of a crop, as MoveNet SinglePose finds it.

    The person is at the largest weighted centre score. The displacement regressed there gives a
    first guess of every joint; the joint is the cell with the largest heatmap / (distance to the
    guess + 1.8), plus the offset there.

    Args:
        heatmap: (B, K, H, W), probabilities.
        regress, offset: (B, 2K, H, W).
        centre: (B, 1, H, W), probabilities.
        centre_weight: (H, W), larger towards the middle of the crop.

    Returns:
        Keypoints (B, K, 2) in cells and scores (B, K), the heatmaps' values there.
    """
    width = heatmap.shape[-1]
    middle = (centre[:, 0] * centre_weight).flatten(1).argmax(1, keepdim=True)  # (B, 1)
    guess = _cell(middle, width)[:, :, None, :] + _pairs(_at(regress, middle))  # (B, 1, K, 2)
    distance = (_grid(heatmap)[None, :, None, :] - guess).norm(dim=-1)  # (B, H·W, K)
    chosen = (heatmap.flatten(2) / (distance.mT + DISTANCE_OFFSET)).argmax(-1)  # (B, K)
    scores = heatmap.flatten(2).gather(2, chosen[..., None])[..., 0]
    return _refined(chosen[:, None], offset, width)[:, 0], scores


def decode_people(
    heatmap: Tensor,
    regress: Tensor,
    centre: Tensor,
    offset: Tensor,
    box_scale: Tensor,
    box_offset: Tensor,
    people: int = 6,
) -> People:
    """The people of an image, as MoveNet MultiPose finds them.

    Every centre score that is the largest of its 5×5 window is a person; the best ``people`` are
    kept. A joint is the cell inside the person's box with the largest heatmap · exp(−d² / (0.3 ·
    shorter side)), d the distance to the regressed guess, plus the offset there. The person's
    score is the centre's times the mean of the joints' scores above 0.127.

    Args:
        heatmap: (B, K, H, W), probabilities.
        regress, offset: (B, 2K, H, W).
        centre: (B, 1, H, W), probabilities.
        box_scale, box_offset: (B, 2, H, W), the box's size and its middle's offset, y before x.
        people: P.
    """
    height, width = heatmap.shape[-2:]
    pooled = functional.max_pool2d(centre, NEIGHBOURHOOD, 1, NEIGHBOURHOOD // 2)
    peaks = torch.where(centre >= pooled, centre, 0.0).flatten(1)
    centre_score, found = peaks.topk(people, dim=1)  # (B, P)
    cell = _cell(found, width).to(heatmap.dtype)
    middle = cell + _at(box_offset, found).flip(-1)
    half = 0.5 * _at(box_scale, found).flip(-1).clamp_min(0)
    limit = heatmap.new_tensor([width, height])
    low = torch.minimum((middle - half).clamp_min(0), limit)
    high = torch.minimum((middle + half).clamp_min(0), limit)
    grid = _grid(heatmap)
    inside = ((grid >= low[:, :, None]) & (grid < high[:, :, None])).all(-1)  # (B, P, H·W)
    guess = cell[:, :, None] + _pairs(_at(regress, found))  # (B, P, K, 2)
    squared = (grid[None, None, None] - guess[:, :, :, None]).square().sum(-1)  # (B, P, K, H·W)
    weighted = heatmap.flatten(2)[:, None] * torch.exp(-squared / (SPREAD * min(height, width)))
    weighted = weighted * inside[:, :, None]
    joint_scores, chosen = weighted.max(-1)  # (B, P, K)
    counted = joint_scores > JOINT_SCORE
    mean = (joint_scores * counted).sum(-1) / counted.sum(-1).clamp_min(1)
    return People(
        _refined(chosen, offset, width),
        joint_scores,
        torch.cat([low, high], dim=-1),
        centre_score * mean,
    )
