import pytest
import torch

from hetpose.models.backbones import PoseVisionTransformer
from hetpose.models.backbones.pose_vision_transformer import portrait_grid


def vit(size: tuple[int, int]) -> PoseVisionTransformer:
    return PoseVisionTransformer(
        arch=dict(embed_dims=8, num_layers=1, num_heads=2, feedforward_channels=8),
        img_size=size,
        patch_size=16,
        with_cls_token=False,
        out_type='featmap',
    )


def test_positions_of_a_portrait_are_resampled():
    """A linear ramp over 16×12 positions stays a ramp from edge to edge over 16×16."""
    source, target = vit((256, 192)), vit((256, 256))
    ramp = torch.linspace(-1, 1, 12).expand(16, 12)
    state = source.state_dict()
    state['pos_embed'] = ramp.reshape(1, -1, 1).repeat(1, 1, 8).contiguous()
    target.load_state_dict(state)
    got = target.pos_embed[0, :, 0].reshape(16, 16)
    expected = torch.linspace(-1, 1, 16).expand(16, 16)
    assert (got - expected)[:, 2:-2].abs().max() < 0.05


def test_square_and_equal_grids_are_left_to_mmpretrain():
    small, large = vit((128, 128)), vit((256, 256))
    large.load_state_dict(small.state_dict())
    again = vit((256, 192))
    again.load_state_dict(vit((256, 192)).state_dict())


@pytest.mark.parametrize(
    ('tokens', 'grid'), [(192, (16, 12)), (432, (24, 18)), (256, None), (0, None), (190, None)]
)
def test_portrait_grid(tokens, grid):
    assert portrait_grid(tokens) == grid
