"""One container of predictions: its residual, its rows, its parts and its units."""

from dataclasses import replace

import pytest
import torch

from hetpose.ops.distribution import Distribution
from hetpose.ops.student import predictive_nll


def drawn(count: int = 6, joints: int = 3) -> Distribution:
    """Student-t predictions of joints, a third of whose targets are missing and hold NaN."""
    generator = torch.Generator().manual_seed(0)
    options = dict(generator=generator, dtype=torch.float64)
    dim = 2 * joints
    root = torch.randn(count, dim, dim, **options)
    mask = (torch.rand(count, joints, **options) > 0.3).repeat_interleave(2, dim=-1)
    target = torch.randn(count, dim, **options).where(mask, torch.nan)
    return Distribution(
        torch.randn(count, dim, **options),
        root @ root.mT + torch.eye(dim),
        3 + torch.rand(count, **options),
        target,
        mask,
        root,
        2,
    )


def test_the_residual_is_zero_where_the_target_is_missing() -> None:
    data = drawn()
    assert not data.mask.all()
    expected = (data.target - data.mean)[data.mask]
    assert torch.equal(data.residual[data.mask], expected)
    assert (data.residual[~data.mask] == 0).all()
    with pytest.raises(ValueError, match='no target'):
        _ = replace(data, target=None).residual


def test_residuals_alone_make_the_same_errors() -> None:
    data = drawn()
    seen = Distribution.of_residuals(data.residual, data.covariance, data.mask)
    assert torch.equal(seen.residual, data.residual)
    assert Distribution.of_residuals(data.residual, data.covariance).present.all()


def test_rows_that_are_chosen_and_joined_are_the_rows() -> None:
    data = drawn()
    again = Distribution.joined([data.select(slice(0, 2)), data.select(torch.arange(2, 6))])
    assert len(again) == len(data)
    for name in ('mean', 'covariance', 'degrees_of_freedom', 'residual', 'mask', 'true_factor'):
        assert torch.equal(getattr(again, name), getattr(data, name))
    assert again.block == 2


def test_parts_are_marginals() -> None:
    data = drawn()
    parts = data.parts()
    assert len(parts) == 3
    for k, part in enumerate(parts):
        own = slice(2 * k, 2 * k + 2)
        assert torch.equal(part.covariance, data.covariance[:, own, own])
        assert torch.equal(part.residual, data.residual[:, own])
        assert torch.equal(part.degrees_of_freedom, data.degrees_of_freedom)


def test_other_units_shift_the_likelihood_by_the_volume() -> None:
    data = drawn()
    scale = torch.tensor([[2.0, 5.0]], dtype=torch.float64).expand(len(data), 2)

    def nll(predicted: Distribution) -> torch.Tensor:
        return predictive_nll(
            predicted.residual,
            predicted.covariance,
            predicted.degrees_of_freedom,
            predicted.present,
        )

    joints = data.mask.sum(-1) / 2
    expected = nll(data) + joints * torch.tensor(10.0).log()
    torch.testing.assert_close(nll(data.rescaled(scale)), expected)
