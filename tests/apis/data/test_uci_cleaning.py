"""Small files in the archive's own formats are cleaned as the suite needs them."""

import io

import pytest

from hetpose.apis.data import uci_cleaning
from hetpose.apis.data.prepare_uci import SOURCES

AIR = """Date;Time;CO(GT);PT08.S1(CO);NMHC(GT);AH;;
10/03/2004;18.00.00;2,6;1360;150;0,7578;;
10/03/2004;19.00.00;-200;1292;112;0,7255;;
11/03/2004;00.00.00;1,2;1185;-200;0,7603;;
;;;;;;;
"""
APPLIANCES = """"date","Appliances","lights","T1","rv2"
"2016-01-11 17:00:00","60","30","19.89","13.27"
"2016-01-11 17:10:00","50","40","19.9","18.6"
"""
ELECTRICAL = '"tau1","stab","stabf"\n2.95,0.055,"unstable"\n9.3,-0.0059,"stable"\n'
GAS = 'AT,AP,NOX\n{year}.5,1018.7,81.952\n'
NAVAL = '   1.1380000e+00   3.0000000e+00 ' + ' 1.0 ' * 16 + '\n'
POWER = """DateTime,Temperature,Humidity,Wind Speed,general diffuse flows,diffuse flows,Zone 1 Power Consumption,Zone 2  Power Consumption,Zone 3  Power Consumption
1/1/2017 0:00,6.559,73.8,0.083,0.051,0.119,34055.6962,16128.87538,20240.96386
1/1/2017 0:10,6.414,74.5,0.083,0.07,0.085,29814.68354,19375.07599,20131.08434
12/30/2017 23:50,6.313,74.5,0.08,0.062,0.1,29128.10127,19006.68693,19668.43373
"""  # noqa: E501
WINE = '"fixed acidity";"pH";"quality"\n7.4;3.51;5\n7.8;3.2;5\n'
FEATURES = ','.join(f'{i}.5' for i in range(1, 27))

# set, its files, the first and last name, the rows
CASES = [
    ('abalone', {'abalone.data': 'M,.1,.2,.3,.4,.5,.6,.7,15\nI,1,2,3,4,5,6,7,8\n'}, 'length rings',
     [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 15], [1, 2, 3, 4, 5, 6, 7, 8]]),
    ('air', {'AirQualityUCI.csv': AIR}, 'co(gt) hour',
     [[2.6, 1360, 0.7578, 10, 3, 18], [1.2, 1185, 0.7603, 11, 3, 0]]),
    ('appliances', {'energydata_complete.csv': APPLIANCES}, 'lights appliances',
     [[30, 19.89, 13.27, 60], [40, 19.9, 18.6, 50]]),
    ('electrical', {'Data_for_UCI_named.csv': ELECTRICAL}, 'tau1 stabf',
     [[2.95, 0.055, 0], [9.3, -0.0059, 1]]),
    ('gas', {f'gt_{year}.csv': GAS.format(year=year) for year in range(2011, 2016)}, 'at nox',
     [[year + 0.5, 1018.7, 81.952] for year in range(2011, 2016)]),
    ('naval', {'UCI CBM Dataset/data.txt': NAVAL}, 'lever_position turbine_decay',
     [[1.138, 3.0] + [1.0] * 16]),
    ('parkinson', {'train_data.txt': f'1,{FEATURES},23,1\n', 'test_data.txt': f'1,{FEATURES},1\n'},
     'f1 f26', [[i + 0.5 for i in range(1, 27)]] * 2),
    ('power', {'Tetuan City power consumption.csv': POWER}, 'temperature minute',
     [[6.559, 73.8, 0.083, 0.051, 0.119, 34055.6962, 16128.87538, 20240.96386, 1, 1, 0, 0],
      [6.313, 74.5, 0.08, 0.062, 0.1, 29128.10127, 19006.68693, 19668.43373, 12, 30, 23, 50]]),
    ('red_wine', {'winequality-red.csv': WINE}, 'fixed_acidity quality',
     [[7.4, 3.51, 5], [7.8, 3.2, 5]]),
    ('white_wine', {'winequality-white.csv': WINE}, 'fixed_acidity quality',
     [[7.4, 3.51, 5], [7.8, 3.2, 5]]),
]  # fmt: skip


@pytest.mark.parametrize(('name', 'files', 'ends', 'rows'), CASES, ids=[c[0] for c in CASES])
def test_text_formats(name, files, ends, rows):
    names, cleaned = SOURCES[name].clean(
        lambda wanted: next(c for n, c in files.items() if n.endswith(wanted)).encode()
    )
    assert [names[0], names[-1]] == ends.split()
    assert cleaned == rows


def test_excel_97(tmp_path):
    xlwt = pytest.importorskip('xlwt')
    pytest.importorskip('xlrd')
    book = xlwt.Workbook()
    sheet = book.add_sheet('Sheet1')
    for i, row in enumerate(
        [['Cement (component 1)', 'Water  (kg) '], [540.0, 162.5], [332.5, 228]]
    ):
        for j, cell in enumerate(row):
            sheet.write(i, j, cell)
    content = io.BytesIO()
    book.save(content)
    names, rows = uci_cleaning.concrete(lambda name: content.getvalue())
    assert names == ['cement_(component_1)', 'water__(kg)']
    assert rows == [[540.0, 162.5], [332.5, 228.0]]


def test_excel_with_empty_rows_and_columns():
    openpyxl = pytest.importorskip('openpyxl')
    book = openpyxl.Workbook()
    for row in [['X1', 'Y2', None], [0.98, 21.33, None], [None] * 3, [0.9, 20, None]]:
        book.active.append(row)
    content = io.BytesIO()
    book.save(content)
    names, rows = uci_cleaning.energy(lambda name: content.getvalue())
    assert names == ['x1', 'y2']
    assert rows == [[0.98, 21.33], [0.9, 20.0]]
