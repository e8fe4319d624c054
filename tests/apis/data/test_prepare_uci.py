"""Archives are downloaded, checked and written whole or not at all."""

import dataclasses
import json
import zipfile

import pytest

from hetpose.apis.data import prepare_uci
from hetpose.apis.data.prepare_uci import SOURCES, Members, prepare_uci_sets
from hetpose.datasets.regression.uci import read_csv
from hetpose.download import checksum
from hetpose.errors import UserError
from hetpose.paths import data_root

WINE = '"fixed acidity";"pH";"quality"\n7.4;3.51;5\n7.8;3.2;5\n'


def pack(path, files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, 'w') as bundle:
        for name, content in files.items():
            bundle.writestr(name, content)
    return path


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """A stand-in for the archive: a folder that file:// addresses point to, with one small set."""
    address = 'remote/wine.zip'
    package = pack(tmp_path / address, {'winequality-red.csv': WINE})
    monkeypatch.setattr(prepare_uci, 'ARCHIVE_URL', tmp_path.as_uri())
    source = dataclasses.replace(
        SOURCES['red_wine'], address=address, sha256=checksum(package), rows=2, columns=3
    )
    monkeypatch.setitem(SOURCES, 'red_wine', source)
    return package


def test_download_clean_and_resume(tmp_path, archive):
    root = tmp_path / 'uci'
    assert prepare_uci_sets(['red_wine'], root) == {'red_wine': 'written'}
    names, values = read_csv(root / 'red_wine.csv')
    assert names == ['fixed_acidity', 'ph', 'quality']
    assert values.tolist() == [[7.4, 3.51, 5], [7.8, 3.2, 5]]
    assert prepare_uci_sets(['red_wine'], root) == {'red_wine': 'present'}
    archive.unlink()  # the kept download is enough to write the table again
    assert prepare_uci_sets(['red_wine'], root, force=True) == {'red_wine': 'written'}


def test_wrong_checksum_leaves_nothing(tmp_path, archive, monkeypatch):
    changed = dataclasses.replace(SOURCES['red_wine'], sha256='0' * 64)
    monkeypatch.setitem(SOURCES, 'red_wine', changed)
    outcome = prepare_uci_sets(['red_wine'], tmp_path / 'uci')['red_wine']
    assert outcome.startswith('failed')
    assert 'SHA-256' in outcome
    assert [p for p in (tmp_path / 'uci').rglob('*') if p.is_file()] == []


def test_unknown_checksum_is_trusted_once(tmp_path, archive, monkeypatch):
    open_source = dataclasses.replace(SOURCES['red_wine'], sha256=None)
    monkeypatch.setitem(SOURCES, 'red_wine', open_source)
    root = tmp_path / 'uci'
    prepare_uci_sets(['red_wine'], root)
    recorded = json.loads((root / 'archive' / 'checksums.json').read_text())
    assert list(recorded.values()) == [checksum(archive)]
    (root / 'archive' / open_source.file_name).unlink()
    pack(archive, {'winequality-red.csv': WINE + '1;2;3\n'})
    assert 'SHA-256' in prepare_uci_sets(['red_wine'], root, force=True)['red_wine']
    assert len(read_csv(root / 'red_wine.csv')[1]) == 2


def test_half_a_download_is_fetched_again(tmp_path, archive):
    root = tmp_path / 'uci'
    half = root / 'archive' / SOURCES['red_wine'].file_name
    half.parent.mkdir(parents=True)
    half.write_bytes(archive.read_bytes()[:50])
    assert prepare_uci_sets(['red_wine'], root) == {'red_wine': 'written'}


def test_a_torn_file_put_there_by_hand_is_named_and_not_remembered(tmp_path, archive, monkeypatch):
    open_source = dataclasses.replace(SOURCES['red_wine'], sha256=None)
    monkeypatch.setitem(SOURCES, 'red_wine', open_source)
    monkeypatch.setitem(SOURCES, 'white_wine', open_source)
    root = tmp_path / 'uci'
    package = root / 'archive' / open_source.file_name
    package.parent.mkdir(parents=True)
    package.write_bytes(archive.read_bytes()[:50])
    outcomes = prepare_uci_sets(['red_wine', 'white_wine'], root)
    assert all('cannot be unpacked' in outcome for outcome in outcomes.values())
    assert not (package.parent / 'checksums.json').exists()
    package.write_bytes(archive.read_bytes())
    assert prepare_uci_sets(['red_wine'], root) == {'red_wine': 'written'}


def test_what_cannot_be_cleaned_does_not_stop_the_others(tmp_path, archive, monkeypatch):
    def changed(read):
        raise KeyError('strange')

    strange = dataclasses.replace(SOURCES['red_wine'], clean=changed)
    monkeypatch.setitem(SOURCES, 'white_wine', strange)
    outcomes = prepare_uci_sets(['white_wine', 'red_wine'], tmp_path / 'uci')
    assert "KeyError: 'strange'" in outcomes['white_wine']
    assert outcomes['red_wine'] == 'written'


def test_changed_shape_is_refused(tmp_path, archive, monkeypatch):
    monkeypatch.setitem(SOURCES, 'red_wine', dataclasses.replace(SOURCES['red_wine'], rows=3))
    outcomes = prepare_uci_sets(['red_wine'], tmp_path / 'u')
    assert 'cleaned to 2 x 3, expected 3 x 3' in outcomes['red_wine']


def test_unreachable_archive_says_what_to_do(tmp_path, archive):
    archive.unlink()
    assert 'fetch it by hand' in prepare_uci_sets(['red_wine'], tmp_path / 'uci')['red_wine']


def test_rar_without_a_program(tmp_path, monkeypatch):
    monkeypatch.setattr(prepare_uci.shutil, 'which', lambda program: None)
    package = pack(tmp_path / 'a.zip', {'inner.rar': b'Rar!'})
    with pytest.raises(UserError, match='install one of bsdtar'), Members(package):
        pass


def test_unknown_set_lists_the_known_ones(tmp_path):
    with pytest.raises(UserError, match="unknown dataset 'wine'; known: abalone, air"):
        prepare_uci_sets(['wine'], tmp_path)


@pytest.mark.parametrize('name', SOURCES)
def test_expected_shapes_are_those_of_the_cleaned_sets(name):
    path = data_root('uci') / f'{name}.csv'
    if not path.exists():
        pytest.skip(f'{path} is not there')
    names, values = read_csv(path)
    assert values.shape == (SOURCES[name].rows, SOURCES[name].columns)
