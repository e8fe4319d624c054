import pytest
import torch

from hetpose.models.covariance import TaylorInducedCovariance
from hetpose.ops.taylor.terms import TaylorTerms

DIM, FLOOR = 2, 0.01


def test_it_is_the_sum_of_its_terms() -> None:
    jacobian, hessian = torch.randn(5, DIM, 3).double(), torch.randn(5, DIM, 6).double()
    raw = torch.randn(5, DIM * DIM + 2).double()
    covariance = TaylorInducedCovariance('full', FLOOR)(raw, DIM, TaylorTerms(jacobian, hessian))
    root = raw[:, :4].reshape(5, DIM, DIM)
    first, second = torch.nn.functional.softplus(raw[:, 4:]).T[..., None, None]
    expected = first * jacobian @ jacobian.mT + second * hessian @ hessian.mT
    expected = expected + root @ root.mT + FLOOR * torch.eye(DIM)
    torch.testing.assert_close(covariance.matrix, expected)


def test_gradient_order_has_one_scale() -> None:
    assert TaylorInducedCovariance('gradient').num_outputs(DIM) == DIM * DIM + 1


def test_what_is_missing_is_named() -> None:
    raw = torch.zeros(1, DIM * DIM + 2)
    with pytest.raises(ValueError, match='needs the Taylor terms'):
        TaylorInducedCovariance()(raw, DIM)
    with pytest.raises(ValueError, match='Hessians'):
        TaylorInducedCovariance()(raw, DIM, TaylorTerms(torch.zeros(1, DIM, 3)))
    with pytest.raises(ValueError, match='order'):
        TaylorInducedCovariance(order='second')
