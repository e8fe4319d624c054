import pytest
import torch
import torch.nn.functional as F

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


def test_positions_of_a_portrait_are_resampled_as_an_image_is():
    """Rows and columns keep their order: 16×12 positions go to 16×16 as an image would."""
    source, target = vit((256, 192)), vit((256, 256))
    state = source.state_dict()
    state['pos_embed'] = torch.randn(1, 16 * 12, 8)
    grid = state['pos_embed'].clone().reshape(1, 16, 12, 8).permute(0, 3, 1, 2)
    target.load_state_dict(state)
    expected = F.interpolate(grid, (16, 16), mode='bicubic', align_corners=False)
    got = target.pos_embed.reshape(1, 16, 16, 8).permute(0, 3, 1, 2)
    torch.testing.assert_close(got, expected)


def test_a_square_grid_is_resampled_by_mmpretrain():
    small, large = vit((128, 128)), vit((256, 256))
    large.load_state_dict(small.state_dict())
    grid = small.pos_embed.reshape(1, 8, 8, 8).permute(0, 3, 1, 2)
    expected = F.interpolate(grid, (16, 16), mode='bicubic', align_corners=False)
    got = large.pos_embed.reshape(1, 16, 16, 8).permute(0, 3, 1, 2)
    torch.testing.assert_close(got, expected)


def test_an_equal_grid_is_taken_as_it_is():
    source, target = vit((256, 192)), vit((256, 192))
    torch.nn.init.normal_(source.pos_embed)
    target.load_state_dict(source.state_dict())
    assert torch.equal(source.pos_embed, target.pos_embed)


@pytest.mark.parametrize(
    ('tokens', 'grid'), [(192, (16, 12)), (432, (24, 18)), (256, None), (0, None), (190, None)]
)
def test_portrait_grid(tokens, grid):
    assert portrait_grid(tokens) == grid
