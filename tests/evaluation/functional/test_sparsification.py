import torch

from hetpose.evaluation.functional.sparsification import sparsification, sparsify


def scene(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Known anisotropic covariances (N, 4, 4) of varied size, and residuals (R, N, 4) drawn from
    them.
    """
    generator = torch.Generator().manual_seed(seed)
    factor = torch.randn(count, 4, 4, generator=generator, dtype=torch.float64)
    factor = (
        factor * (0.7 * torch.randn(count, 1, 1, generator=generator, dtype=torch.float64)).exp()
    )
    noise = torch.randn(300, count, 4, generator=generator, dtype=torch.float64)
    return factor @ factor.mT, torch.einsum('nij,rnj->rni', factor, noise)


def rivals(covariance: torch.Tensor) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(9)
    count = len(covariance)
    jitter = torch.randn(count, 1, 1, generator=generator, dtype=torch.float64).exp()
    return {
        'noisy': covariance * jitter,
        'shuffled': covariance[torch.randperm(count, generator=generator)],
        'constant': torch.eye(4, dtype=torch.float64).expand(count, 4, 4),
        'first dimension only': torch.diag_embed(
            covariance.diagonal(dim1=-2, dim2=-1) * torch.tensor([1.0, 0, 0, 0])
        ),
        'inverted': torch.linalg.pinv(covariance),
    }


def test_true_covariance_has_the_smallest_expected_area():
    """The law holds in expectation over the residuals: paired differences, 300 draws each."""
    covariance, residuals = scene(200, seed=0)
    true = torch.tensor([sparsification(r, covariance).absolute for r in residuals])
    for name, rival in rivals(covariance).items():
        other = torch.tensor([sparsification(r, rival).absolute for r in residuals])
        difference = other - true
        assert difference.mean() > 4 * difference.std() / len(residuals) ** 0.5, name


def test_expected_errors_themselves_make_the_true_ranking_the_oracle():
    covariance, _ = scene(200, seed=1)
    expected_error = covariance.diagonal(dim1=-2, dim2=-1).sum(-1)
    assert sparsify(expected_error, expected_error).ause == 0
    for rival in rivals(covariance).values():
        score = rival.diagonal(dim1=-2, dim2=-1).sum(-1)
        assert sparsify(expected_error, score).ause > 0


def test_scaling_does_not_change_the_curve():
    covariance, residuals = scene(100, seed=2)
    one = sparsification(residuals[0], covariance)
    four = sparsification(residuals[0], 4 * covariance)
    assert torch.equal(one.curve, four.curve)
    assert one.ause == four.ause


def test_ties_count_as_random_removal_whatever_the_order_of_the_data():
    error = torch.arange(1.0, 11.0, dtype=torch.float64)
    result = sparsify(error, torch.ones(10, dtype=torch.float64))
    assert torch.allclose(result.curve, torch.ones(10, dtype=torch.float64))
    assert abs(result.ause - result.random) < 1e-12


def test_curve_by_hand():
    error = torch.tensor([1.0, 9.0, 4.0], dtype=torch.float64)
    result = sparsify(error, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    whole = 14 / 3
    assert torch.allclose(result.curve * whole, torch.tensor([whole, 5, 1], dtype=torch.float64))
    assert torch.allclose(
        result.oracle * whole, torch.tensor([whole, 2.5, 1], dtype=torch.float64)
    )
    assert abs(result.absolute - 2.5 / 3) < 1e-12


def test_mask_leaves_out_missing_dimensions_and_empty_samples():
    covariance, residuals = scene(30, seed=3)
    mask = torch.ones(30, 4, dtype=torch.bool)
    mask[:, 3] = False
    mask[:5] = False
    found = sparsification(residuals[0], covariance, mask)
    alone = sparsification(residuals[0, 5:, :3], covariance[5:, :3, :3])
    assert torch.allclose(found.curve, alone.curve)


def test_a_tail_that_nobody_has_seen_does_not_rank():
    """Easy samples err by 1, but for a few gross errors of 10; hard samples always err by 3.

    A Student-t with few degrees of freedom describes the easy ones. Its Σ is larger than that of
    the hard ones, which err more.
    """
    generator = torch.Generator().manual_seed(0)
    count = 4000
    noise = torch.randn(count, 2, generator=generator, dtype=torch.float64)
    easy = torch.arange(count) % 2 == 0
    gross = easy & (torch.rand(count, generator=generator) < 0.03)
    size = torch.where(easy, 1.0, 3.0).double()
    residual = noise * size[:, None]
    residual[gross] = 10 * noise[gross] / noise[gross].norm(dim=-1, keepdim=True)
    nu = torch.where(easy, 2.1, 50.0).double()
    variance = size.square() * nu / (nu - 2)
    covariance = torch.diag_embed(variance[:, None].expand(-1, 2))
    squares = residual.square().sum(-1)
    assert squares[easy].mean() < squares[~easy].mean()
    assert variance[0] > variance[1]
    by_trace = sparsification(residual, covariance)
    by_ellipses = sparsification(residual, covariance, degrees_of_freedom=nu)
    assert by_trace.ause > by_trace.random  # worse than chance
    assert by_ellipses.ause < 0.8 * by_ellipses.random


def test_equal_tails_rank_as_a_gaussian():
    covariance, residuals = scene(100, seed=4)
    mask = torch.rand(100, 4, generator=torch.Generator().manual_seed(0)) < 0.7
    plain = sparsification(residuals[0], covariance, mask)
    endless = torch.full((100,), torch.inf, dtype=torch.float64)
    assert torch.equal(sparsification(residuals[0], covariance, mask, endless).curve, plain.curve)
    whole = sparsification(residuals[0], covariance)
    three = torch.full((100,), 3.0, dtype=torch.float64)
    assert torch.equal(sparsification(residuals[0], covariance, None, three).curve, whole.curve)
