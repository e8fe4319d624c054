"""Measure a frozen MoveNet of one person on Leeds Sports Pose Extended.

Axes: N people, L = 12 limb joints that COCO and LSPET share, in LSPET's order, J = 14.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

from hetpose.datasets.pose.lsp import LSPETDataset
from hetpose.errors import UserError
from hetpose.fileio import atomic_path
from hetpose.models.heads.movenet_heads import PIXEL_SCALE, STRIDE, MoveNetPose
from hetpose.ops.centre_decoding import decode_person

# Ankle, knee, hip; hip, knee, ankle; wrist, elbow, shoulder; shoulder, elbow, wrist: in COCO's.
LIMBS = (16, 14, 12, 11, 13, 15, 10, 8, 6, 5, 7, 9)
PADDING = 1.25  # of the joints' box, its longer side
THRESHOLDS = (0.05, 0.1, 0.2)  # of that longer side
POOLED = 4  # cells of the pooled features, each way


class JointBoxCrops(Dataset):
    """Square crops around the annotated joints, as the network takes them."""

    def __init__(self, root: str | Path, size: int, limit: int | None) -> None:
        self.people = LSPETDataset(data_root=root)
        self.size = size
        self.count = min(limit or len(self.people), len(self.people))

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, Any]:
        """RGB crop (3, size, size) uint8, joints and how the crop was made."""
        info = self.people.get_data_info(index)
        joints, present = info['keypoints'][0], info['keypoints_visible'][0] > 0
        low, high = joints[present].min(0), joints[present].max(0)
        centre, extent = (low + high) / 2, float((high - low).max())
        scale = self.size / (PADDING * extent)
        shift = self.size / 2 - scale * centre
        warp = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]], np.float32)
        image = cv2.imread(info['img_path'])
        if image is None:
            raise UserError(f'image cannot be read: {info["img_path"]}')
        crop = cv2.warpAffine(image, warp, (self.size, self.size), flags=cv2.INTER_LINEAR)
        return dict(
            image=np.ascontiguousarray(crop[..., ::-1].transpose(2, 0, 1)),
            id=info['id'],
            box=np.concatenate([low, high]).astype(np.float32),
            extent=np.float32(extent),
            warp=warp,
            joints=joints * scale + shift,
            present=present,
        )


def spreads(heatmap: Tensor, points: Tensor) -> Tensor:
    """Second moments of heatmaps (B, K, H, W) around points (B, K, 2) in cells: (B, K, 3).

    xx, xy, yy in cells², of the map divided by its sum.
    """
    weight = heatmap / heatmap.sum((-2, -1), keepdim=True)
    x = torch.arange(heatmap.shape[-1]) - points[..., 0, None]
    y = torch.arange(heatmap.shape[-2]) - points[..., 1, None]
    moments = [(0, 2), (1, 1), (2, 0)]
    return torch.stack(
        [torch.einsum('bkhw,bkh,bkw->bk', weight, y**a, x**b) for a, b in moments], dim=-1
    )


@torch.no_grad()
def predict(
    network: MoveNetPose,
    root: str | Path,
    limit: int | None = None,
    bfloat16: bool = False,
    batch_size: int = 16,
    progress: bool = True,
) -> dict[str, np.ndarray]:
    """The predictions of a network of one person in every person's crop; see ``write``.

    With ``bfloat16`` the backbone runs in that precision: three times as fast on CPUs that have
    it, with the same PCK to the second digit.
    """
    if network.many:
        raise UserError('PCK on crops is for a network of one person: Lightning or Thunder')
    network = network.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    size = STRIDE * network.centre_weight.shape[0]
    rows: list[dict[str, np.ndarray]] = []
    loader = DataLoader(JointBoxCrops(root, size, limit), batch_size=batch_size)
    for batch in tqdm(loader, desc='MoveNet on LSPET', disable=not progress):
        images = batch.pop('image').float() * PIXEL_SCALE - 1
        with torch.autocast('cpu', torch.bfloat16, enabled=bfloat16):
            (features,) = network.backbone(images.contiguous(memory_format=torch.channels_last))
        features = features.float()
        maps = {name: head(features) for name, head in network.heads.items()}
        heatmap = maps['kpt_heatmap'].sigmoid()
        points, scores = decode_person(
            heatmap,
            maps['kpt_regress'],
            maps['center'].sigmoid(),
            maps['kpt_offset'],
            network.centre_weight,
        )
        limbs = list(LIMBS)
        found = dict(
            batch,
            keypoints=points[:, limbs] * STRIDE,
            scores=scores[:, limbs],
            spread=spreads(heatmap[:, limbs], points[:, limbs]),
            features=torch.nn.functional.adaptive_avg_pool2d(features, POOLED).flatten(1).half(),
        )
        rows.append({name: value.numpy() for name, value in found.items()})
    return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def correct(found: dict[str, np.ndarray], threshold: float) -> np.ndarray:
    """Share of the annotated limb joints within a share of the joints' box, per joint: (L,)."""
    limbs = len(LIMBS)
    present = found['present'][:, :limbs]
    away = np.linalg.norm(found['keypoints'] - found['joints'][:, :limbs], axis=-1)
    close = away <= threshold * (found['extent'] * found['warp'][:, 0, 0])[:, None]
    return (close & present).sum(0) / np.maximum(present.sum(0), 1)


def report(found: dict[str, np.ndarray]) -> list[str]:
    """PCK over all annotated limb joints, one line for each threshold."""
    count = found['present'][:, : len(LIMBS)].sum(0)
    lines = [f'{len(found["id"])} people, {count.sum()} limb joints']
    for threshold in THRESHOLDS:
        share = (correct(found, threshold) * count).sum() / count.sum()
        lines.append(f'PCK at {threshold} of the joint box: {share:.3f}')
    return lines


def write(found: dict[str, np.ndarray], path: str | Path) -> None:
    """A .npz with, in crop pixels unless said,

    id (N,), the image's number; box (N, 4), of the joints, in image pixels; extent (N,), its
    longer side; warp (N, 2, 3), image → crop; joints (N, J, 2) and present (N, J), the labels;
    keypoints (N, L, 2) and scores (N, L), the predictions; spread (N, L, 3), see ``spreads``;
    features (N, 24·4·4) float16, the last map pooled.
    """
    with atomic_path(path) as temporary:
        np.savez(temporary, **found)  # type: ignore[arg-type]
