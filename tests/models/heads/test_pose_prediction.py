import torch

from hetpose.models.heads import fuse_mirrored, joint_blocks

PERMUTATION = [1, 0, 2]


def random_gaussians(count: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    factor = torch.randn(count, 6, 6)
    return 10 * torch.randn(count, 6), factor @ factor.mT


def mirrored(mean: torch.Tensor, covariance: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mirror about x ↦ 15 − x, written out index by index."""
    new_mean, new_covariance = torch.empty_like(mean), torch.empty_like(covariance)
    sign = [-1.0, 1.0]
    for j, source in enumerate(PERMUTATION):
        for a in range(2):
            value = mean[:, 2 * source + a]
            new_mean[:, 2 * j + a] = 15 - value if a == 0 else value
            for i, other in enumerate(PERMUTATION):
                for b in range(2):
                    entry = covariance[:, 2 * source + a, 2 * other + b]
                    new_covariance[:, 2 * j + a, 2 * i + b] = sign[a] * sign[b] * entry
    return new_mean, new_covariance


def test_a_prediction_and_its_own_mirror_image_fuse_to_itself():
    straight = random_gaussians()
    mean, covariance = fuse_mirrored(straight, mirrored(*straight), PERMUTATION, 15.0)
    torch.testing.assert_close(mean, straight[0])
    torch.testing.assert_close(covariance, straight[1])


def test_fusion_is_the_average():
    first, second = random_gaussians(), random_gaussians()
    mean, covariance = fuse_mirrored(first, mirrored(*second), PERMUTATION, 15.0)
    torch.testing.assert_close(mean, (first[0] + second[0]) / 2)
    torch.testing.assert_close(covariance, (first[1] + second[1]) / 2)


def test_joint_blocks():
    _, covariance = random_gaussians()
    blocks = joint_blocks(covariance)
    for k in range(3):
        rows = slice(2 * k, 2 * k + 2)
        torch.testing.assert_close(blocks[:, k], covariance[:, rows, rows])
