import math

import pytest
import torch
from torch.nn.functional import softplus

from hetpose.models.covariance import NaturalCovariance
from hetpose.models.objectives import NLLObjective


def test_the_likelihood_is_that_of_the_natural_parameters() -> None:
    """−log p = −η1 y − η2 y² − η1²/(4 η2) − ½ log(−2 η2) + ½ log 2π."""
    natural = NaturalCovariance(floor=1e-12)
    eta1, raw, y = torch.randn(3, 7, 1).double()
    covariance = natural(raw, 1)
    loss = NLLObjective()(natural.location(eta1, covariance), y, covariance)
    eta2 = -softplus(raw) / 2
    expected = -eta1 * y - eta2 * y**2 - eta1**2 / (4 * eta2) - (-2 * eta2).log() / 2
    expected = expected[:, 0] + math.log(2 * math.pi) / 2
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)


def test_it_is_univariate() -> None:
    with pytest.raises(ValueError, match='dimension 1 only, got 2'):
        NaturalCovariance().check_dim(2)
