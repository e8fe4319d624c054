"""Every network of a stack has a part, and only means that are the same share one."""

import torch

from hetpose.models.regressors import HeteroscedasticRegressor
from hetpose.models.regressors.stack_roles import assign_roles

FACTOR = dict(type='FactorCovariance')
MEAN_ALONE = dict(type='MSEObjective'), None
CONSTANT = dict(type='MSEObjective'), dict(type='ConstantCovariance')
BOUND = dict(type='W2BoundObjective'), FACTOR
FAITHFUL = dict(type='FaithfulObjective'), FACTOR
LIKELIHOOD = dict(type='NLLObjective'), FACTOR


def regressor(objective, covariance, seed: int = 0) -> HeteroscedasticRegressor:
    network = dict(type='ResidualMLP', blocks=1)
    return HeteroscedasticRegressor(2, 3, objective, covariance, network, seed)


def optimizer_of(model, lr: float = 1e-3):
    networks = model.mean_network, model.covariance_network
    return torch.optim.AdamW([{'params': list(n.parameters())} for n in networks], lr=lr)


def batch(seed: int = 0) -> dict:
    x, y = torch.randn(2, 8, 3, generator=torch.Generator().manual_seed(seed))
    return {'x': x[:, :2], 'y': y}


def roles_of(models, batches=None, rates=None):
    rates = rates or [1e-3] * len(models)
    optimizers = [optimizer_of(model, lr) for model, lr in zip(models, rates, strict=True)]
    return assign_roles(models, optimizers, dict(enumerate(batches or [batch()] * len(models))))


def test_means_by_the_squared_error_share_one_whatever_the_covariance_is() -> None:
    kinds = [BOUND, LIKELIHOOD, MEAN_ALONE, FAITHFUL, CONSTANT]
    roles = roles_of([regressor(*kind) for kind in kinds])
    assert roles.leader_of == {2: 2, 4: 2, 0: 2, 3: 2, 1: 1}, 'a mean alone leads'
    assert roles.leaders == [2, 1]
    assert sorted(roles.covariances) == [0, 1, 3], 'a constant one has no network'
    assert sorted(i for group in roles.groups for i in group) == [0, 1, 2, 3, 4]
    assert not roles.frozen


def test_other_weights_data_or_learning_rates_are_not_the_same_mean() -> None:
    for roles in (
        roles_of([regressor(*BOUND), regressor(*BOUND, seed=1)]),
        roles_of([regressor(*BOUND), regressor(*BOUND)], [batch(0), batch(1)]),
        roles_of([regressor(*BOUND), regressor(*BOUND)], rates=[1e-3, 1e-4]),
    ):
        assert roles.leader_of == {0: 0, 1: 1}
        assert roles.groups == [[0, 1]], 'their losses are one all the same'


def test_a_frozen_mean_does_not_train() -> None:
    models = [regressor(*BOUND), regressor(*BOUND)]
    models[1].freeze_mean()
    roles = roles_of(models)
    assert roles.frozen == [1]
    assert roles.leaders == [0]
    assert roles.groups == [[0], [1]], 'another phase'


def test_a_member_without_a_batch_has_no_part() -> None:
    models = [regressor(*BOUND), regressor(*LIKELIHOOD)]
    roles = assign_roles(models, [optimizer_of(model) for model in models], {1: batch()})
    assert roles.leaders == roles.covariances == [1]
