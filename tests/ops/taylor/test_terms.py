import pytest
import torch
from torch import nn
from torch.func import jacrev, vmap

from hetpose.ops.taylor import feedforward_terms as taylor_feedforward
from hetpose.ops.taylor import terms as taylor
from hetpose.ops.taylor.feedforward import Residual, ResidualMLP
from hetpose.ops.taylor.terms import TaylorTerms, soft_argmax_terms, taylor_terms


def settle(network):
    """Give batch norms statistics and weights that matter."""
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_var is not None:
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias)
    return network.double().eval()


def definition(network, x):
    """JJᵀ and T_ij = Tr(H_i H_j), from torch.func and the formula."""

    def single(point):
        return network(point.unsqueeze(0)).squeeze(0)

    with torch.no_grad():
        jacobian, curvature = vmap(jacrev(single))(x), vmap(jacrev(jacrev(single)))(x)
    traces = torch.einsum('bixy,bjyx->bij', curvature, curvature)
    return jacobian, jacobian @ jacobian.mT, traces


def residual_of(*layers):
    return nn.Sequential(nn.Linear(3, 5), Residual(*layers), nn.Linear(5, 2))


NETWORKS = {
    'suites, square': lambda: ResidualMLP(4, 4, 18),
    'suites, more outputs': lambda: ResidualMLP(2, 6, 11, blocks=2),
    'suites, more inputs': lambda: ResidualMLP(7, 2, 9, blocks=2),
    'univariate': lambda: ResidualMLP(1, 1, 50, blocks=2, activation='tanh'),
    'linear': lambda: nn.Linear(3, 2),
    'activation first': lambda: nn.Sequential(nn.Tanh(), nn.Linear(3, 2), nn.Sigmoid()),
    'activation alone': lambda: nn.Tanh(),
    'nested sequences': lambda: nn.Sequential(
        nn.Sequential(nn.Linear(3, 6), nn.SiLU()),
        nn.Sequential(nn.Dropout(0.5), nn.Linear(6, 2), nn.BatchNorm1d(2)),
    ),
    'norm before linear': lambda: nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 4), nn.GELU()),
    'piecewise linear': lambda: nn.Sequential(nn.Linear(3, 9), nn.ReLU(), nn.Linear(9, 2)),
    'residual in residual': lambda: residual_of(
        nn.Linear(5, 8), nn.ELU(), Residual(nn.Linear(8, 8), nn.Tanh()), nn.Linear(8, 5)
    ),
    'residual with softplus': lambda: residual_of(nn.Softplus(), nn.Identity(), nn.Linear(5, 5)),
    'not closed': lambda: residual_of(nn.LayerNorm(5), nn.Tanh()),
    'not closed, no forward mode': lambda: residual_of(nn.LayerNorm(5), nn.SiLU()),
}


@pytest.fixture(params=NETWORKS, ids=lambda name: name.replace(' ', '_'))
def case(request):
    torch.manual_seed(0)
    network = settle(NETWORKS[request.param]())
    first = next((m for m in network.modules() if isinstance(m, nn.Linear)), None)
    return network, torch.randn(5, 3 if first is None else first.in_features, dtype=torch.float64)


@pytest.mark.parametrize('memory_limit', [2**30, 1])
def test_terms_are_those_of_the_definition(case, memory_limit):
    network, x = case
    jacobian, gram, traces = definition(network, x)
    terms = taylor_terms(network, x, 'full', memory_limit)
    torch.testing.assert_close(terms.jacobian, jacobian, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(terms.gradient_gram, gram, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(terms.curvature_gram, traces, rtol=1e-11, atol=1e-13)
    gradient = taylor_terms(network, x, 'gradient', memory_limit)
    torch.testing.assert_close(gradient.jacobian, jacobian, rtol=1e-12, atol=1e-13)
    assert gradient.hessian is None


@pytest.mark.parametrize('buffer', [1, 2**14, 2**24])
def test_curvature_does_not_depend_on_its_buffer(monkeypatch, buffer):
    torch.manual_seed(0)
    network, x = settle(ResidualMLP(6, 5, 38)), torch.randn(7, 6, dtype=torch.float64)
    expected = taylor_terms(network, x, 'full').hessian
    monkeypatch.setattr(taylor_feedforward, 'GATHER_BYTES', 0)
    monkeypatch.setattr(taylor_feedforward, 'PAIR_BUFFER_BYTES', buffer)
    torch.testing.assert_close(taylor_terms(network, x, 'full').hessian, expected)


def test_single_precision_error():
    torch.manual_seed(0)
    network, x = settle(ResidualMLP(8, 8, 66)), torch.randn(32, 8, dtype=torch.float64)
    exact = taylor_terms(network, x, 'full').curvature_gram
    found = taylor_terms(network.float(), x.float(), 'full').curvature_gram
    assert (found - exact).norm() / exact.norm() < 1e-5


def test_known_networks_go_the_closed_way():
    assert taylor_feedforward.parse(ResidualMLP(2, 2, 6)) is not None
    assert taylor_feedforward.parse(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))) is None


