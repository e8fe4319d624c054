"""Laws of the soft-argmax."""

import pytest
import torch
from torch.autograd import gradcheck

from hetpose.ops.soft_argmax import soft_argmax


def test_peak_is_found_as_x_then_y():
    heatmaps = torch.zeros(2, 3, 8, 5)
    heatmaps[1, 2, 6, 1] = 100.0
    coordinates = soft_argmax(heatmaps)
    assert coordinates.shape == (2, 3, 2)
    torch.testing.assert_close(coordinates[1, 2], torch.tensor([1.0, 6.0]))
    # A flat heatmap has its mean at the centre.
    torch.testing.assert_close(coordinates[0, 0], torch.tensor([2.0, 3.5]))


def test_agrees_with_the_definition():
    heatmaps = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    weights = (1.7 * heatmaps).flatten(-2).softmax(-1)
    rows, columns = torch.meshgrid(torch.arange(4), torch.arange(5), indexing='ij')
    pixels = torch.stack([columns.flatten(), rows.flatten()], dim=-1).double()
    torch.testing.assert_close(soft_argmax(heatmaps, 1.7), weights @ pixels)


def test_temperature_sharpens():
    heatmaps = torch.zeros(1, 9, 9, dtype=torch.float64)
    heatmaps[0, 2, 7] = 1.0
    peak = torch.tensor([7.0, 2.0], dtype=torch.float64)
    errors = [(soft_argmax(heatmaps, t)[0] - peak).norm().item() for t in (1.0, 5.0, 20.0)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-5


def test_follows_shifts_and_mirrors():
    heatmaps = torch.full((1, 16, 16), -40.0, dtype=torch.float64)
    heatmaps[:, 3:6, 5:9] = torch.randn(1, 3, 4, dtype=torch.float64)
    plain = soft_argmax(heatmaps)
    shifted = soft_argmax(heatmaps.roll((2, -3), dims=(-2, -1)))
    shift = torch.tensor([[-3.0, 2.0]], dtype=torch.float64)
    torch.testing.assert_close(shifted, plain + shift)
    mirrored = soft_argmax(heatmaps.flip(-1))
    torch.testing.assert_close(mirrored[:, 0], 15 - plain[:, 0])
    torch.testing.assert_close(mirrored[:, 1], plain[:, 1])


def test_huge_logits_stay_finite():
    assert torch.isfinite(soft_argmax(1e30 * torch.randn(2, 4, 4))).all()


def test_half_precision_is_computed_in_single():
    heatmaps = torch.randn(2, 64, 64)
    expected = soft_argmax(heatmaps.bfloat16().float())
    torch.testing.assert_close(soft_argmax(heatmaps.bfloat16()), expected, rtol=0, atol=0)
    with torch.autocast('cpu', dtype=torch.bfloat16):
        torch.testing.assert_close(soft_argmax(heatmaps.bfloat16()), expected, rtol=0, atol=0)


def test_gradient():
    heatmaps = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    temperature = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(soft_argmax, (heatmaps, temperature))


def test_bad_input():
    with pytest.raises(ValueError, match=r'heatmaps: expected shape'):
        soft_argmax(torch.zeros(4, 4))
