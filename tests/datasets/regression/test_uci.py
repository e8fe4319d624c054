import numpy as np
import pytest
from helpers_suite import write_table

from hetpose.datasets.regression import UCISource
from hetpose.errors import UserError


@pytest.mark.parametrize(('columns', 'inputs'), [(4, 1), (9, 2), (12, 3), (15, 3)])
def test_a_quarter_of_the_columns_predicts_the_rest(tmp_path, columns, inputs) -> None:
    path = write_table(tmp_path / 'table.csv', rows=200, columns=columns)
    assert UCISource(str(path)).dims == (inputs, columns - inputs)


def test_an_unknown_set_lists_the_known() -> None:
    with pytest.raises(UserError, match="unknown data set 'iris'; known: abalone, air"):
        UCISource('iris')
    with pytest.raises(UserError, match="unknown data set '4'"):
        UCISource(4)  # as --cfg-options dataset=4 gives it


def test_too_few_rows_or_columns_are_named(tmp_path) -> None:
    few = write_table(tmp_path / 'few.csv', rows=20)
    with pytest.raises(UserError, match=r'few\.csv: 20 data rows; .* k = 30'):
        _ = UCISource(str(few)).dims
    narrow = write_table(tmp_path / 'narrow.csv', columns=3)
    with pytest.raises(UserError, match=r'narrow\.csv: 3 columns'):
        _ = UCISource(str(narrow)).dims


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(UserError, match='table not found'):
        _ = UCISource('concrete', root=str(tmp_path)).dims


def test_named_targets_are_predicted_from_all_others(tmp_path) -> None:
    path = write_table(tmp_path / 'table.csv', rows=200, columns=5)
    source = UCISource(str(path), targets=('column3', 'column0'))
    assert source.dims == (3, 2)
    drawn = source.draw(np.random.default_rng(0))
    np.testing.assert_array_equal(drawn['y'], source.table[:, [3, 0]])
    np.testing.assert_array_equal(drawn['x'], source.table[:, [1, 2, 4]])


def test_targets_that_are_no_columns_or_all_of_them_are_named(tmp_path) -> None:
    path = write_table(tmp_path / 'table.csv', rows=200)
    with pytest.raises(UserError, match=r"unknown column of .*'colum1'; known: column0"):
        _ = UCISource(str(path), targets=('colum1',)).dims
    with pytest.raises(UserError, match=r'table\.csv: 4 columns; at least one must be one input'):
        _ = UCISource(str(path), targets=[f'column{i}' for i in range(4)]).dims


def test_a_target_whose_name_two_columns_bear_is_refused(tmp_path) -> None:
    path = tmp_path / 'twice.csv'
    path.write_text('a,b,b\n' + '1,2,3\n' * 40)
    with pytest.raises(UserError, match=r"twice\.csv: more than one column is named 'b'"):
        _ = UCISource(str(path), targets=('b',)).dims
    assert UCISource(str(path), targets=('a',)).dims == (2, 1)
