"""Derivatives of any function of one vector a sample, against a quadratic whose own are known."""

import pytest
import torch

from hetpose.ops.taylor.func import differentiate


def quadratic(d: int, m: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows (d, m) and symmetric curvatures (d, m, m) of f_i(x) = b_iᵀx + ½ xᵀ C_i x."""
    rows = torch.randn(d, m, dtype=torch.float64)
    curvature = torch.randn(d, m, m, dtype=torch.float64)
    return rows, curvature + curvature.mT


@pytest.mark.parametrize(('d', 'm'), [(1, 1), (2, 5), (5, 2)])
@pytest.mark.parametrize('memory_limit', [1, 2**30], ids=['smallest chunks', 'one chunk'])
def test_jacobian_and_hessian_of_a_quadratic(d: int, m: int, memory_limit: int) -> None:
    torch.manual_seed(0)
    rows, curvature = quadratic(d, m)
    x = torch.randn(3, m, dtype=torch.float64)

    def function(x: torch.Tensor) -> torch.Tensor:
        return x @ rows.mT + torch.einsum('ni,dij,nj->nd', x, curvature, x) / 2

    jacobian, hessian = differentiate(function, (x,), True, memory_limit)
    torch.testing.assert_close(jacobian, rows + torch.einsum('dij,nj->ndi', curvature, x))
    i, j = torch.triu_indices(m, m)
    torch.testing.assert_close(hessian, curvature[:, i, j].expand(3, -1, -1))


def test_a_function_that_mixes_samples_has_no_jacobian_per_sample() -> None:
    x = torch.randn(4, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match='another value in a batch than alone'):
        differentiate(lambda x: x - x.mean(0), (x,), False, 2**30)
