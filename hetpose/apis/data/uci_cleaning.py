"""From the UCI archive's own files to one numeric table each.

A cleaner takes ``read(name) -> bytes``, which finds a member of the downloaded archive by its file
name, and returns column names and rows of numbers.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from hetpose.errors import UserError

Table = tuple[list[str], list[list[float]]]
Reader = Callable[[str], bytes]

MISSING_AIR = -200.0  # the archive's mark for a sensor that gave no reading
ABALONE = [
    'length',
    'diameter',
    'height',
    'whole_weight',
    'shucked_weight',
    'viscera_weight',
    'shell_weight',
    'rings',
]
NAVAL = [
    'lever_position',
    'ship_speed',
    'gt_shaft_torque',
    'gt_rpm',
    'gg_rpm',
    'starboard_torque',
    'port_torque',
    'hp_turbine_exit_temp',
    'compressor_inlet_temp',
    'compressor_outlet_temp',
    'hp_turbine_exit_pressure',
    'compressor_inlet_pressure',
    'compressor_outlet_pressure',
    'exhaust_pressure',
    'turbine_injection_control',
    'fuel_flow',
    'compressor_decay',
    'turbine_decay',
]
POWER = [
    'temperature',
    'humidity',
    'wind_speed',
    'general_diffuse_flows',
    'diffuse_flows',
    'zone1',
    'zone2',
    'zone3',
]
GAS_YEARS = range(2011, 2016)
PARKINSON_FEATURES = 26


def abalone(read: Reader) -> Table:
    """The sex letter is dropped."""
    return ABALONE, [_numbers(line[1:]) for line in _delimited(read('abalone.data'))]


def air(read: Reader) -> Table:
    """NMHC(GT) is dropped (mostly missing), then rows with -200; date and time become numbers."""
    header, *lines = _delimited(read('AirQualityUCI.csv'), ';')
    keep = [i for i, name in enumerate(header) if i >= 2 and name and name != 'NMHC(GT)']
    rows = []
    for line in lines:
        if not line[0]:
            continue  # the file ends in rows of bare separators
        values = _numbers(line[i].replace(',', '.') for i in keep)
        if MISSING_AIR in values:
            continue
        date = datetime.strptime(line[0], '%d/%m/%Y')
        rows.append([*values, date.day, date.month, int(line[1].split('.')[0])])
    return [*_names(header[i] for i in keep), 'day', 'month', 'hour'], rows


def appliances(read: Reader) -> Table:
    """The date is dropped, and the energy use goes last."""
    header, *lines = _delimited(read('energydata_complete.csv'))
    order = [*range(2, len(header)), 1]
    return _names(header[i] for i in order), [_numbers(line[i] for i in order) for line in lines]


def concrete(read: Reader) -> Table:
    """The first sheet of an Excel 97 file."""
    return _sheet(_read_xls(read('Concrete_Data.xls')))


def electrical(read: Reader) -> Table:
    """The label stabf becomes 1 for stable and 0 for unstable."""
    header, *lines = _delimited(read('Data_for_UCI_named.csv'))
    label = {'stable': '1', 'unstable': '0'}
    return _names(header), [_numbers([*line[:-1], label[line[-1]]]) for line in lines]


def energy(read: Reader) -> Table:
    """The first sheet of an Excel file; empty rows and columns are dropped."""
    return _sheet(_read_xlsx(read('ENB2012_data.xlsx')))


def gas(read: Reader) -> Table:
    """The five years, one after the other."""
    tables = [list(_delimited(read(f'gt_{year}.csv'))) for year in GAS_YEARS]
    return _names(tables[0][0]), [_numbers(line) for table in tables for line in table[1:]]


def naval(read: Reader) -> Table:
    """Columns in blanks, without a header."""
    lines = read('data.txt').decode('ascii').splitlines()
    return NAVAL, [_numbers(line.split()) for line in lines if line.strip()]


def parkinson(read: Reader) -> Table:
    """Train and test rows, without the subject's number and the labels (train has one more)."""
    names = [f'f{i}' for i in range(1, PARKINSON_FEATURES + 1)]
    members = ('train_data.txt', 'test_data.txt')
    lines = [line for name in members for line in _delimited(read(name))]
    return names, [_numbers(line[1 : PARKINSON_FEATURES + 1]) for line in lines]


def power(read: Reader) -> Table:
    """Every second row; the date becomes month, day, hour and minute."""
    lines = list(_delimited(read('Tetuan City power consumption.csv')))[1::2]
    rows = []
    for line in lines:
        date = datetime.strptime(line[0], '%m/%d/%Y %H:%M')
        rows.append([*_numbers(line[1:]), date.month, date.day, date.hour, date.minute])
    return [*POWER, 'month', 'day', 'hour', 'minute'], rows


def red_wine(read: Reader) -> Table:
    return _wine(read('winequality-red.csv'))


def white_wine(read: Reader) -> Table:
    return _wine(read('winequality-white.csv'))


def _wine(content: bytes) -> Table:
    header, *lines = _delimited(content, ';')
    return _names(header), [_numbers(line) for line in lines]


def _delimited(content: bytes, delimiter: str = ',') -> Iterable[list[str]]:
    text = io.StringIO(content.decode('utf-8-sig'), newline='')
    return ([cell.strip() for cell in row] for row in csv.reader(text, delimiter=delimiter) if row)


def _numbers(cells: Iterable[Any]) -> list[float]:
    return [float(cell) for cell in cells]


def _names(header: Iterable[Any]) -> list[str]:
    return [str(name).strip().lower().replace(' ', '_') for name in header]


def _sheet(rows: list[list[Any]]) -> Table:
    """Drop the columns without a title and the rows without a number."""
    header = rows[0]
    keep = [i for i, name in enumerate(header) if name not in (None, '')]
    body = [[row[i] for i in keep] for row in rows[1:]]
    full = [row for row in body if any(cell not in (None, '') for cell in row)]
    return _names(header[i] for i in keep), [_numbers(row) for row in full]


def _read_xls(content: bytes) -> list[list[Any]]:
    try:
        import xlrd
    except ImportError as error:
        raise _needs_package('xlrd', '.xls') from error
    sheet = xlrd.open_workbook(file_contents=content).sheet_by_index(0)
    return [sheet.row_values(i) for i in range(sheet.nrows)]


def _read_xlsx(content: bytes) -> list[list[Any]]:
    try:
        import openpyxl
    except ImportError as error:
        raise _needs_package('openpyxl', '.xlsx') from error
    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    return [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]


def _needs_package(package: str, suffix: str) -> UserError:
    return UserError(f'{suffix} files are read by {package}: pip install "hetpose[data]"')
