import pytest
import torch

from hetpose.models.heads import Bottleneck


@pytest.mark.parametrize('size', [(4, 4), (16, 16), (16, 12), (64, 64)])
def test_lift_is_linear_and_small(size):
    bottleneck = Bottleneck(32, size, dim=6)
    features = torch.randn(5, 32, *size)
    z, lifted = bottleneck(features)
    assert z.shape == (5, 6)
    assert lifted.shape == features.shape
    a, b = torch.randn(2, 5, 6)
    torch.testing.assert_close(
        bottleneck.lift(2 * a - b), 2 * bottleneck.lift(a) - bottleneck.lift(b)
    )
    change = (lifted - features).std() / features.std()
    assert 0.002 < change < 0.1


def test_z_has_a_fixed_scale():
    bottleneck = Bottleneck(32, (16, 16), dim=64)
    for scale in (0.1, 1.0, 100.0):
        z, _ = bottleneck(scale * torch.randn(4, 32, 16, 16))
        torch.testing.assert_close(z.std(dim=1, correction=0), torch.ones(4), atol=0.15, rtol=0)


def test_initialisation_survives_that_of_the_parent():
    """A parent's init_cfg sets every convolution to a standard deviation of 0.001."""
    bottleneck = Bottleneck(256, (8, 8))
    for module in bottleneck.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.normal_(module.weight, std=0.001)
    bottleneck.init_weights()
    assert bottleneck.lift[-1].weight.std().item() == pytest.approx(0.01, rel=0.1)
    assert bottleneck.down[0].weight.std() > 0.01


def test_bad_dimension():
    with pytest.raises(ValueError, match='dim'):
        Bottleneck(8, (4, 4), dim=0)
