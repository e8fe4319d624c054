"""The reference is the definition, and the hard places are hard."""

import pytest
import torch

from hetpose.benchmarks import w2


def test_reference_agrees():
    factor, target = w2.factors(5, torch.float64)
    root = w2.eigen_root(target @ target.mT)
    ours = w2.gradient(lambda f: w2.w2_squared(f, target), factor)
    reference = w2.gradient(lambda f: w2.by_eigenvalues(f @ f.mT, root), factor)
    for a, b in zip(ours, reference, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize('name', w2.hard_places(4))
def test_ours_passes_the_hard_places(name):
    assert w2._hard_row(name, *w2.hard_places(4)[name]).passed


def test_eigenvectors_fail_at_repeated_eigenvalues():
    row = w2._hard_row('', *w2.hard_places(4)['repeated eigenvalues'])
    assert 'NaN' in row.metrics['autograd through eigh']


def test_both_steps_learn_the_same_batch_and_the_bound_is_a_bound():
    exact, bound = ([float(step()) for _ in range(5)] for step in map(prepare, ['w2', 'w2_bound']))
    assert exact[-1] < exact[0]
    assert bound[-1] < bound[0]
    assert exact[0] <= bound[0]  # from the same weights


def prepare(name):
    return w2.prepare_step(name, 3)
