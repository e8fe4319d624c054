"""Bad tables are refused with the file, the column and the row."""

import numpy as np
import pytest

from hetpose.datasets.regression.uci import read_csv
from hetpose.errors import UserError


def write(tmp_path, text):
    path = tmp_path / 'table.csv'
    path.write_text(text)
    return path


def test_reads_numbers_in_order(tmp_path):
    names, values = read_csv(write(tmp_path, 'a,"b,c",d\n1,2.5,-3e-2\n4,5,6\n\n'))
    assert names == ['a', 'b,c', 'd']
    np.testing.assert_array_equal(values, [[1, 2.5, -0.03], [4, 5, 6]])


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('a,b\n1,2\n3,red\n', "column 'b', row 3: 'red' is not a number"),
        ('a,b\n1,\n', "column 'b', row 2: '' is not a number"),
        ('a,b\nnan,2\n', "column 'a', row 2: 'nan' is not finite"),
        ('a,b\n\n1,2\ninf,2\n', "column 'a', row 4: 'inf' is not finite"),
        ('a,b\n1,2\n1,2,3\n', 'row 3 has 3 columns, the header has 2'),
        ('a\n1\n', 'only one column'),
        ('a;b\n1;2\n', 'with commas between them'),
        ('', 'the file is empty'),
        ('a,b\n', '0 data rows; at least 1'),
    ],
)
def test_faults_name_file_column_and_row(tmp_path, text, said):
    path = write(tmp_path, text)
    with pytest.raises(UserError) as caught:
        read_csv(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_fewer_rows_than_neighbours(tmp_path):
    with pytest.raises(UserError, match='2 data rows; at least 20 are needed'):
        read_csv(write(tmp_path, 'a,b\n1,2\n3,4\n'), minimum_rows=20)


def test_missing_file_says_where(tmp_path):
    with pytest.raises(UserError, match='absent.csv'):
        read_csv(tmp_path / 'absent.csv')


def test_a_file_that_is_no_text_is_named(tmp_path):
    path = tmp_path / 'latin.csv'
    path.write_bytes('a,größe\n1,2\n'.encode('latin-1'))
    with pytest.raises(UserError, match=r'latin\.csv is not a CSV file in UTF-8'):
        read_csv(path)
    with pytest.raises(UserError, match='not a file'):
        read_csv(tmp_path)
