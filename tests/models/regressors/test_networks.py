import torch
from mmpose.registry import MODELS

DIM = 2


def free(covariance: str):
    return MODELS.build(
        dict(
            type='HeteroscedasticRegressor',
            in_dim=1,
            out_dim=DIM,
            objective=dict(type='NLLObjective'),
            covariance=dict(type=covariance, floor=1e-6),
            network=dict(type='FreeVector'),
        )
    )


def test_a_free_vector_starts_at_the_standard_normal() -> None:
    for name in ('FactorCovariance', 'CholeskyCovariance', 'DiagonalCovariance'):
        mean, covariance = free(name).distribution(torch.ones(4, 1))
        assert torch.equal(mean, torch.zeros(4, DIM))
        identity = torch.eye(DIM).expand(4, DIM, DIM)
        torch.testing.assert_close(covariance.matrix, identity, atol=3e-3, rtol=0)
