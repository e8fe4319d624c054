"""The Student-t parameterisation: its start, its range, and the scale that it wraps."""

import pytest
import torch
from mmpose.registry import MODELS

from hetpose.models.covariance import StudentCovariance
from hetpose.ops.student import covariance_from_scale
from hetpose.ops.taylor.terms import TaylorTerms

DIM = 3
SCALES = {
    'CholeskyCovariance': {},
    'FactorCovariance': {},
    'RootCovariance': {},
    'PrecisionCovariance': {},
    'DiagonalCovariance': {},
    'AnchoredCovariance': {},
    'TaylorInducedCovariance': {'order': 'full'},
}
every_scale = pytest.mark.parametrize('name', SCALES)


def built(name: str, **settings) -> StudentCovariance:
    scale = dict(type=name, floor=1e-3, **SCALES[name])
    return MODELS.build(dict(type='StudentCovariance', scale=scale, **settings))


def taylor() -> TaylorTerms:
    return TaylorTerms(torch.randn(4, DIM, 5), torch.randn(4, DIM, 15))


@every_scale
def test_one_more_output_than_the_scale(name) -> None:
    covariance = built(name)
    assert covariance.num_outputs(DIM) == covariance.shape.num_outputs(DIM) + 1


@every_scale
def test_starts_where_the_scale_alone_would(name) -> None:
    covariance = built(name, start=6.0)
    raw = covariance.identity_outputs(DIM).expand(4, -1)
    terms = taylor()
    found = covariance(raw, DIM, terms)
    alone = covariance.shape(raw[:, :-1], DIM, terms)
    torch.testing.assert_close(found.matrix, alone.matrix)
    torch.testing.assert_close(found.degrees_of_freedom, torch.full((4,), 6.0))
    torch.testing.assert_close(
        covariance_from_scale(found.scale.matrix, found.degrees_of_freedom), found.matrix
    )


@every_scale
def test_views_agree(name) -> None:
    covariance = built(name)
    raw = torch.randn(4, covariance.num_outputs(DIM), dtype=torch.float64)
    found = covariance(raw, DIM, taylor())
    for view in (found, found.detach()):
        matrix = view.matrix
        torch.testing.assert_close(view.factor @ view.factor.mT, matrix)
        torch.testing.assert_close(view.scale_tril @ view.scale_tril.mT, matrix)
        torch.testing.assert_close(view.variances, matrix.diagonal(dim1=-2, dim2=-1))
        torch.testing.assert_close(view.degrees_of_freedom, found.degrees_of_freedom)
    assert not found.detach().matrix.requires_grad


def test_degrees_of_freedom_stay_above_the_lowest() -> None:
    covariance = built('CholeskyCovariance', lowest=2.5)
    nu = covariance.degrees_of_freedom(torch.tensor([-1e4, -20.0, 0.0, 50.0]))
    assert (nu >= 2.5).all()
    assert (nu.diff() >= 0).all()
    assert nu[-1] == pytest.approx(52.5, abs=3)


def test_keeps_what_the_scale_is() -> None:
    anchored = built('AnchoredCovariance')
    assert anchored.anchored
    assert anchored.starts_at_zero
    assert anchored.residual_anchor is anchored.shape
    assert built('DiagonalCovariance').diagonal
    assert built('DiagonalCovariance').residual_anchor is None
    assert built('TaylorInducedCovariance').taylor_order == 'full'


def test_anchor_of_the_scale_is_that_of_the_residuals_at_the_start() -> None:
    covariance = built('AnchoredCovariance', start=4.0)
    residuals = torch.tensor([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]])
    covariance.residual_anchor.set_anchor(residuals)
    found = covariance(torch.zeros(2, covariance.num_outputs(DIM)), DIM)
    torch.testing.assert_close(found.matrix, residuals.expand(2, 3, 3))
    torch.testing.assert_close(found.scale.anchor, residuals / 2)


def test_takes_the_floor_of_a_suite() -> None:
    wrapped = StudentCovariance(dict(type='CholeskyCovariance'), floor=0.25)
    assert wrapped.shape.floor == wrapped.floor == 0.25
    kept = StudentCovariance(dict(type='CholeskyCovariance', floor=1e-4), floor=0.25)
    assert kept.shape.floor == 1e-4


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        (dict(lowest=2.0), '2.001 <= lowest < start'),
        (dict(lowest=2 + 1e-8), '2.001 <= lowest < start'),
        (dict(start=2.05), '2.001 <= lowest < start'),
    ],
)
def test_no_covariance_without_a_second_moment(settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        built('CholeskyCovariance', **settings)


def test_a_constant_cannot_be_its_scale() -> None:
    with pytest.raises(ValueError, match='ConstantCovariance cannot be the scale'):
        StudentCovariance(dict(type='ConstantCovariance'))
