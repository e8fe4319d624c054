import torch

from hetpose.benchmarks import neighbours
from hetpose.ops.neighbours import nearest_neighbours


def test_all_sides_find_the_same_distances():
    x = neighbours.table(400, 3)
    found, _ = nearest_neighbours(x, 9)
    dense, _ = neighbours.dense(x, 9)
    torch.testing.assert_close(dense.double(), found, rtol=1e-4, atol=2e-3)
    brute = torch.from_numpy(neighbours.brute_force(x, 9)[0])
    torch.testing.assert_close(brute, found, rtol=1e-9, atol=1e-6)
    assert neighbours.largest_error(x, 9) < 1e-12


def test_the_stand_in_has_the_size_of_the_set(monkeypatch, tmp_path):
    monkeypatch.setenv('HETPOSE_DATA', str(tmp_path))
    name, x = neighbours.gas_inputs()
    assert name == 'stand-in for gas'
    assert x.shape == (neighbours.GAS_ROWS, 2)
