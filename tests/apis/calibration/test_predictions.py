"""Predictions from a file, and their split into two parts."""

import numpy as np
import pytest
import torch

from hetpose.apis.calibration.predictions import Predictions, read_arrays, split_samples
from hetpose.errors import UserError
from hetpose.ops.distribution import Distribution

NAMES = ('a', 'b', 'c')


def test_parts_of_the_fit_do_not_overlap():
    residual = torch.randn(100, 6, dtype=torch.float64)
    data = Distribution.of_residuals(residual, torch.eye(6).expand(100, 6, 6), block=2)
    whole = Predictions(data, NAMES)
    fit, rest = split_samples(whole, 0.3, seed=1)
    assert (len(fit), len(rest)) == (30, 70)
    rows = torch.cat([fit.data.residual, rest.data.residual])
    assert torch.equal(rows.sort(0).values, whole.data.residual.sort(0).values)


def test_arrays_from_a_file(tmp_path):
    path = tmp_path / 'a.npz'
    mean, cov = np.zeros((4, 3, 2)), np.tile(np.eye(6), (4, 1, 1))
    np.savez(path, mean=mean, cov=cov, target=mean + 1, names=list(NAMES))
    found = read_arrays(path, units='mm')
    assert found.names == NAMES
    assert found.data.block == 2
    assert found.data.degrees_of_freedom is None
    np.savez(path, mean=mean, cov=cov, target=mean, degrees_of_freedom=[3.0, 4, 5, np.inf])
    tails = read_arrays(path).data.degrees_of_freedom
    assert tails.tolist() == [3, 4, 5, np.inf]
    np.savez(path, mean=mean, cov=cov)
    with pytest.raises(UserError, match=r'lacks target; it holds cov, mean'):
        read_arrays(path)
    np.savez(path, mean=mean, cov=cov[:2], target=mean)
    with pytest.raises(UserError, match='cov has shape'):
        read_arrays(path)
    whole = path.read_bytes()
    for content in (b'nonsense', b'', whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(UserError, match='cannot read'):
            read_arrays(path)
    np.save(tmp_path / 'a.npy', mean)
    with pytest.raises(UserError, match='cannot read'):
        read_arrays(tmp_path / 'a.npy')
