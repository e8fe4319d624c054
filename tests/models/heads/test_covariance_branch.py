import pytest
import torch
from helpers_pose import DIM

from hetpose.models.heads.covariance_branch import CovarianceBranch

FACTOR = dict(type='FactorCovariance', floor=1e-6)


def test_no_gradient_reaches_z():
    branch = CovarianceBranch(3, DIM, FACTOR, width=8, blocks=1)
    torch.nn.init.normal_(branch.net[-1].weight)
    z = torch.randn(4, 3, requires_grad=True)
    branch(z, None).matrix.sum().backward()
    assert z.grad is None
    assert branch.net[-1].weight.grad.abs().sum() > 0


@pytest.mark.parametrize('kind', ['FactorCovariance', 'CholeskyCovariance', 'RootCovariance'])
def test_it_starts_at_the_identity(kind):
    branch = CovarianceBranch(3, DIM, dict(type=kind, floor=1e-6), width=8, blocks=1).eval()
    sigma = branch(torch.randn(4, 3), None).matrix
    torch.testing.assert_close(sigma, torch.eye(DIM).expand_as(sigma), atol=1e-2, rtol=0)


def test_switching_to_the_same_keeps_the_weights():
    branch = CovarianceBranch(3, DIM, FACTOR, width=8, blocks=1)
    torch.nn.init.normal_(branch.net[-1].weight)
    before = branch.net[-1].weight.clone()
    branch.switch(dict(FACTOR))
    assert torch.equal(branch.net[-1].weight, before)
    branch.switch(dict(type='DiagonalCovariance'))
    assert not branch.net[-1].weight.any()


def test_another_floor_keeps_what_was_learned():
    branch = CovarianceBranch(
        3, DIM, dict(type='AnchoredCovariance', floor=1e-3), width=8, blocks=1
    )
    torch.nn.init.normal_(branch.net[-1].weight)
    branch.parameterisation.set_anchor(4 * torch.eye(DIM))
    z = torch.randn(2, 3)
    before = branch.eval()(z, None).matrix
    branch.switch(dict(type='AnchoredCovariance', floor=0.5))
    assert branch.parameterisation.floor == 0.5
    torch.testing.assert_close(
        branch.eval()(z, None).matrix - before,
        ((0.5 - 1e-3) * torch.eye(DIM)).expand(2, DIM, DIM),
        atol=1e-4,
        rtol=1e-4,
    )


def test_evidence_counts_by_how_far_it_is_from_the_usual():
    torch.manual_seed(0)
    branch = CovarianceBranch(3, DIM, FACTOR, width=8, blocks=1, evidence=2)
    torch.nn.init.normal_(branch.net[-1].weight)
    z, evidence = torch.randn(400, 3), 50 + 10 * torch.randn(400, 2)
    for _ in range(60):
        branch(z, None, evidence=evidence)
    branch.eval()
    mean, variance = branch.norm.running_mean.clone(), branch.norm.running_var.clone()
    torch.testing.assert_close(mean, evidence.mean(0), rtol=0.01, atol=0)
    torch.testing.assert_close(variance, evidence.var(0), rtol=0.01, atol=0)
    found = branch(z, None, evidence=evidence).matrix
    branch.norm.reset_running_stats()  # mean 0, variance 1
    expected = branch(z, None, evidence=(evidence - mean) / (variance + 1e-5).sqrt()).matrix
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
