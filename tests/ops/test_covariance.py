import pytest
import torch
from helpers import random_covariance

from hetpose.ops.covariance import Covariance
from hetpose.ops.spd import symmetric_sqrt

SIGMA = 3


def views(dim: int = SIGMA) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    matrix = random_covariance(4, dim=dim)
    wide = torch.cat([torch.linalg.cholesky(matrix), torch.zeros(4, dim, 2)], -1).double()
    return {'matrix': matrix, 'factor': wide, 'scale_tril': torch.linalg.cholesky(matrix)}


@pytest.mark.parametrize('given', ['matrix', 'factor', 'scale_tril'])
def test_every_view_belongs_to_one_matrix(given: str) -> None:
    covariance = Covariance(**{given: views()[given]})
    expected = views()['matrix']
    for view in (covariance.factor, covariance.scale_tril):
        torch.testing.assert_close(view @ view.mT, expected)
    torch.testing.assert_close(covariance.matrix, expected)
    torch.testing.assert_close(covariance.variances, expected.diagonal(dim1=-2, dim2=-1))
    torch.testing.assert_close(covariance.root, symmetric_sqrt(expected))
    torch.testing.assert_close(covariance.detach().matrix, expected)


def test_a_route_that_is_not_read_is_not_taken() -> None:
    def never() -> torch.Tensor:
        raise AssertionError('the factor was not asked for')

    covariance = Covariance(matrix=views()['matrix'], factor=never)
    assert covariance.scale_tril.shape == (4, SIGMA, SIGMA)


def test_a_view_is_computed_once() -> None:
    calls = []

    def matrix() -> torch.Tensor:
        calls.append(1)
        return views()['matrix']

    covariance = Covariance(matrix=matrix)
    assert covariance.matrix is covariance.matrix
    assert len(calls) == 1


def test_a_root_alone_does_not_determine_it() -> None:
    with pytest.raises(ValueError, match='matrix, factor and scale_tril'):
        Covariance(root=views()['matrix'])
