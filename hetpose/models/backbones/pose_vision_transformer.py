"""mmpretrain's ViT, which also takes the positions of portrait-format checkpoints."""

from __future__ import annotations

import math
from typing import Any

from mmpose.registry import MODELS
from mmpretrain.models import VisionTransformer
from mmpretrain.models.utils import resize_pos_embed

PORTRAIT = (4, 3)  # height : width of the images that ViTPose was trained on


def portrait_grid(tokens: int) -> tuple[int, int] | None:
    """(h, w) with h·w = tokens and h : w = 4 : 3; None if there is none."""
    unit = math.isqrt(tokens // (PORTRAIT[0] * PORTRAIT[1]))
    height, width = PORTRAIT[0] * unit, PORTRAIT[1] * unit
    return (height, width) if tokens > 0 and height * width == tokens else None


@MODELS.register_module()
class PoseVisionTransformer(VisionTransformer):
    """``mmpretrain.VisionTransformer`` whose position embedding is resampled from 4:3 grids too.

    mmpretrain takes every checkpoint's grid for a square one, so the published ViTPose weights, of
    256×192 images and 16×12 positions, do not load into a model for 256×256 images.
    """

    def _prepare_pos_embed(self, state_dict: dict, prefix: str, *args: Any, **kwargs: Any) -> None:
        name = f'{prefix}pos_embed'
        if name in state_dict and state_dict[name].shape != self.pos_embed.shape:
            grid = portrait_grid(state_dict[name].shape[1] - self.num_extra_tokens)
            if grid is not None:
                state_dict[name] = resize_pos_embed(
                    state_dict[name],
                    grid,
                    self.patch_embed.init_out_size,
                    self.interpolate_mode,
                    self.num_extra_tokens,
                )
        super()._prepare_pos_embed(state_dict, prefix, *args, **kwargs)
