"""One training step of several regressors: networks of one shape share their kernels.

Axes: N networks, B batch, m inputs, d targets.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from hetpose.models.covariance import CovarianceParameterisation
from hetpose.models.regressors.heteroscedastic import HeteroscedasticRegressor
from hetpose.models.regressors.stack_roles import (
    COVARIANCE,
    MEAN,
    Batch,
    Roles,
    assign_roles,
)
from hetpose.ops.network_stack import NetworkStack
from hetpose.ops.spd import NotPositiveDefiniteError
from hetpose.ops.taylor.feedforward import ResidualMLP
from hetpose.ops.taylor.terms import TaylorTerms, stacked_terms
from hetpose.ops.validation import NotFiniteError

NUMERICAL = (NotPositiveDefiniteError, NotFiniteError, torch.linalg.LinAlgError)

Outcome = dict[str, Tensor] | Exception


def stackable(model: object) -> bool:
    """Whether a model is a regressor whose networks can be stacked."""
    return isinstance(model, HeteroscedasticRegressor) and all(
        type(network) is ResidualMLP for network in (model.mean_network, model.covariance_network)
    )


class RegressorStack:
    """Regressors with networks of one shape, trained by common kernels.

    Every regressor keeps its own weights, phase and optimiser. They are up to date at the start of
    an epoch and after ``finish_epoch``. Adam's moments stand with flat weights, which the
    optimisers get in place of the many small ones.

    Args:
        models: the regressors; methods, phases and data may differ, shapes may not.
        optimizers: of the models, by ``TwoNetworkConstructor``.
    """

    def __init__(
        self, models: Sequence[HeteroscedasticRegressor], optimizers: Sequence[Optimizer]
    ) -> None:
        self.models, self.optimizers = list(models), list(optimizers)
        self.roles = Roles()
        self._stacks: dict[str, NetworkStack] = {}

    def start_epoch(self, batches: dict[int, Batch]) -> None:
        """Read phases, weights and anchors of the members that go on, with their first batches.

        To be called when an epoch starts, and when a member has left.
        """
        roles = assign_roles(self.models, self.optimizers, batches)
        networks = (roles.leaders, roles.frozen, roles.covariances)
        if networks != (self.roles.leaders, self.roles.frozen, self.roles.covariances):
            self._stacks = self._built(roles)
        self.roles = roles
        self._kinds = [_stacked([self.models[i].covariance for i in g]) for g in roles.groups]

    def finish_epoch(self) -> None:
        """Give every mean that another member trained its weights, statistics and moments."""
        for member, leader in self.roles.leader_of.items():
            if member == leader:
                continue
            theirs = self.models[leader].mean_network.state_dict()
            self.models[member].mean_network.load_state_dict(theirs)
            moments = _moments(self.optimizers[leader])
            place = nn.Parameter(torch.empty(0))  # stands for the weights, which do not train
            _exchange(self.optimizers[member], MEAN, place)
            self.optimizers[member].state[place] = {k: v.clone() for k, v in moments.items()}

    def step(self, batches: dict[int, Batch]) -> dict[int, Outcome]:
        """Update every member by its batch: its loss and squared error, or what failed.

        One that fails keeps its weights and does not disturb the others: a mean that it trained
        for them goes on.
        """
        leaves = {
            name: stack.forward(
                torch.stack([batches[i]['x'] for i in getattr(self.roles, name)]),
                training=name != 'frozen',
            ).requires_grad_(name != 'frozen')
            for name, stack in self._stacks.items()
        }
        means, raws = self._dealt(leaves)
        outcomes: dict[int, Outcome] = {}
        for members, kind in zip(self.roles.groups, self._kinds, strict=True):
            terms = self._terms(members, kind, batches)
            outcomes |= self._losses(members, kind, means, raws, terms, batches)
        losses = [made['loss'] for made in outcomes.values() if isinstance(made, dict)]
        failed = {i for i, made in outcomes.items() if isinstance(made, Exception)}
        wanted = {leader for i, leader in self.roles.leader_of.items() if i not in failed}
        residuals = [batches[i]['y'] - means[i] for i in wanted & failed]
        losses += [residual.square().sum(-1).mean() for residual in residuals]
        if losses:
            torch.stack(losses).sum().backward()
        self._update(outcomes, leaves, {'leaders': wanted, 'covariances': set(outcomes) - failed})
        return {
            i: made if isinstance(made, Exception) else {k: v.detach() for k, v in made.items()}
            for i, made in outcomes.items()
        }

    def _built(self, roles: Roles) -> dict[str, NetworkStack]:
        """The stacks of the networks that take part; the optimisers get their flat weights."""
        for stack in self._stacks.values():
            for weight in stack.weights:
                weight.grad = None
        stacks = {}
        for name, group in (('leaders', MEAN), ('frozen', None), ('covariances', COVARIANCE)):
            members = getattr(roles, name)
            if not members:
                continue
            kind = 'covariance_network' if group == COVARIANCE else 'mean_network'
            stacks[name] = NetworkStack([getattr(self.models[i], kind) for i in members])
            if group is not None:
                for member, weight in zip(members, stacks[name].weights, strict=True):
                    _exchange(self.optimizers[member], group, weight)
        return stacks

    def _dealt(self, leaves: dict[str, Tensor]) -> tuple[dict[int, Tensor], dict[int, Tensor]]:
        """Means (B, d) and raw outputs (B, outputs) by member; gradients reach leaders only."""
        roles, means = self.roles, {}
        if 'leaders' in leaves:
            rows = dict(zip(roles.leaders, leaves['leaders'].unbind(), strict=True))
            means = {
                member: rows[leader] if member == leader else rows[leader].detach()
                for member, leader in roles.leader_of.items()
            }
        if 'frozen' in leaves:
            means |= dict(zip(roles.frozen, leaves['frozen'].unbind(), strict=True))
        raws = {}
        if 'covariances' in leaves:
            raws = dict(zip(roles.covariances, leaves['covariances'].unbind(), strict=True))
        return means, raws

    def _terms(
        self, members: list[int], kind: Any, batches: dict[int, Batch]
    ) -> TaylorTerms | None:
        """The Taylor terms (N, B, ...) of the members' means, if their covariance needs them."""
        if kind is None or kind.taylor_order is None:
            return None
        name = 'frozen' if self.models[members[0]].mean_frozen else 'leaders'
        everyone = getattr(self.roles, name)
        rows = [everyone.index(self.roles.leader_of.get(i, i)) for i in members]
        x = torch.stack([batches[i]['x'] for i in members])
        return stacked_terms(self._stacks[name], x, kind.taylor_order, rows)

    def _losses(
        self,
        members: list[int],
        kind: CovarianceParameterisation | None,
        means: dict[int, Tensor],
        raws: dict[int, Tensor],
        terms: TaylorTerms | None,
        batches: dict[int, Batch],
    ) -> dict[int, Outcome]:
        """The outcomes of members of one phase; where the algebra refuses, of each one alone."""
        first = self.models[members[0]]
        location = torch.stack([means[i] for i in members])
        given = {
            name: torch.stack([batches[i][name] for i in members])
            for name in ('y', 'target_root')
            if name in batches[members[0]]
        }
        try:
            covariance = None
            if kind is not None:
                count = kind.num_outputs(first.out_dim)
                none = location.new_zeros(*location.shape[:2], 0)
                raw = torch.stack([raws[i] for i in members])[..., :count] if count else none
                covariance = kind(raw, first.out_dim, terms)
                location = kind.location(location, covariance)
            root = given.get('target_root')
            values = first.objective.evaluate(location, given['y'], covariance, root)
        except NUMERICAL as error:
            if len(members) == 1:
                return {members[0]: first.diverged(str(error))}
            outcomes: dict[int, Outcome] = {}
            for place, i in enumerate(members):
                own = None if terms is None else terms.part(slice(place, place + 1))
                alone = _stacked([self.models[i].covariance])
                outcomes |= self._losses([i], alone, means, raws, own, batches)
            return outcomes
        return self._told(members, given['y'] - location.detach(), values.mean(-1))

    def _told(self, members: list[int], residuals: Tensor, losses: Tensor) -> dict[int, Outcome]:
        """Losses (N,) as outcomes; the objectives' observers hear of the residuals (N, B, d)."""
        squared = residuals.square().sum(-1).mean(-1)
        finite = torch.isfinite(losses).tolist()
        outcomes: dict[int, Outcome] = {}
        for place, (member, loss) in enumerate(zip(members, losses.unbind(), strict=True)):
            model = self.models[member]
            if finite[place]:
                model.objective.tell(residuals[place], None)
                outcomes[member] = {'loss': loss, 'squared_error': squared[place]}
            else:
                outcomes[member] = model.diverged(f'the loss is {float(loss.detach())}')
        return outcomes

    def _update(
        self,
        outcomes: dict[int, Outcome],
        leaves: dict[str, Tensor],
        learning: dict[str, set[int]],
    ) -> None:
        """Step the optimisers of the members whose mean or covariance network learns."""
        for name, stack in self._stacks.items():
            gradient, learners = leaves[name].grad, learning.get(name, ())
            if gradient is not None:
                stack.backward(gradient)
            rows = zip(getattr(self.roles, name), stack.weights, stack.gradients, strict=True)
            for member, weight, row in rows:
                weight.grad = None if gradient is None or member not in learners else row
        taking_part = {*self.roles.leaders, *self.roles.covariances}
        for member in taking_part & set().union(*learning.values()):
            try:
                self.optimizers[member].step()
            except FloatingPointError as error:  # FiniteGuardHook looked at the gradients
                outcomes[member] = error


def _moments(optimizer: Optimizer) -> dict[str, Tensor]:
    """Adam's moments of a flat mean network."""
    return optimizer.state.get(optimizer.param_groups[MEAN]['params'][0], {})


def _exchange(optimizer: Optimizer, group: int, weight: nn.Parameter) -> None:
    """Let a group of an optimiser train one flat weight; moments of an earlier one move along."""
    old = optimizer.param_groups[group]['params']
    optimizer.param_groups[group]['params'] = [weight]
    for parameter in old:
        state = optimizer.state.pop(parameter, None)
        if state:
            if len(old) > 1:
                raise ValueError('optimizers: expected none that has trained single weights')
            optimizer.state[weight] = state


def _stacked(
    kinds: Sequence[CovarianceParameterisation | None],
) -> CovarianceParameterisation | None:
    """One parameterisation for raw outputs (N, B, ...), each of whose N has its own anchor."""
    if kinds[0] is None:
        return None
    made = copy.deepcopy(kinds[0])
    anchors = [kind.residual_anchor for kind in kinds if kind is not None]
    if made.residual_anchor is not None:
        made.residual_anchor.anchor = torch.stack([a.anchor for a in anchors if a])[:, None]
    return made