def test_what_only_looks_known_does_not_go_the_closed_way():
    class Doubled(nn.Sequential):
        def forward(self, x):
            return 2 * super().forward(x)

    hooked = nn.Sequential(nn.Linear(2, 2))
    hooked[0].register_forward_hook(lambda module, args, output: 3 * output)
    overwriting = Residual(nn.ELU(inplace=True), nn.Linear(2, 2))
    for network in (Doubled(nn.Linear(2, 2)), hooked, overwriting):
        assert taylor_feedforward.parse(network) is None
    x = torch.randn(3, 2)
    expected = 3 * hooked[0].weight.detach().expand(3, 2, 2)
    torch.testing.assert_close(taylor_terms(hooked, x).jacobian, expected)


def test_plain_functions():
    x = torch.randn(4, 3, dtype=torch.float64)
    terms = taylor_terms(lambda p: (p**2).sum(-1, keepdim=True), x, 'full')
    torch.testing.assert_close(terms.jacobian, 2 * x.unsqueeze(1))
    expected = torch.full((4, 1, 1), 12.0, dtype=torch.float64)  # Tr (2I)² in three dimensions
    torch.testing.assert_close(terms.curvature_gram, expected)


def test_modes_come_back_and_results_are_constants():
    network = ResidualMLP(2, 2, 6).train()
    network[3].eval()
    before = [module.training for module in network.modules()]
    statistics = network[2][3].running_mean.clone()
    x = torch.randn(4, 2, requires_grad=True)
    terms = taylor_terms(network, x, 'full')
    assert [module.training for module in network.modules()] == before
    assert not terms.jacobian.requires_grad
    assert not terms.hessian.requires_grad
    torch.testing.assert_close(network[2][3].running_mean, statistics)
    torch.testing.assert_close(terms.hessian, taylor_terms(network.eval(), x, 'full').hessian)


def test_autocast_does_not_lower_precision():
    network, x = ResidualMLP(3, 3, 11).eval(), torch.randn(4, 3)
    expected = taylor_terms(network, x, 'full')
    with torch.autocast('cpu', torch.bfloat16):
        found = taylor_terms(network, x, 'full')
    assert torch.equal(found.hessian, expected.hessian)


def test_networks_without_a_jacobian_per_sample_are_refused():
    x = torch.randn(4, 3)
    coupled = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, track_running_stats=False))
    norm = nn.BatchNorm1d(3).train()
    drop = nn.Dropout(0.5).train()
    for network in (coupled, lambda p: norm(p), lambda p: drop(p), lambda p: p - p.mean(0)):
        with pytest.raises(ValueError, match='network'):
            taylor_terms(network, x, 'full')


@pytest.mark.parametrize(
    ('name', 'change'),
    [
        ('x', dict(x=torch.full((2, 3), float('nan')))),
        ('x', dict(x=torch.randn(3))),
        ('x', dict(x=torch.randn(2, 5))),
        ('x', dict(x=torch.randn(2, 3, dtype=torch.float64))),
        ('x', dict(x=torch.ones(2, 3, dtype=torch.long))),
        ('order', dict(order='second')),
        ('memory_limit', dict(memory_limit=0)),
        ('network', dict(network=lambda x: x.sum())),
    ],
)
def test_bad_arguments_are_named(name, change):
    arguments = dict(network=nn.Linear(3, 2), x=torch.randn(2, 3)) | change
    with pytest.raises(ValueError, match=f'^{name}:'):
        taylor_terms(**arguments)


def test_curvature_of_gradient_terms_is_refused():
    with pytest.raises(ValueError, match='order'):
        _ = TaylorTerms(torch.randn(2, 3, 3)).curvature_gram


def test_soft_argmax_terms_check_their_arguments():
    decoder, lift = nn.Conv2d(3, 2, 1), nn.Sequential(nn.Linear(4, 12), nn.Unflatten(1, (3, 2, 2)))
    features, z = torch.randn(2, 3, 2, 2), torch.randn(2, 4)
    for name, arguments in (
        ('z', (decoder, features, lift, z[0])),
        ('features', (decoder, features[:1], lift, z)),
        ('lift', (decoder, features, nn.Sequential(lift, nn.Tanh()), z)),
        ('lift', (decoder, features, nn.Sequential(lift, nn.ReLU()), z)),
    ):
        with pytest.raises(ValueError, match=name):
            soft_argmax_terms(*arguments)


def test_evaluating_restores_modes_after_an_error():
    network = nn.Sequential(nn.Dropout(), nn.Linear(1, 1)).train()
    seen = []

    def fail():
        with taylor.evaluating(network):
            seen.append(network[0].training)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert seen == [False]
    assert all(module.training for module in network.modules())
