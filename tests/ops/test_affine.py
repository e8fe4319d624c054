"""Points, covariances and factors follow the same affine map."""

import pytest
import torch
from helpers import random_covariance

from hetpose.ops import (
    condition,
    conditional_residual,
    kl_divergence,
    mahalanobis_squared,
    negative_log_likelihood,
    safe_cholesky,
    soft_argmax,
    tac,
    w2_squared,
)
from hetpose.ops.affine import transform_covariance, transform_factor, transform_points

D = torch.float64
JOINTS = 4
FLIP = [1, 0, 2, 3]
GENERAL = torch.tensor([[1.5, -0.4, 7.0], [0.3, 0.8, -2.0]], dtype=D)
MIRROR = torch.tensor([[-1.0, 0.0, 63.0], [0.0, 1.0, 0.0]], dtype=D)
MAPS = [
    pytest.param(GENERAL, None, id='affine'),
    pytest.param(GENERAL[:, :2], None, id='linear'),
    pytest.param(MIRROR, FLIP, id='flip'),
    pytest.param(GENERAL, [2, 0, 3, 1], id='affine and cycle'),
]
maps = pytest.mark.parametrize(('matrix', 'permutation'), MAPS)


@maps
class TestLaws:
    def test_samples_and_their_covariance_agree(self, matrix, permutation):
        points = torch.randn(200, JOINTS, 2, dtype=D) @ torch.randn(2, 2, dtype=D)
        moved = transform_points(points, matrix, permutation).flatten(-2)
        expected = transform_covariance(points.flatten(-2).T.cov(), matrix, permutation)
        torch.testing.assert_close(moved.T.cov(), expected)
        mean = transform_points(points.mean(0), matrix, permutation)
        torch.testing.assert_close(moved.mean(0), mean.flatten())

    def test_factor_and_covariance_agree(self, matrix, permutation):
        factor = torch.randn(3, 2 * JOINTS, 5, dtype=D)
        moved = transform_factor(factor, matrix, permutation)
        expected = transform_covariance(factor @ factor.mT, matrix, permutation)
        torch.testing.assert_close(moved @ moved.mT, expected)

    def test_densities_change_by_the_determinant(self, matrix, permutation):
        points = torch.randn(5, JOINTS, 2, dtype=D)
        other = torch.randn(5, JOINTS, 2, dtype=D)
        covariance = random_covariance(5, dim=2 * JOINTS)
        residual = (points - other).flatten(-2)
        moved = [transform_points(p, matrix, permutation) for p in (points, other)]
        moved_residual = (moved[0] - moved[1]).flatten(-2)
        moved_covariance = transform_covariance(covariance, matrix, permutation)
        torch.testing.assert_close(
            mahalanobis_squared(moved_residual, moved_covariance),
            mahalanobis_squared(residual, covariance),
        )
        shift = JOINTS * torch.linalg.det(matrix[:, :2]).abs().log()
        torch.testing.assert_close(
            negative_log_likelihood(moved_residual, moved_covariance),
            negative_log_likelihood(residual, covariance) + shift,
        )

    def test_kl_is_invariant(self, matrix, permutation):
        means = torch.randn(2, 5, JOINTS, 2, dtype=D)
        covariances = random_covariance(2, 5, dim=2 * JOINTS)
        moved_means = transform_points(means, matrix, permutation).flatten(-2)
        moved = transform_covariance(covariances, matrix, permutation)
        torch.testing.assert_close(
            kl_divergence(moved_means[0], moved[0], moved_means[1], moved[1]),
            kl_divergence(
                means[0].flatten(-2), covariances[0], means[1].flatten(-2), covariances[1]
            ),
        )

    def test_conditional_residuals_of_joints_are_equivariant(self, matrix, permutation):
        residual = torch.randn(5, JOINTS, 2, dtype=D)
        covariance = random_covariance(5, dim=2 * JOINTS)
        linear = matrix[:, :2]
        moved = conditional_residual(
            transform_points(residual, linear, permutation).flatten(-2),
            transform_covariance(covariance, linear, permutation),
            block=2,
        )
        plain = conditional_residual(residual.flatten(-2), covariance, block=2)
        torch.testing.assert_close(moved, transform_points(plain, linear, permutation))

    def test_conditioning_commutes(self, matrix, permutation):
        order = permutation or list(range(JOINTS))
        mean = torch.randn(JOINTS, 2, dtype=D)
        covariance = random_covariance(dim=2 * JOINTS)
        value = torch.randn(1, 2, dtype=D)
        moved_mean, moved_covariance = condition(
            transform_points(mean, matrix, permutation).flatten(),
            transform_covariance(covariance, matrix, permutation),
            [0, 1],
            transform_points(value, matrix).flatten(),
        )
        given = [2 * order[0], 2 * order[0] + 1]
        query = [2 * j + c for j in order[1:] for c in (0, 1)]
        plain_mean, plain_covariance = condition(
            mean.flatten(), covariance, given, value.flatten(), query
        )
        moved_plain = transform_points(plain_mean.reshape(-1, 2), matrix)
        torch.testing.assert_close(moved_mean, moved_plain.flatten())
        torch.testing.assert_close(
            moved_covariance, transform_covariance(plain_covariance, matrix)
        )


