"""The network from evidence to the covariance of errors."""

import pytest
import torch

from hetpose.models.heads.error_model import CLIP, ErrorModel
from hetpose.ops.spread import STATISTICS

JOINTS, FEATURES = 3, 40
ANCHORED = dict(type='AnchoredCovariance', floor=1e-4)


def model(**changes):
    torch.manual_seed(0)
    settings = dict(
        joints=JOINTS,
        features=FEATURES,
        covariance=ANCHORED,
        objective=dict(type='NLLObjective'),
        components=5,
        width=16,
    )
    return ErrorModel(**{**settings, **changes}).eval()


def evidence(count=7):
    generator = torch.Generator().manual_seed(1)
    pooled = torch.randn(count, FEATURES, generator=generator)
    return pooled, torch.randn(count, JOINTS, STATISTICS, generator=generator)


def test_a_fresh_model_predicts_its_anchor_for_everyone():
    made = model()
    anchor = torch.eye(2 * JOINTS) + 0.5
    made.covariance.set_anchor(anchor)
    found = made.distribution(made.evidence(*evidence())).matrix
    assert torch.allclose(found, anchor.expand_as(found), atol=1e-5)


def test_outputs_are_as_many_as_the_parameterisation_reads():
    assert model().branch.net[-1].out_features == 2 * JOINTS * (2 * JOINTS + 1) // 2


def test_projection_is_that_of_the_principal_components():
    made = model()
    pooled, statistics = evidence()
    mean, components = torch.randn(FEATURES), torch.randn(5, FEATURES)
    made.set_projection(mean, components)
    found = made.evidence(pooled, statistics)
    assert torch.allclose(found[:, :5], (pooled - mean) @ components.mT, atol=1e-5)
    assert torch.equal(found[:, 5:], statistics.flatten(1))


def test_evidence_far_from_all_that_was_seen_is_cut():
    made = model()
    torch.nn.init.normal_(made.branch.net[-1].weight, std=0.1)
    far = torch.full((1, made.standardise.num_features), 1e6)
    near = torch.full((1, made.standardise.num_features), CLIP * 1.1)
    assert torch.equal(made.distribution(far).matrix, made.distribution(near).matrix)


def test_loss_is_blind_to_missing_joints():
    made = model()
    inputs = made.evidence(*evidence())
    residual = torch.randn(7, 2 * JOINTS)
    mask = torch.ones(7, 2 * JOINTS, dtype=torch.bool)
    mask[:, 2:4] = False
    other = residual.clone()
    other[:, 2:4] = 1e9
    first = made(inputs, residual, mask, mode='loss')['loss']
    assert torch.equal(first, made(inputs, other, mask, mode='loss')['loss'])


def test_the_objective_can_be_switched_and_the_covariance_cannot():
    made = model()
    made.switch(objective=dict(type='AnchoredNLLObjective', prior=0.1), covariance=ANCHORED)
    assert made.objective.prior == 0.1
    with pytest.raises(ValueError, match='fit it again'):
        made.switch(covariance=dict(type='FactorCovariance'))
