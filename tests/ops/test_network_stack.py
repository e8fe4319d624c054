"""A stack of networks does what each of its networks does alone."""

import copy

import pytest
import torch

from hetpose.ops.network_stack import NetworkStack
from hetpose.ops.taylor.feedforward import ResidualMLP
from hetpose.ops.taylor.terms import stacked_terms, taylor_terms

BATCH, INPUTS, OUTPUTS = 8, 3, 4
SHAPES = [(1, 0, 'elu'), (1, 2, 'tanh'), (3, 2, 'elu'), (5, 1, 'elu')]


def networks(
    count: int, blocks: int, activation: str, width: int = 7, inputs: int = INPUTS
) -> list[ResidualMLP]:
    torch.manual_seed(count)
    made = [ResidualMLP(inputs, OUTPUTS, width, blocks, activation) for _ in range(count)]
    return [network.double() for network in made]


def assert_equal(ours, theirs, what: str) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11, msg=lambda m: f'{what}: {m}')


@pytest.mark.parametrize(('count', 'blocks', 'activation'), SHAPES)
def test_values_gradients_and_statistics_are_those_of_each_network(count, blocks, activation):
    stacked = networks(count, blocks, activation)
    alone = copy.deepcopy(stacked)
    stack = NetworkStack(stacked)
    for _ in range(3):
        x = torch.randn(count, BATCH, INPUTS).double()
        gradient = torch.randn(count, BATCH, OUTPUTS).double()
        values = stack.forward(x)
        stack.backward(gradient)
        for index, network in enumerate(alone):
            network.zero_grad()
            value = network(x[index])
            value.backward(gradient[index])
            assert_equal(values[index], value.detach(), 'value')
            for (name, ours), theirs in zip(
                stacked[index].named_parameters(), network.parameters(), strict=True
            ):
                assert_equal(ours.grad, theirs.grad, name)
            for name, state in network.state_dict().items():
                assert_equal(stacked[index].state_dict()[name], state, name)


@pytest.mark.parametrize('inputs', [2, INPUTS])  # 3 or 6 pairs, less or more than the outputs
@pytest.mark.parametrize(('count', 'blocks', 'activation'), SHAPES)
def test_evaluation_and_taylor_terms_are_those_of_each_network(count, blocks, activation, inputs):
    stacked = networks(count, blocks, activation, inputs=inputs)
    stack = NetworkStack(stacked)
    x = torch.randn(count, BATCH, inputs).double()
    stack.forward(x)  # moves the statistics
    before = copy.deepcopy(stacked)
    values = stack.forward(x, training=False)
    for order in ('gradient', 'full'):
        terms = stacked_terms(stack, x, order)
        for index, network in enumerate(before):
            assert_equal(values[index], network.eval()(x[index]).detach(), 'value')
            expected = taylor_terms(network, x[index], order)
            assert_equal(terms.jacobian[index], expected.jacobian, 'jacobian')
            if order == 'full':
                assert_equal(terms.hessian[index], expected.hessian, 'hessian')
    for network, old in zip(stacked, before, strict=True):
        for name, state in old.state_dict().items():
            assert torch.equal(network.state_dict()[name], state), name


def test_terms_of_chosen_networks() -> None:
    stacked = networks(4, 1, 'elu')
    stack = NetworkStack(stacked)
    x = torch.randn(2, BATCH, INPUTS).double()
    terms = stacked_terms(stack, x, 'full', chosen=[3, 1])
    for place, index in enumerate((3, 1)):
        expected = taylor_terms(stacked[index], x[place], 'full')
        assert_equal(terms.hessian[place], expected.hessian, 'hessian')


def test_a_network_sees_what_an_optimiser_does_to_its_row() -> None:
    stacked = networks(2, 1, 'elu')
    alone = copy.deepcopy(stacked[1])
    stack = NetworkStack(stacked)
    with torch.no_grad():
        stack.weights[1] += 1
    for ours, theirs in zip(stacked[1].parameters(), alone.parameters(), strict=True):
        assert_equal(ours.detach(), theirs.detach() + 1, 'weight')
    first = networks(2, 1, 'elu')[0]
    for ours, theirs in zip(stacked[0].parameters(), first.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match='one shape'):
        NetworkStack([*networks(1, 1, 'elu'), *networks(1, 1, 'elu', width=6)])
