import pytest
import torch
from helpers import random_covariance

from hetpose.models.covariance import AnchoredCovariance, ConstantCovariance

DIM, FLOOR = 3, 1e-3


@pytest.mark.parametrize('kind', [AnchoredCovariance, ConstantCovariance])
def test_zero_outputs_give_the_anchor(kind) -> None:
    anchor = random_covariance(dim=DIM)
    covariance = kind(floor=FLOOR)
    covariance.set_anchor(anchor)
    raw = torch.zeros(2, covariance.num_outputs(DIM)).double()
    torch.testing.assert_close(covariance(raw, DIM).matrix, anchor.expand(2, DIM, DIM))


@pytest.mark.parametrize('kind', [AnchoredCovariance, ConstantCovariance])
def test_an_indefinite_estimate_is_raised_to_the_floor(kind) -> None:
    covariance = kind(floor=FLOOR)
    covariance.set_anchor(torch.diag(torch.tensor([1.0, 0.0, -0.5])))
    raw = torch.zeros(1, covariance.num_outputs(DIM))
    smallest = torch.linalg.eigvalsh(covariance(raw, DIM).matrix).min()
    assert smallest >= FLOOR * (1 - 1e-3)


def test_the_anchor_travels_in_the_state() -> None:
    one, other = ConstantCovariance(floor=FLOOR), ConstantCovariance(floor=FLOOR)
    one.set_anchor(random_covariance(dim=DIM).float())
    other.load_state_dict(one.state_dict())
    assert torch.equal(one.anchor, other.anchor)


def test_the_anchor_is_a_constant_for_the_gradient() -> None:
    covariance = AnchoredCovariance()
    assert not list(covariance.parameters())


def test_an_anchor_of_another_dimension_is_refused() -> None:
    covariance = ConstantCovariance()
    covariance.prepare(DIM)
    with pytest.raises(ValueError, match='anchor has dimension 3, the target 2'):
        covariance(torch.zeros(1, 0), 2)


def test_a_loaded_anchor_lies_in_memory_as_the_one_that_was_saved() -> None:
    one, other = AnchoredCovariance(floor=FLOOR), AnchoredCovariance(floor=FLOOR)
    one.set_anchor(random_covariance(dim=24).float())
    other.prepare(24)  # as a model does when it is built
    other.load_state_dict(one.state_dict())
    assert one.anchor.stride() == other.anchor.stride()
    raw = torch.randn(50, one.num_outputs(24))
    assert torch.equal(one(raw, 24).matrix, other(raw, 24).matrix)
