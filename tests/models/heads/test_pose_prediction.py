import math
import re

import numpy as np
import pytest
import torch
from helpers_pose import estimator, sample

from hetpose.errors import PredictionError
from hetpose.models.heads import fuse_mirrored
from hetpose.models.heads.pose_prediction import fuse_heatmaps
from hetpose.ops.distribution import Distribution
from hetpose.ops.spd import joint_blocks

PERMUTATION = [1, 0, 2]
PARAMETERISATIONS = [
    'AnchoredCovariance',
    'CholeskyCovariance',
    'DiagonalCovariance',
    'FactorCovariance',
    'PrecisionCovariance',
    'RootCovariance',
    'TaylorInducedCovariance',
]


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
    fused = fuse_mirrored(
        Distribution(*straight), Distribution(*mirrored(*straight)), PERMUTATION, 15.0
    )
    torch.testing.assert_close(fused.mean, straight[0])
    torch.testing.assert_close(fused.covariance, straight[1])


def test_fusion_is_the_average():
    first, second = random_gaussians(), random_gaussians()
    fused = fuse_mirrored(
        Distribution(*first), Distribution(*mirrored(*second)), PERMUTATION, 15.0
    )
    torch.testing.assert_close(fused.mean, (first[0] + second[0]) / 2)
    torch.testing.assert_close(fused.covariance, (first[1] + second[1]) / 2)


def test_joint_blocks():
    _, covariance = random_gaussians()
    blocks = joint_blocks(covariance)
    for k in range(3):
        rows = slice(2 * k, 2 * k + 2)
        torch.testing.assert_close(blocks[:, k], covariance[:, rows, rows])


@pytest.mark.parametrize('name', PARAMETERISATIONS)
@pytest.mark.parametrize(
    'spread', [1e-20, 1e-3, 1.0, 1e3, 1e6, 1e10, 1e18, 1e25, math.inf, math.nan]
)
def test_a_head_delivers_a_gaussian_or_a_named_error(name: str, spread: float) -> None:
    torch.manual_seed(0)
    model = estimator(covariance=dict(type=name, floor=1e-6)).eval()
    last = model.head.covariance_branch.net[-1]
    torch.nn.init.normal_(last.weight, std=1.0)
    last.weight.data.mul_(spread)
    last.bias.data.mul_(spread)
    predicted, message = [], ''
    try:
        with torch.no_grad():
            predicted = model.predict(torch.randn(2, 3, 32, 32), [sample(0), sample(1)])
    except PredictionError as error:
        message = str(error)
    if not spread < math.inf:
        assert re.search(r'(covariance|precision): item \d (is not pos|holds NaN)', message)
    elif spread < 1e6:
        assert not message
    for one in predicted:
        covariance = torch.from_numpy(one.pred_instances.covariances[0])
        assert not torch.linalg.cholesky_ex(covariance)[1]
        assert torch.equal(covariance, covariance.mT)
        assert np.isfinite(one.pred_instances.keypoint_scores).all()


@pytest.mark.parametrize('name', ['PrecisionCovariance', 'AnchoredCovariance'])
def test_a_bad_mirror_image_is_named_by_its_sample(name: str) -> None:
    """Both views are one batch of the network; the place in it would name nobody."""
    model = estimator(covariance=dict(type=name)).eval()
    torch.nn.init.normal_(model.head.covariance_branch.net[-1].weight)
    features = torch.randn(3, 16, 4, 4)
    bad = features.clone()
    bad[1] = math.nan
    with torch.no_grad(), pytest.raises(PredictionError, match='item 1 '):
        model.head.predict([(features,), (bad,)], [sample()] * 3, dict(flip_test=True))


def test_keypoints_that_are_not_finite_are_named() -> None:
    model = estimator().eval()
    torch.nn.init.constant_(model.head.final_layer.bias, math.nan)
    with torch.no_grad(), pytest.raises(PredictionError, match='predicted keypoints'):
        model.predict(torch.randn(1, 3, 32, 32), [sample()])


def test_an_empty_box_is_named() -> None:
    model = estimator().eval()
    with torch.no_grad(), pytest.raises(PredictionError, match='input_scale'):
        model.predict(torch.randn(1, 3, 32, 32), [sample(scale=(0.0, 40.0))])


@pytest.mark.parametrize('name', ['TaylorInducedCovariance', 'FactorCovariance'])
def test_an_empty_batch_has_no_predictions(name: str) -> None:
    model = estimator(covariance=dict(type=name)).eval()
    with torch.no_grad():
        predicted = model.head.forward((torch.zeros(0, 16, 4, 4),), torch.float64)
        assert predicted.covariance.matrix.shape == (0, 8, 8)
        assert model.head.predict((torch.zeros(0, 16, 4, 4),), []) == []


@pytest.mark.parametrize('shift', [0.0, 0.25])
def test_fused_heatmaps_peak_where_the_joint_is(shift):
    """A joint at x lies at W − 1 + shift − x of the mirror image."""
    width, place = 16, 9.0
    cells = torch.arange(width)
    straight = torch.exp(-((cells - place) ** 2) / 8).expand(1, 2, 4, width)
    mirrored = torch.exp(-((cells - (width - 1 + shift - place)) ** 2) / 8).expand(1, 2, 4, width)
    fused = fuse_heatmaps(straight, mirrored, [1, 0], width - 1 + shift)
    torch.testing.assert_close(fused, straight, atol=0.02, rtol=0)


def test_heatmaps_of_left_and_right_change_places():
    straight, mirrored = torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4)
    mirrored[0, 0, 1, 0] = 1.0
    fused = fuse_heatmaps(straight, mirrored, [1, 0], 3.0)
    assert fused[0, 1, 1, 3] == 0.5
    with pytest.raises(ValueError, match='mirror_offset'):
        fuse_heatmaps(straight, mirrored, [1, 0], 5.0)
