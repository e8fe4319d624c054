import numpy as np
import pytest
import torch
from helpers_suite import COLUMNS, ROWS, write_table

from hetpose.datasets.regression import UCISource
from hetpose.datasets.regression.source import _standardised
from hetpose.errors import UserError


@pytest.fixture
def table(tmp_path):
    return str(write_table(tmp_path / 'table.csv'))


def rows(arrays) -> set[tuple]:
    return {tuple(row.tolist()) for row in torch.cat([arrays.x, arrays.y], -1)}


def test_heldout_splits_are_disjoint_and_complete(table) -> None:
    splits = UCISource(table).arrays()
    sizes = {name: len(arrays) for name, arrays in splits.items()}
    assert sizes == {'train': 96, 'val': 12, 'test': 12}
    assert len(set.union(*(rows(arrays) for arrays in splits.values()))) == ROWS


def test_the_paper_protocol_evaluates_what_it_trained_on(table) -> None:
    splits = UCISource(table, protocol='paper').arrays()
    assert all(torch.equal(arrays.y, splits['train'].y) for arrays in splits.values())
    assert len(splits['test']) == ROWS


def test_a_trial_is_reproducible_and_another_one_differs(table) -> None:
    one, same, other = (UCISource(table, trial=trial).arrays()['train'] for trial in (0, 0, 1))
    assert torch.equal(one.x, same.x)
    assert not torch.equal(one.x, other.x)


def test_training_columns_are_standardised_and_constant_ones_are_zero(table) -> None:
    train = UCISource(table).arrays()['train']
    both = torch.cat([train.x, train.y], -1)
    constant = both.abs().max(0).values == 0
    assert constant.sum() == 1
    torch.testing.assert_close(both.mean(0), torch.zeros(COLUMNS), atol=1e-5, rtol=0)
    deviations = both.std(0, unbiased=False)
    torch.testing.assert_close(deviations[~constant], torch.ones(COLUMNS - 1))


def test_held_out_rows_do_not_move_the_standardisation(table) -> None:
    values = np.genfromtxt(table, delimiter=',', skip_header=1)
    source = UCISource(table)
    before = source.arrays()['train']
    held_out = np.concatenate([source._split(ROWS)[name] for name in ('val', 'test')])
    changed = UCISource(table)
    changed.table = values.copy()
    changed.table[held_out] *= 100
    assert torch.equal(changed.arrays()['train'].y, before.y)


def test_only_training_rows_have_labels_and_they_are_symmetric(table) -> None:
    splits = UCISource(table).arrays()
    root = splits['train'].target_root
    assert root.shape == (96, COLUMNS - 1, COLUMNS - 1)
    torch.testing.assert_close(root, root.mT)
    assert splits['val'].target_root is None
    assert UCISource(table, pseudo_labels=False).arrays()['train'].target_root is None


def test_an_unknown_protocol_lists_the_known(table) -> None:
    with pytest.raises(UserError, match='heldout, paper'):
        UCISource(table, protocol='loo')


@pytest.mark.parametrize('value', [0.998, 288.0, 1e-3, 12345.678])
def test_a_column_that_training_rows_do_not_vary_is_not_blown_up(value: float) -> None:
    values = np.full((12000, 2), value)
    values[:, 1] = np.arange(12000)
    values[-1, 0] = value + 1e-3
    scaled = _standardised(values, np.arange(11999))
    assert np.all(scaled[:-1, 0] == 0)
    assert 0.49e-3 < scaled[-1, 0] * (value + 1e-3) < 1.01e-3  # relative to the largest


@pytest.mark.parametrize('unit', [1e-300, 1e-19, 1e-3, 7.0, 1e30, 1e300])
def test_the_unit_of_a_column_does_not_matter(unit: float) -> None:
    values = np.random.default_rng(0).standard_normal((50, 3)) * [1, 1e-3, 2] + [0, 5, -1]
    rows = np.arange(40)
    with np.errstate(all='raise'):
        scaled = _standardised(values * unit, rows)
    np.testing.assert_allclose(scaled, _standardised(values, rows), atol=1e-9)
    np.testing.assert_allclose(scaled[rows].std(0), 1)
