import pytest
import torch
from helpers_pose import DIM

from hetpose.models.heads import covariance_branch
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


def test_parameterisation_travels_in_the_state_dict():
    source = CovarianceBranch(3, DIM, FACTOR, width=8, blocks=1)
    source.switch(dict(type='AnchoredCovariance'))
    source.parameterisation.set_anchor(4 * torch.eye(DIM))
    target = CovarianceBranch(3, DIM, FACTOR, width=8, blocks=1)
    target.load_state_dict(source.state_dict())
    assert target.config['type'] == 'AnchoredCovariance'
    z = torch.randn(2, 3)
    torch.testing.assert_close(source.eval()(z, None).matrix, target.eval()(z, None).matrix)


def test_settings_of_the_same_parameterisation_are_the_models_own():
    source = CovarianceBranch(3, DIM, FACTOR, width=8, blocks=1)
    torch.nn.init.normal_(source.net[-1].weight)
    target = CovarianceBranch(3, DIM, dict(FACTOR, floor=0.5), width=8, blocks=1)
    target.load_state_dict(source.state_dict())
    assert target.parameterisation.floor == 0.5
    assert target.config['floor'] == 0.5
    z = torch.randn(2, 3)
    torch.testing.assert_close(
        target.eval()(z, None).matrix - source.eval()(z, None).matrix,
        ((0.5 - 1e-6) * torch.eye(DIM)).expand(2, DIM, DIM),
        atol=1e-5,
        rtol=1e-5,
    )


def test_another_order_is_another_parameterisation(monkeypatch):
    said = []
    monkeypatch.setattr(covariance_branch, 'print_log', lambda text, **_: said.append(text))
    taylor = dict(type='TaylorInducedCovariance', floor=1e-6)
    source = CovarianceBranch(3, DIM, dict(taylor, order='gradient'), width=8, blocks=1)
    target = CovarianceBranch(3, DIM, taylor, width=8, blocks=1)
    target.load_state_dict(source.state_dict())
    assert target.parameterisation.taylor_order == 'gradient'
    assert len(said) == 1
    assert 'gradient' in said[0]
    target.load_state_dict(source.state_dict())
    assert len(said) == 1
