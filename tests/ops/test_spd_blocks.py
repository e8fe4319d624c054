import pytest
import torch
from helpers import random_covariance

from hetpose.ops.spd import joint_blocks


@pytest.mark.parametrize('block', [1, 2, 3])
@pytest.mark.parametrize('batch', [(), (4,), (2, 3)])
def test_a_block_is_the_marginal_of_its_joint(block: int, batch: tuple[int, ...]) -> None:
    covariance = random_covariance(*batch, dim=6)
    blocks = joint_blocks(covariance, block)
    assert blocks.shape == (*batch, 6 // block, block, block)
    for k in range(6 // block):
        rows = slice(k * block, (k + 1) * block)
        assert torch.equal(blocks[..., k, :, :], covariance[..., rows, rows])
    assert (joint_blocks(covariance.numpy(), block) == blocks.numpy()).all()


def test_a_block_must_divide_the_dimensions() -> None:
    with pytest.raises(ValueError, match='block 4 does not divide the 6'):
        joint_blocks(torch.eye(6), 4)
