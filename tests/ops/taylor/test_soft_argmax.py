import pytest
import torch
from torch import nn

from hetpose.ops.soft_argmax import soft_argmax
from hetpose.ops.taylor import convolutional
from hetpose.ops.taylor import func as taylor_func
from hetpose.ops.taylor import terms as taylor
from hetpose.ops.taylor.terms import soft_argmax_terms

TEMPERATURE = 3.0


def norm(channels):
    layer = nn.BatchNorm2d(channels)
    layer.running_mean.normal_()
    layer.running_var.uniform_(0.5, 2)
    nn.init.uniform_(layer.weight, 0.5, 2)
    return layer


def deconvolutions():
    first = [nn.ConvTranspose2d(8, 6, 4, 2, 1, bias=False), norm(6), nn.ReLU(inplace=True)]
    second = [nn.ConvTranspose2d(6, 5, 4, 2, 1), norm(5), nn.ReLU()]
    return nn.Sequential(nn.Sequential(*first, *second), nn.Identity(), nn.Conv2d(5, 3, 1))


DECODERS = {
    'deconvolutions': deconvolutions,
    'odd convolutions': lambda: nn.Sequential(
        nn.Conv2d(8, 6, 3, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(6, 4, 3, 2, 1, 1, groups=2),
        nn.ReLU(),
        nn.Conv2d(4, 3, 3, padding=2, dilation=2),
    ),
    'no relu': lambda: nn.Sequential(nn.Conv2d(8, 3, 1), norm(3)),
    'relu first': lambda: nn.Sequential(nn.ReLU(), nn.Conv2d(8, 3, 1)),
    'relu last': lambda: nn.Sequential(nn.Conv2d(8, 3, 1), nn.ReLU()),
    'one layer': lambda: nn.Conv2d(8, 3, 1),
    'not closed': lambda: nn.Sequential(nn.Conv2d(8, 3, 1), nn.Tanh()),
}
LIFTS = {
    'linear': lambda: nn.Sequential(nn.Linear(9, 128), nn.Unflatten(1, (8, 4, 4))),
    'ends in a channel mix': lambda: nn.Sequential(
        nn.Linear(9, 16, bias=False),
        nn.Unflatten(1, (4, 2, 2)),
        nn.Upsample(size=(4, 4)),
        nn.Conv2d(4, 8, 1),
    ),
}


@pytest.mark.parametrize('memory_limit', [2**30, 1000])
@pytest.mark.parametrize('batch', [1, 3])  # one sample: fewer rows than columns
@pytest.mark.parametrize('lift', LIFTS)
@pytest.mark.parametrize('decoder', DECODERS)
def test_terms_are_those_of_torch_func(decoder, lift, batch, memory_limit):
    torch.manual_seed(1)
    decoder, lift = DECODERS[decoder]().double().train(), LIFTS[lift]().double()
    features = torch.randn(batch, 8, 4, 4, dtype=torch.float64)
    z = torch.randn(batch, 9, dtype=torch.float64)

    def mean(point, base):
        return soft_argmax(decoder(base + lift(point)), TEMPERATURE).flatten(1)

    with torch.no_grad(), taylor.evaluating(decoder):
        found = taylor_func.differentiate(mean, (z, features), True, 2**30)
    expected = taylor.as_terms(*found)
    kept = features.clone()
    arguments = (decoder, features, lift, z, TEMPERATURE)
    full = soft_argmax_terms(*arguments, 'full', memory_limit)
    gradient = soft_argmax_terms(*arguments, 'gradient', memory_limit)
    torch.testing.assert_close(full.jacobian, expected.jacobian, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(gradient.jacobian, expected.jacobian, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(full.hessian, expected.hessian, rtol=1e-10, atol=1e-12)
    assert gradient.hessian is None
    assert torch.equal(features, kept)
    assert decoder.training


def test_which_decoders_are_closed():
    assert convolutional.flatten(deconvolutions()) is not None
    for unknown in (nn.Tanh(), nn.Conv2d(2, 2, 3, padding='same'), nn.Upsample(scale_factor=2)):
        assert convolutional.flatten(nn.Sequential(nn.Conv2d(2, 2, 1), unknown)) is None


def test_sizes_are_those_of_the_layers():
    for make in DECODERS.values():
        layers = convolutional.flatten(make())
        if layers is None:
            continue
        sizes, image = [], torch.randn(2, 8, 7, 5)
        sizes.append(image[0].numel())
        for layer in layers:
            image = layer(image)
            sizes.append(image[0].numel())
        assert convolutional.largest_image(layers, (8, 7, 5)) == (max(sizes), sum(sizes))


class Doubled(nn.Conv2d):
    def forward(self, x):
        return 2 * super().forward(x)


class Standardised(nn.Conv2d):
    def _conv_forward(self, x, weight, bias):
        return super()._conv_forward(x, weight / weight.norm(), bias)


class Squared(nn.ReLU):
    def forward(self, x):
        return super().forward(x).square()


class Scaled(nn.BatchNorm2d):
    def forward(self, x):
        return 3 * super().forward(x)


class Renamed(nn.Conv2d):
    """A subclass that computes what its parent computes."""


@pytest.mark.parametrize('order', ['gradient', 'full'])
@pytest.mark.parametrize(
    'layer', [Doubled(8, 3, 1), Standardised(8, 3, 1), Squared(), Scaled(8), Renamed(8, 3, 1)]
)
def test_a_subclass_is_not_taken_for_its_parent(layer, order):
    last = [] if isinstance(layer, nn.Conv2d) else [nn.Conv2d(8, 3, 1)]
    decoder = nn.Sequential(layer, *last).double().eval()
    lift = LIFTS['linear']().double()
    features, z = torch.randn(2, 8, 4, 4).double(), torch.randn(2, 9).double()

    def mean(point, base):
        return soft_argmax(decoder(base + lift(point)), TEMPERATURE).flatten(1)

    with torch.no_grad():
        found = taylor_func.differentiate(mean, (z, features), order == 'full', 2**30)
    expected = taylor.as_terms(*found)
    terms = soft_argmax_terms(decoder, features, lift, z, TEMPERATURE, order)
    torch.testing.assert_close(terms.jacobian, expected.jacobian)
    if order == 'full':
        torch.testing.assert_close(terms.hessian, expected.hessian)
    assert (convolutional.flatten(layer) is None) == (type(layer) is not Renamed)


@pytest.mark.parametrize('value', [0.0, 1.0])
def test_a_lift_that_bends_is_refused_wherever_z_is(value):
    lift = nn.Sequential(nn.Linear(9, 128), nn.ReLU(), nn.Unflatten(1, (8, 4, 4)))
    z = torch.full((2, 9), value)
    with pytest.raises(ValueError, match='bends'):
        soft_argmax_terms(nn.Conv2d(8, 3, 1), torch.randn(2, 8, 4, 4), lift, z)


def test_an_affine_lift_of_ones_own_is_accepted_and_runs_once_per_sample():
    class Own(nn.Module):
        rows = 0

        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(9, 128)

        def forward(self, z):
            self.rows += len(z)
            return self.linear(z).unflatten(1, (8, 4, 4))

    lift = Own()
    z = torch.randn(50, 9)
    soft_argmax_terms(deconvolutions(), torch.randn(50, 8, 4, 4), lift, z)
    assert lift.rows <= 50 + 6 + 9  # the batch, the probes, the unit vectors


@pytest.mark.parametrize('order', ['gradient', 'full'])
def test_terms_of_an_empty_batch_are_empty(order):
    features, z = torch.zeros(0, 8, 4, 4), torch.zeros(0, 9)
    terms = soft_argmax_terms(deconvolutions(), features, LIFTS['linear'](), z, 1.0, order)
    assert terms.jacobian.shape == (0, 6, 9)
    assert terms.hessian is None if order == 'gradient' else terms.hessian.shape == (0, 6, 45)
    network = taylor.taylor_terms(nn.Sequential(nn.Linear(9, 4), nn.Tanh()), z, order)
    assert network.jacobian.shape == (0, 4, 9)
