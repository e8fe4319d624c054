import numpy as np
import pytest
import torch

from hetpose.apis.calibration.arrays import distribution_of


def spd(*shape: int) -> torch.Tensor:
    factor = torch.randn(*shape, shape[-1])
    return factor @ factor.mT + torch.eye(shape[-1])


def test_shapes_of_joints_and_of_dimensions_give_the_same():
    mean, target, cov = torch.randn(5, 3, 2), torch.randn(5, 3, 2), spd(5, 6)
    joints = distribution_of(mean, cov, target)
    flat = distribution_of(
        mean.flatten(1).numpy(), cov.tolist(), target.flatten(1).numpy(), block=2
    )
    assert torch.allclose(joints.residual, flat.residual)
    assert torch.allclose(joints.covariance, flat.covariance, atol=1e-5)
    assert joints.block == flat.block == 2
    assert joints.residual.dtype == torch.float64


def test_blocks_and_variances_become_matrices():
    mean = torch.zeros(4, 3, 2)
    blocks = spd(4, 3, 2)
    full = distribution_of(mean, blocks, mean).covariance
    assert torch.allclose(full[:, 2:4, 2:4], blocks[:, 1].double())
    assert (full[:, :2, 2:] == 0).all()
    variances = distribution_of(mean, torch.full((4, 3, 2), 2.0), mean).covariance
    assert torch.equal(variances[0], 2 * torch.eye(6, dtype=torch.float64))
    assert distribution_of([1.0, 2.0], [1.0, 4.0], [0.0, 0.0]).covariance.shape == (2, 1, 1)


def test_a_mask_per_joint_covers_its_dimensions_and_what_it_hides_may_be_nan():
    mean, cov = torch.zeros(2, 2, 2), spd(2, 4)
    target = torch.ones(2, 2, 2)
    target[0, 1] = torch.nan
    cov[0, 2:] = torch.nan
    data = distribution_of(mean, cov, target, np.array([[1, 0], [2, 1]]))
    assert data.mask.tolist() == [[True, True, False, False], [True] * 4]
    assert data.residual[0].tolist() == [1, 1, 0, 0]
    assert data.covariance.isfinite().all()
    assert len(data.select(torch.tensor([1])).mask) == 1


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'cov': torch.ones(3, 5, 5)}, 'cov has shape'),
        ({'target': torch.zeros(2, 4)}, 'target has shape'),
        ({'mask': torch.ones(3, 3)}, 'mask has shape'),
        ({'target': torch.full((3, 4), torch.nan)}, '3 of 3 samples are not finite'),
        ({'cov': torch.eye(4).tril() + torch.ones(4, 4).tril()}, 'not symmetric'),
        ({'block': 3}, 'block 3'),
        ({'mean': torch.zeros(0, 4)}, 'mean has shape'),
        ({'mean': 'abc'}, 'mean is not a numeric array'),
    ],
)
def test_bad_arrays_are_named(change, message):
    arguments = {'mean': torch.zeros(3, 4), 'cov': torch.eye(4), 'target': torch.zeros(3, 4)}
    arguments |= change
    if isinstance(arguments['cov'], torch.Tensor) and arguments['cov'].ndim == 2:
        arguments['cov'] = arguments['cov'].expand(3, 4, 4)
    with pytest.raises(ValueError, match=message):
        distribution_of(**arguments)


def test_a_mask_per_joint_fits_flat_joints_of_a_given_size():
    mean = torch.zeros(2, 4)
    data = distribution_of(mean, spd(2, 4), mean, np.array([[1, 0], [1, 1]]), block=2)
    assert data.mask.tolist() == [[True, True, False, False], [True] * 4]
