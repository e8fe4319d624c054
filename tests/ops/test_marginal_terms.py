"""One factorisation gives what the separate functions give, with the same gradient."""

import torch
from helpers import random_covariance

from hetpose.ops.gaussian import kl_divergence, mahalanobis_squared
from hetpose.ops.marginal_terms import marginal_terms

DIM, COUNT = 5, 4


def case() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(COUNT, DIM, DIM + 2, generator=generator, dtype=torch.float64)
    residual = torch.randn(COUNT, DIM, generator=generator, dtype=torch.float64)
    mask = torch.rand(COUNT, DIM, generator=generator) < 0.6
    mask[0], mask[1] = True, False
    return factor, residual, random_covariance(dim=DIM), mask


def test_the_terms_are_those_of_the_dimensions_present() -> None:
    factor, residual, anchor, mask = case()
    terms = marginal_terms(factor, residual, anchor, mask)
    for i in range(COUNT):
        keep = mask[i].nonzero()[:, 0]
        small = (factor[i] @ factor[i].mT)[keep][:, keep]
        assert terms.dims[i] == len(keep)
        torch.testing.assert_close(terms.log_determinant[i], small.logdet())
        part = residual[i, keep]
        torch.testing.assert_close(terms.distance[i], part @ torch.linalg.solve(small, part))
        kept = anchor[keep][:, keep]
        torch.testing.assert_close(terms.trace[i], torch.linalg.solve(small, kept).trace())


def test_the_divergence_is_that_of_two_gaussians() -> None:
    factor, residual, anchor, mask = case()
    terms = marginal_terms(factor, residual, anchor, mask)
    zero = torch.zeros_like(residual)
    expected = kl_divergence(zero, anchor.expand(COUNT, -1, -1), zero, factor @ factor.mT, mask)
    torch.testing.assert_close(terms.divergence, expected)


def test_the_gradient_is_the_difference_quotient() -> None:
    factor, residual, anchor, mask = case()
    factor.requires_grad_()
    residual.requires_grad_()

    def terms(f: torch.Tensor, r: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return marginal_terms(f, r, anchor, mask)[1:4]

    assert torch.autograd.gradcheck(terms, (factor, residual))


def test_a_factor_in_single_precision_is_read_as_it_is() -> None:
    """Σ of nearly dependent rows would be indefinite as a product in float32."""
    factor = torch.tensor([[[1.0, 0.0], [1.0, 1e-4]]])
    residual = torch.tensor([[0.0, 1e-4]])
    mask = torch.ones(1, 2, dtype=torch.bool)
    terms = marginal_terms(factor, residual, torch.eye(2), mask)
    precise = mahalanobis_squared(residual.double(), scale_tril=factor.double())
    torch.testing.assert_close(terms.distance, precise)
