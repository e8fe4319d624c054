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


def test_a_free_vector_starts_at_the_standard_normal_after_a_warm_up() -> None:
    config = dict(type='HeteroscedasticRegressor', in_dim=1, out_dim=DIM, covariance=None)
    config.update(network=dict(type='FreeVector'), objective=dict(type='MSEObjective'))
    model = MODELS.build(config)
    model.switch(dict(type='NLLObjective'), dict(type='FactorCovariance', floor=1e-6))
    sigma = model.distribution(torch.ones(1, 1))[1].matrix
    torch.testing.assert_close(sigma[0], torch.eye(DIM), atol=3e-3, rtol=0)
    model(torch.ones(4, 1), torch.randn(4, DIM), mode='loss')['loss'].backward()
    assert model.covariance_network.values.grad.abs().max() > 0
    with torch.no_grad():
        model.covariance_network.values += 0.5
    trained = model.covariance_network.values.clone()
    model.switch(dict(type='KLObjective'))
    assert torch.equal(model.covariance_network.values, trained)
