"""Statistics of maps and vectors of scores against what a Gaussian peak must give."""

import math

import torch

from hetpose.ops.spread import map_statistics, vector_statistics

SIGMA = (0.06, 0.1)
CENTRE = (0.4, 0.55)


def axis(count):
    return (torch.arange(count, dtype=torch.float64) + 0.5) / count


def peak(width=48, height=64, correlation=0.0, scale=1.0):
    x, y = axis(width)[None, :] - CENTRE[0], axis(height)[:, None] - CENTRE[1]
    u, v = x / SIGMA[0], y / SIGMA[1]
    form = (u**2 - 2 * correlation * u * v + v**2) / (1 - correlation**2)
    return scale * torch.exp(-form / 2)


def test_a_gaussian_peak_gives_its_own_place_width_and_tilt():
    # Squared scores of a Gaussian are one whose deviations are smaller by the root of 2.
    place_x, place_y, height, off_x, off_y, wide_x, wide_y, tilt = map_statistics(
        peak(correlation=0.5)
    )
    assert abs(place_x - CENTRE[0]) < 1 / 48
    assert abs(place_y - CENTRE[1]) < 1 / 64
    assert 0.9 < height <= 1
    assert abs(place_x + off_x - CENTRE[0]) < 1e-4
    assert abs(place_y + off_y - CENTRE[1]) < 1e-4
    assert abs(wide_x - math.log(SIGMA[0] / 2**0.5)) < 1e-2
    assert abs(wide_y - math.log(SIGMA[1] / 2**0.5)) < 1e-2
    assert abs(tilt - 0.5) < 1e-2


def test_the_scale_of_the_scores_changes_the_height_only():
    one, other = map_statistics(peak()), map_statistics(peak(scale=255.0))
    assert torch.allclose(other[2], 255 * one[2])
    rest = [0, 1, 3, 4, 5, 6, 7]
    assert torch.allclose(one[rest], other[rest])


def test_a_second_peak_widens_and_shifts():
    single = map_statistics(peak())
    double = map_statistics(peak() + 0.8 * peak().roll(12, -1))
    assert double[5] > single[5] + 0.3
    assert double[3] > 0.02


def test_a_map_without_positive_scores_is_uniform_and_finite():
    found = map_statistics(-torch.ones(2, 8, 8))
    assert found.isfinite().all()
    uniform = 0.5 * math.log((1 - 1 / 64) / 12)
    assert torch.allclose(found[:, 5], torch.full((2,), uniform), atol=1e-3)


def test_vectors_agree_with_the_map_that_they_multiply_to():
    grid = peak()
    along_x, along_y = grid[35], grid[:, 19]
    whole, parts = map_statistics(grid), vector_statistics(along_x, along_y)
    places = [0, 1, 3, 4, 5, 6, 7]
    assert torch.allclose(whole[places], parts[places], atol=1e-3)


def test_one_cell_far_from_the_origin_is_finite_in_float32():
    """E p² − mean² would round to a negative variance there."""
    maps = torch.full((1, 300, 300), 1e-3)
    maps[0, 291, 297] = 1e3
    found = map_statistics(maps)
    assert found.isfinite().all()
    assert (found[0, 5:7] < math.log(0.1)).all()


def test_a_narrow_peak_far_from_the_origin_keeps_its_statistics_in_float32() -> None:
    """Two neighbouring cells on a diagonal have ρ = ±1, one cell or a row of them 0."""
    maps = torch.zeros(3, 96, 96)
    maps[0, 90, 91] = maps[0, 91, 92] = 1.0
    maps[1, 90, 92] = maps[1, 91, 91] = 1.0
    maps[2, 90, 91] = maps[2, 90, 92] = 1.0
    maps = maps.clamp_min(1e-4)
    exact = map_statistics(maps.double())
    assert exact[0, 7] > 0.3
    torch.testing.assert_close(map_statistics(maps).double(), exact, atol=2e-5, rtol=2e-5)
