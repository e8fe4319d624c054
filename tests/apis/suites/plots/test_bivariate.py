"""Outlines and frames of the ellipse pictures."""

import numpy as np

from hetpose.apis.suites.plots.bivariate import ellipse, pick


def test_an_outline_has_the_stated_mahalanobis_radius():
    mean, covariance = np.array([1.0, -2.0]), np.array([[2.0, 0.8], [0.8, 0.5]])
    offset = ellipse(mean, covariance, radius=2.0) - mean[:, None]
    distance = np.einsum('ip,ij,jp->p', offset, np.linalg.inv(covariance), offset)
    np.testing.assert_allclose(distance, 4.0)


def test_frames_start_at_the_start_end_at_the_end_and_are_dense_early():
    indices = pick(500, 20)
    assert (indices[0], indices[-1], len(indices)) == (0, 499, 20)
    assert (np.diff(indices) > 0).all()
    assert np.diff(indices)[0] < np.diff(indices)[-1]
    assert pick(3, 20).tolist() == [0, 1, 2]
