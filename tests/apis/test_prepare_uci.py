"""Small files in the archive's own formats are cleaned, checked, and written whole."""

import dataclasses
import io
import json
import zipfile

import pytest

from hetpose.apis import prepare_uci, uci_cleaning
from hetpose.apis.prepare_uci import SOURCES, Members, prepare, sha256
from hetpose.datasets.csv_reader import read_csv
from hetpose.errors import UserError
from hetpose.paths import data_root

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


def pack(path, files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, 'w') as bundle:
        for name, content in files.items():
            bundle.writestr(name, content)
    return path


@pytest.mark.parametrize(('name', 'files', 'ends', 'rows'), CASES, ids=[c[0] for c in CASES])
def test_text_formats(tmp_path, name, files, ends, rows):
    with Members(pack(tmp_path / 'a.zip', files)) as members:
        names, cleaned = SOURCES[name].clean(members.read)
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


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """A stand-in for the archive: a folder that file:// addresses point to, with one small set."""
    address = 'remote/wine.zip'
    package = pack(tmp_path / address, {'winequality-red.csv': WINE})
    monkeypatch.setattr(prepare_uci, 'ARCHIVE_URL', tmp_path.as_uri())
    source = dataclasses.replace(
        SOURCES['red_wine'], address=address, sha256=sha256(package), rows=2, columns=3
    )
    monkeypatch.setitem(SOURCES, 'red_wine', source)
    return package


def test_download_clean_and_resume(tmp_path, archive):
    root = tmp_path / 'uci'
    assert prepare(['red_wine'], root) == {'red_wine': 'written'}
    names, values = read_csv(root / 'red_wine.csv')
    assert names == ['fixed_acidity', 'ph', 'quality']
    assert values.tolist() == [[7.4, 3.51, 5], [7.8, 3.2, 5]]
    assert prepare(['red_wine'], root) == {'red_wine': 'present'}
    archive.unlink()  # the kept download is enough to write the table again
    assert prepare(['red_wine'], root, force=True) == {'red_wine': 'written'}


def test_wrong_checksum_leaves_nothing(tmp_path, archive, monkeypatch):
    changed = dataclasses.replace(SOURCES['red_wine'], sha256='0' * 64)
    monkeypatch.setitem(SOURCES, 'red_wine', changed)
    outcome = prepare(['red_wine'], tmp_path / 'uci')['red_wine']
    assert outcome.startswith('failed')
    assert 'SHA-256' in outcome
    assert [p for p in (tmp_path / 'uci').rglob('*') if p.is_file()] == []


def test_unknown_checksum_is_trusted_once(tmp_path, archive, monkeypatch):
    open_source = dataclasses.replace(SOURCES['red_wine'], sha256=None)
    monkeypatch.setitem(SOURCES, 'red_wine', open_source)
    root = tmp_path / 'uci'
    prepare(['red_wine'], root)
    recorded = json.loads((root / 'archive' / 'checksums.json').read_text())
    assert list(recorded.values()) == [sha256(archive)]
    (root / 'archive' / open_source.file_name).unlink()
    pack(archive, {'winequality-red.csv': WINE + '1;2;3\n'})
    assert 'SHA-256' in prepare(['red_wine'], root, force=True)['red_wine']
    assert len(read_csv(root / 'red_wine.csv')[1]) == 2


def test_half_a_download_is_fetched_again(tmp_path, archive):
    root = tmp_path / 'uci'
    half = root / 'archive' / SOURCES['red_wine'].file_name
    half.parent.mkdir(parents=True)
    half.write_bytes(archive.read_bytes()[:50])
    assert prepare(['red_wine'], root) == {'red_wine': 'written'}


def test_changed_shape_is_refused(tmp_path, archive, monkeypatch):
    monkeypatch.setitem(SOURCES, 'red_wine', dataclasses.replace(SOURCES['red_wine'], rows=3))
    assert 'cleaned to 2 x 3, expected 3 x 3' in prepare(['red_wine'], tmp_path / 'u')['red_wine']


def test_unreachable_archive_says_what_to_do(tmp_path, archive):
    archive.unlink()
    assert 'fetch it by hand' in prepare(['red_wine'], tmp_path / 'uci')['red_wine']


def test_rar_without_a_program(tmp_path, monkeypatch):
    monkeypatch.setattr(prepare_uci.shutil, 'which', lambda program: None)
    package = pack(tmp_path / 'a.zip', {'inner.rar': b'Rar!'})
    with pytest.raises(UserError, match='install one of bsdtar'), Members(package):
        pass


def test_unknown_set_lists_the_known_ones(tmp_path):
    with pytest.raises(UserError, match="unknown dataset 'wine'; known: abalone, air"):
        prepare(['wine'], tmp_path)


@pytest.mark.parametrize('name', SOURCES)
def test_expected_shapes_are_those_of_the_cleaned_sets(name):
    path = data_root('uci') / f'{name}.csv'
    if not path.exists():
        pytest.skip(f'{path} is not there')
    names, values = read_csv(path)
    assert values.shape == (SOURCES[name].rows, SOURCES[name].columns)
