"""Laws that every parameterisation obeys."""

import pytest
import torch
from mmpose.registry import MODELS

from hetpose.models.covariance.base import inverse_softplus
from hetpose.ops.taylor.terms import TaylorTerms

DIM, INPUTS, FLOOR = 3, 2, 0.01
NAMES = [
    'FactorCovariance',
    'CholeskyCovariance',
    'PrecisionCovariance',
    'RootCovariance',
    'DiagonalCovariance',
    'TaylorInducedCovariance',
    'AnchoredCovariance',
    'LowRankAnchoredCovariance',
    'ConstantCovariance',
    'NaturalCovariance',
]
each = pytest.mark.parametrize('name', NAMES)


def build(name: str):
    parameterisation = MODELS.build(dict(type=name, floor=FLOOR))
    return parameterisation, parameterisation.only_dim or DIM


def terms(batch: int, dim: int) -> TaylorTerms:
    return TaylorTerms(
        torch.randn(batch, dim, INPUTS).double(), torch.randn(batch, dim, 3).double()
    )


@each
@pytest.mark.parametrize('scale', [1e-3, 1.0, 10.0])
def test_it_is_positive_definite_and_its_views_agree(name: str, scale: float) -> None:
    parameterisation, dim = build(name)
    raw = scale * torch.randn(6, parameterisation.num_outputs(dim)).double()
    covariance = parameterisation(raw, dim, terms(6, dim))
    matrix = covariance.matrix
    torch.testing.assert_close(matrix, matrix.mT)
    torch.testing.assert_close(covariance.factor @ covariance.factor.mT, matrix)
    torch.testing.assert_close(covariance.scale_tril @ covariance.scale_tril.mT, matrix)
    assert torch.linalg.eigvalsh(matrix).min() >= FLOOR * (1 - 1e-6)


@each
def test_identity_outputs_give_the_identity(name: str) -> None:
    parameterisation, dim = build(name)
    raw = parameterisation.identity_outputs(dim).double().expand(2, -1)
    flat = TaylorTerms(torch.zeros(2, dim, INPUTS).double(), torch.zeros(2, dim, 3).double())
    matrix = parameterisation(raw, dim, flat).matrix
    torch.testing.assert_close(
        matrix, torch.eye(dim).double().expand(2, -1, -1), atol=0.25, rtol=0
    )


@each
def test_a_wrong_number_of_outputs_is_refused(name: str) -> None:
    parameterisation, dim = build(name)
    with pytest.raises(ValueError, match=f'needs {parameterisation.num_outputs(dim)} raw'):
        parameterisation(torch.zeros(2, 99), dim, terms(2, dim))


@each
def test_half_precision_is_left(name: str) -> None:
    parameterisation, dim = build(name)
    raw = torch.randn(2, parameterisation.num_outputs(dim), dtype=torch.bfloat16)
    with torch.autocast('cpu', dtype=torch.bfloat16):
        assert parameterisation(raw, dim, terms(2, dim)).matrix.dtype == torch.float32


@each
def test_the_floor_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match='floor must be positive'):
        MODELS.build(dict(type=name, floor=0.0))


def test_inverse_softplus() -> None:
    values = torch.tensor([1e-3, 0.5, 1.0, 30.0])
    inverse = torch.tensor([inverse_softplus(float(value)) for value in values])
    torch.testing.assert_close(torch.nn.functional.softplus(inverse), values)
