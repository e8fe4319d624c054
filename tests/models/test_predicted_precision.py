"""Σ leaves a model in float64, exactly symmetric and positive definite, on every processor.

Processors round A @ Aᵀ differently, and on some of them the float32 product is not symmetric.
The tests therefore add such rounding themselves, or take paths that round everywhere.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers_pose import JOINTS, estimator, sample
from hypothesis import given, settings
from hypothesis import strategies as st
from mmpose.registry import MODELS

from hetpose.apis.calibration.arrays import distribution_of
from hetpose.apis.calibration.recalibration import Recalibration
from hetpose.apis.inference.conditioning import condition_pose
from hetpose.evaluation.functional.regression import regression_scores
from hetpose.evaluation.metrics.calibration import CalibrationMetric
from hetpose.evaluation.metrics.pose import HeteroscedasticPoseMetric
from hetpose.models.codecs import SoftArgmaxCodec
from hetpose.models.heads.pose_prediction import to_instances
from hetpose.ops.affine import scale_covariance
from hetpose.ops.distribution import Distribution
from hetpose.ops.spd import NotPositiveDefiniteError, safe_cholesky, to_float64
from hetpose.ops.taylor.terms import TaylorTerms

NAMES = [
    'AnchoredCovariance',
    'CholeskyCovariance',
    'ConstantCovariance',
    'DiagonalCovariance',
    'FactorCovariance',
    'NaturalCovariance',
    'PrecisionCovariance',
    'RootCovariance',
    'TaylorInducedCovariance',
]
BATCH = 3
sizes = st.integers(min_value=1, max_value=64)
seeds = st.integers(min_value=0, max_value=2**16)
quickly = settings(max_examples=12)


def assert_usable(matrix: torch.Tensor) -> None:
    """Float64, bit for bit symmetric, and with a Cholesky factor as it is."""
    assert matrix.dtype == torch.float64
    assert torch.equal(matrix, matrix.mT)
    assert not torch.linalg.cholesky_ex(matrix)[1].any()


def rounded(matrix: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """The matrix (..., d, d) in float32, with the rounding of a product of d terms in each entry.

    The error of one entry is relative to √(M_ii M_jj), as that of a scalar product is.
    """
    generator = torch.Generator().manual_seed(seed)
    deviation = matrix.diagonal(dim1=-2, dim2=-1).sqrt()
    noise = torch.rand(matrix.shape, generator=generator, dtype=matrix.dtype) * 2 - 1
    size = torch.finfo(torch.float32).eps * deviation[..., :, None] * deviation[..., None, :]
    return (matrix + noise * size).float()


def nearly_singular(dim: int, seed: int, batch: int = BATCH) -> torch.Tensor:
    """Covariances (batch, d, d) whose smallest eigenvalues lie far below float32's precision."""
    generator = torch.Generator().manual_seed(seed)
    factor = torch.randn(batch, dim, max(1, dim // 2), generator=generator, dtype=torch.float64)
    return factor @ factor.mT + 1e-9 * torch.eye(dim, dtype=torch.float64)


@pytest.mark.parametrize('name', NAMES)
@given(dim=sizes, seed=seeds, spread=st.sampled_from([0.1, 1.0, 10.0]))
@quickly
def test_every_parameterisation_is_usable_as_predicted(
    name: str, dim: int, seed: int, spread: float
) -> None:
    torch.manual_seed(seed)
    parameterisation = MODELS.build(dict(type=name, floor=1e-3))
    dim = parameterisation.only_dim or dim
    parameterisation.prepare(dim)
    raw = spread * torch.randn(BATCH, parameterisation.num_outputs(dim))
    terms = TaylorTerms(torch.randn(BATCH, dim, 7), torch.randn(BATCH, dim, 28))
    matrix = to_float64(parameterisation(raw.double(), dim, terms).matrix)
    assert_usable(matrix)
    scale = torch.rand(BATCH, dim).double() + 0.3
    assert_usable(scale_covariance(matrix, scale))


@given(dim=sizes, seed=seeds)
@quickly
def test_float32_rounding_is_repaired_and_mistakes_are_not(dim: int, seed: int) -> None:
    matrix = nearly_singular(dim, seed)
    crooked = rounded(matrix, seed)
    for given_type in (crooked, crooked.double()):  # whoever casts it cannot make it exact
        repaired = to_float64(given_type)
        assert_usable(repaired)
        torch.testing.assert_close(repaired, matrix, rtol=2e-4, atol=2e-4)
    if dim > 1:
        with pytest.raises(ValueError, match='not symmetric'):
            to_float64(matrix + 0.01 * matrix.triu(1))
        wrong = matrix - 0.01 * matrix.diagonal(dim1=-2, dim2=-1).amax() * torch.eye(dim)
        with pytest.raises(NotPositiveDefiniteError, match='item 0'):
            to_float64(wrong.float())


@pytest.mark.parametrize('name', [name for name in NAMES if name != 'NaturalCovariance'])
@pytest.mark.parametrize('dim', [2, 5, 9, 10, 11])
def test_a_regressor_predicts_what_its_metrics_accept(name: str, dim: int) -> None:
    torch.manual_seed(dim)
    objective = 'MSEObjective' if name == 'ConstantCovariance' else 'NLLObjective'
    model = MODELS.build(
        dict(
            type='HeteroscedasticRegressor',
            in_dim=3,
            out_dim=dim,
            objective=dict(type=objective),
            covariance=dict(type=name, floor=1e-6),
        )
    ).eval()
    x, y = torch.randn(20, 3), torch.randn(20, dim)
    (predicted,) = model(x, mode='predict')
    assert_usable(predicted['covariance'])
    scores = regression_scores(y.double(), predicted['mean'], predicted['covariance'])
    assert all(torch.isfinite(value).all() for value in scores.values())
    # A model of another kind may hand over float32.
    regression_scores(y, predicted['mean'].float(), rounded(predicted['covariance']))


@pytest.mark.parametrize('flip', [False, True])
@pytest.mark.parametrize('name', [name for name in NAMES if name != 'NaturalCovariance'])
@pytest.mark.parametrize('scale', [(40.0, 40.0), (24.7, 32.3)])
def test_a_pose_head_predicts_what_its_metrics_accept(name, flip, scale) -> None:
    torch.manual_seed(0)
    objective = 'MSEObjective' if name == 'ConstantCovariance' else 'NLLObjective'
    model = estimator(
        dict(flip_test=flip),
        covariance=dict(type=name, floor=1e-6),
        objective=dict(type=objective),
    ).eval()
    samples = [sample(seed, scale=scale) for seed in range(4)]
    with torch.no_grad():
        predicted = model.predict(torch.randn(4, 3, 32, 32), samples)
    pose, calibration = HeteroscedasticPoseMetric(heatmap_size=(16, 16)), CalibrationMetric()
    for one in predicted:
        assert one.pred_instances.keypoints.dtype == np.float32
        assert one.pred_instances.keypoint_covariances.dtype == np.float64
        assert_usable(torch.from_numpy(one.pred_instances.covariances))
    results = [one.to_dict() for one in predicted]
    for metric in (pose, calibration):
        metric.process(None, results)
        assert np.isfinite(list(metric.evaluate(4).values())).any()


@given(joints=st.integers(1, 32), seed=seeds, ratio=st.floats(0.3, 3.0))
@quickly
def test_scaling_to_image_pixels_keeps_sigma_usable(joints: int, seed: int, ratio: float) -> None:
    crooked = rounded(nearly_singular(2 * joints, seed, batch=1), seed)
    one = sample(scale=(31.3, 31.3 * ratio))
    codec = SoftArgmaxCodec((24, 32), (12, 16))
    (instances,) = to_instances(
        Distribution(torch.zeros(1, 2 * joints), crooked), [one], codec, 0.05
    )
    assert_usable(torch.from_numpy(instances.covariances))


@pytest.mark.parametrize('kind', [np.float32, np.float64, list])
def test_arrays_of_anybody_may_be_rounded(kind) -> None:
    cov = rounded(nearly_singular(6, 3, batch=50))
    assert (torch.linalg.eigvalsh(cov.double()) < 0).any()  # or the test shows nothing
    given_cov = cov.numpy().tolist() if kind is list else cov.numpy().astype(kind)
    mean = np.zeros((50, 3, 2))
    target = np.random.default_rng(0).normal(size=mean.shape)
    data = distribution_of(mean, given_cov, target)
    assert_usable(data.covariance)
    fitted = Recalibration.fit(mean, given_cov, target)
    if kind is not list:
        assert_usable(torch.from_numpy(fitted.apply(given_cov)))


def test_a_list_is_read_as_numpy_reads_it() -> None:
    data = distribution_of([[0.1, 0.2]], [[[0.1, 0.0], [0.0, 0.3]]], [[0.0, 0.0]])
    assert data.covariance[0, 0, 0].item() == 0.1


@pytest.mark.parametrize('seed', range(5))
def test_conditioning_has_no_negative_eigenvalue(seed: int) -> None:
    names = [f'joint {k}' for k in range(JOINTS)]
    cov = rounded(nearly_singular(2 * JOINTS, seed, batch=1))[0].numpy()
    _, result, _ = condition_pose(np.zeros((JOINTS, 2)), cov, {names[1]: (3.0, 4.0)}, names)
    rest = np.r_[0:2, 4 : 2 * JOINTS]
    assert_usable(torch.from_numpy(result[np.ix_(rest, rest)]))
    assert not result[2:4].any()


def test_safe_cholesky_of_a_repaired_matrix_needs_no_jitter() -> None:
    repaired = to_float64(rounded(nearly_singular(40, 1)))
    factor = safe_cholesky(repaired)
    torch.testing.assert_close(factor @ factor.mT, repaired, rtol=1e-12, atol=1e-12)


def test_nothing_is_a_batch_too() -> None:
    assert to_float64(torch.zeros(0, 4, 4)).shape == (0, 4, 4)
