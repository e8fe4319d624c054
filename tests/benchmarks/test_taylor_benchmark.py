import torch

from hetpose.benchmarks import taylor


def test_both_sides_compute_the_same():
    for dtype, bound in taylor.ERRORS.items():
        network, x = taylor.problem(3, dtype)
        found, exact = taylor.ours(network, x), taylor.definition(network, x)
        assert taylor.relative_error(found, exact) <= bound
        assert found[0].shape == found[1].shape == (taylor.BATCH, 3, 3)


def test_an_error_is_seen():
    exact = (torch.eye(2), torch.eye(2))
    assert taylor.relative_error((torch.eye(2), 2 * torch.eye(2)), exact) == 1
