"""The parts that networks play in a step of a stack of regressors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from hetpose.models.objectives import trains_mean_alone
from hetpose.models.regressors.heteroscedastic import HeteroscedasticRegressor

MEAN, COVARIANCE = 0, 1  # the parameter groups of TwoNetworkConstructor

Batch = dict[str, Tensor]


@dataclass
class Roles:
    """The networks that take part in a step, by the numbers of their members.

    Attributes:
        leaders: members whose mean network trains.
        leader_of: for every member whose mean trains, the member that trains it: itself, or one
            with the same weights, data and squared error, whose mean is the same to the last bit.
        frozen: members whose mean network is held fixed.
        covariances: members whose covariance network trains.
        groups: members of one phase each, whose losses are one.
    """

    leaders: list[int] = field(default_factory=list)
    leader_of: dict[int, int] = field(default_factory=dict)
    frozen: list[int] = field(default_factory=list)
    covariances: list[int] = field(default_factory=list)
    groups: list[list[int]] = field(default_factory=list)


def assign_roles(
    models: Sequence[HeteroscedasticRegressor],
    optimizers: Sequence[Optimizer],
    batches: dict[int, Batch],
) -> Roles:
    """The roles of the members that have a batch, from their phases, weights and batches."""
    roles = Roles()
    by_phase: dict[str, list[int]] = {}
    # Whoever trains a mean alone leads: no covariance can end it.
    for member in sorted(batches, key=lambda i: models[i].objective.trains_covariance):
        model = models[member]
        by_phase.setdefault(repr(model.phase), []).append(member)
        if model.covariance is not None and model.covariance.num_outputs(model.out_dim):
            roles.covariances.append(member)
        if model.mean_frozen:
            roles.frozen.append(member)
            continue
        same = (
            leader
            for leader in roles.leaders
            if _learn_alike(optimizers[member], optimizers[leader])
            and all(torch.equal(batches[member][name], batches[leader][name]) for name in 'xy')
            and _same_mean(model, models[leader])
        )
        roles.leader_of[member] = next(same, member)
        if roles.leader_of[member] == member:
            roles.leaders.append(member)
    roles.groups = list(by_phase.values())
    return roles


def _learn_alike(one: Optimizer, other: Optimizer) -> bool:
    groups = one.param_groups[MEAN], other.param_groups[MEAN]
    settings = [{k: v for k, v in group.items() if k != 'params'} for group in groups]
    return settings[0] == settings[1]


def _same_mean(one: HeteroscedasticRegressor, other: HeteroscedasticRegressor) -> bool:
    """Whether two means are the same and learn by the squared error alone."""
    return (
        _by_squared_error(one)
        and _by_squared_error(other)
        and _equal(one.mean_network, other.mean_network)
    )


def _by_squared_error(model: HeteroscedasticRegressor) -> bool:
    relocates = model.covariance is not None and model.covariance.relocates
    return not relocates and trains_mean_alone(model.objective)


def _equal(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(mine, theirs) for mine, theirs in pairs)
