"""The declared moments of synthetic sources are those of their samples."""

import pytest
import torch

from hetpose.datasets.regression import BivariateSource, CopulaSource, SinusoidSource
from hetpose.errors import UserError

SOURCES = [
    SinusoidSource('growing', count=20_000),
    SinusoidSource('shrinking', count=20_000),
    CopulaSource('d4', count=20_000),
    BivariateSource('far', count=20_000),
]


@pytest.mark.parametrize('source', SOURCES, ids=lambda source: type(source).__name__)
def test_whitened_errors_are_standard_normal(source) -> None:
    source.pseudo_labels = False
    train = source.arrays()['train']
    lower = torch.linalg.cholesky(train.true_covariance)
    errors = (train.y - train.true_mean)[..., None]
    white = torch.linalg.solve_triangular(lower, errors, upper=False)[..., 0]
    dim = white.shape[-1]
    assert white.mean(0).abs().max() < 0.05
    torch.testing.assert_close(white.mT @ white / len(white), torch.eye(dim), atol=0.05, rtol=0)


def test_the_copula_is_uniform_correlated_and_heteroscedastic() -> None:
    source = CopulaSource('d8', count=20_000, pseudo_labels=False, protocol='paper')
    train = source.arrays()['train']
    x = train.x - train.x.mean(0)
    kurtosis = x.pow(4).mean(0) / x.pow(2).mean(0).square()
    torch.testing.assert_close(kurtosis, torch.full((8,), 1.8), atol=0.1, rtol=0)  # uniform
    correlation = torch.corrcoef(x.T)
    assert (correlation - torch.eye(8)).abs().max() > 0.5
    assert train.true_covariance.diagonal(dim1=-2, dim2=-1).std(0).min() > 0.1


def test_sinusoid_moments() -> None:
    train = SinusoidSource('shrinking', count=500, pseudo_labels=False).arrays()['train']
    x = train.x.double()
    expected = (5 - x.abs()) * torch.sin(2 * torch.pi * x)
    torch.testing.assert_close(train.true_mean.double(), expected, atol=1e-4, rtol=0)
    torch.testing.assert_close(train.true_covariance[:, 0], train.x.square(), atol=1e-5, rtol=1e-4)


def test_the_bivariate_target_is_strongly_correlated_and_its_own_label() -> None:
    for trial in range(5):
        train = BivariateSource('centred', trial=trial).arrays()['train']
        covariance = train.true_covariance[0]
        correlation = covariance[0, 1] / (covariance[0, 0] * covariance[1, 1]).sqrt()
        assert correlation.abs() > 0.5
        root = train.target_root[0]
        torch.testing.assert_close(root @ root, covariance)
        assert torch.equal(train.true_mean, torch.zeros_like(train.true_mean))


def test_samples_of_the_multivariate_suite() -> None:
    assert [CopulaSource(f'd{dim}').count for dim in (4, 8, 32)] == [4_000, 8_000, 20_000]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UserError, match='known: constant, growing, shrinking'):
        SinusoidSource('square')
    with pytest.raises(UserError, match='dimension'):
        CopulaSource('wide')
    with pytest.raises(UserError, match='centred, far'):
        BivariateSource('near')