@pytest.mark.parametrize('permutation', [None, FLIP])
def test_similarity_scales_lengths(permutation):
    """W2 and TAC of joints are lengths: a similarity sQ multiplies W2² by s² and TAC by s."""
    angle = torch.tensor(0.7, dtype=D)
    similarity = 3 * torch.stack(
        [torch.stack([angle.cos(), -angle.sin()]), torch.stack([angle.sin(), angle.cos()])]
    )
    covariance = random_covariance(5, dim=2 * JOINTS)
    factor, target = safe_cholesky(covariance), torch.randn(5, 2 * JOINTS, 4, dtype=D)
    residual = torch.randn(5, JOINTS, 2, dtype=D)
    moved = [transform_factor(f, similarity, permutation) for f in (factor, target)]
    moved_residual = transform_points(residual, similarity, permutation).flatten(-2)
    residual = residual.flatten(-2)
    torch.testing.assert_close(
        w2_squared(*moved, moved_residual), 9 * w2_squared(factor, target, residual)
    )
    torch.testing.assert_close(
        tac(moved_residual, moved[0] @ moved[0].mT, block=2), 3 * tac(residual, covariance, 2)
    )


def test_flip_twice_is_identity():
    covariance = random_covariance(dim=2 * JOINTS)
    points = torch.randn(JOINTS, 2, dtype=D)
    for _ in range(2):
        covariance_before, points_before = covariance, points
        covariance = transform_covariance(covariance, MIRROR, FLIP)
        points = transform_points(points, MIRROR, FLIP)
    twice = transform_covariance(covariance_before, MIRROR, FLIP)
    torch.testing.assert_close(twice, covariance)
    torch.testing.assert_close(transform_points(points_before, MIRROR, FLIP), points)


def test_permutation_takes_new_from_old():
    points = torch.arange(8, dtype=D).reshape(4, 2)
    moved = transform_points(points, torch.eye(2, dtype=D), [3, 0, 1, 2])
    assert torch.equal(moved, points[[3, 0, 1, 2]])


def test_broadcasting_over_maps():
    matrices = torch.randn(6, 1, 2, 3, dtype=D)
    points = torch.randn(5, JOINTS, 2, dtype=D)
    covariance = random_covariance(5, dim=2 * JOINTS)
    moved = transform_points(points, matrices)
    assert moved.shape == (6, 5, JOINTS, 2)
    torch.testing.assert_close(moved[4, 3], transform_points(points[3], matrices[4, 0]))
    moved = transform_covariance(covariance, matrices)
    torch.testing.assert_close(moved[4, 3], transform_covariance(covariance[3], matrices[4, 0]))


POINTS, COVARIANCE = torch.zeros(3, 2), torch.eye(6)
BAD = [
    (lambda: transform_points(POINTS[:, :1], torch.eye(2)), 'points'),
    (lambda: transform_points(POINTS, torch.eye(3)), r'matrix: expected shape \(\.\.\., 2, 2\)'),
    (lambda: transform_points(POINTS, torch.eye(2), [0, 1]), 'permutation'),
    (lambda: transform_points(POINTS, torch.eye(2), [0, 1, 1]), 'permutation'),
    (lambda: transform_covariance(torch.eye(5), torch.eye(2)), 'covariance'),
    (lambda: transform_covariance(torch.ones(6, 4), torch.eye(2)), 'covariance'),
    (lambda: transform_covariance(COVARIANCE, torch.eye(2), [0, 1]), 'permutation'),
    (lambda: transform_factor(torch.ones(5, 2), torch.eye(2)), 'factor'),
    (lambda: transform_factor(torch.ones(4), torch.eye(2)), 'factor'),
]


@pytest.mark.parametrize(('call', 'message'), BAD)
def test_bad_input_names_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


class _Exported(torch.nn.Module):
    def forward(self, heatmaps, matrix, covariance):
        points = soft_argmax(heatmaps, 2.0)
        moved = transform_covariance(covariance, matrix, [1, 0, 2])
        return transform_points(points, matrix, [1, 0, 2]), moved


@pytest.mark.filterwarnings('ignore')
def test_onnx_gives_the_same(tmp_path):
    """Heatmaps to points and Σ in the image, as a deployed model does it, for any batch size."""
    pytest.importorskip('onnx')
    runtime = pytest.importorskip('onnxruntime')

    def inputs(batch):
        covariance = random_covariance(batch, dim=6, dtype=torch.float32)
        return torch.randn(batch, 3, 8, 9), torch.randn(batch, 2, 3), covariance

    path = tmp_path / 'model.onnx'
    names = ['heatmaps', 'matrix', 'covariance']
    axes = {name: {0: 'batch'} for name in names}
    torch.onnx.export(
        _Exported(), inputs(2), path, input_names=names, dynamic_axes=axes, dynamo=False
    )
    session = runtime.InferenceSession(str(path), providers=['CPUExecutionProvider'])
    arguments = inputs(5)
    feed = {name: value.numpy() for name, value in zip(names, arguments, strict=True)}
    for given, expected in zip(session.run(None, feed), _Exported()(*arguments), strict=True):
        torch.testing.assert_close(torch.from_numpy(given), expected, rtol=1e-4, atol=1e-4)
