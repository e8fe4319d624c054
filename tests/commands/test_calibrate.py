import json
import runpy
import sys

import numpy as np
import pytest

from hetpose import apis


@pytest.fixture
def run(root, monkeypatch, capsys):
    """The tool in this process: (exit code, stdout, stderr)."""

    def call(*arguments):
        path = str(root / 'tools' / 'calibrate.py')
        monkeypatch.setattr(sys, 'argv', [path, *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            runpy.run_path(path, run_name='__main__')
        return stop.value.code, *capsys.readouterr()

    return call


def test_arrays_to_report_and_a_bad_file_keeps_it(run, tmp_path):
    rng = np.random.default_rng(0)
    target = rng.normal(size=(400, 2, 2))
    np.savez(tmp_path / 'a.npz', mean=0 * target, cov=np.full((400, 2, 2), 4.0), target=target)
    out = tmp_path / 'out'
    code, text, _ = run(
        '--arrays', tmp_path / 'a.npz', '--out', out, '--units', 'mm', '--per-joint'
    )
    assert code == 0
    assert 'mm²' in text
    before = (out / 'calibration.json').read_bytes()
    assert np.allclose(json.loads(before)['alpha'], 0.25, rtol=0.2)

    (tmp_path / 'bad.npz').write_text('nonsense')
    code, _, error = run('--arrays', tmp_path / 'bad.npz', '--out', out)
    assert code == 2
    assert error.startswith('error: cannot read arrays')
    assert len(error.strip().splitlines()) == 1
    assert (out / 'calibration.json').read_bytes() == before


def test_it_says_what_is_missing(run):
    code, _, error = run('config.py')
    assert code == 2
    assert 'give the checkpoint of config.py' in error
    code, _, error = run('nowhere.py', 'x.pth')
    assert code == 2
    assert error.startswith('error: config not found')


@pytest.mark.parametrize(
    'option',
    [('--split', 'val'), ('--device', 'cpu'), ('--limit', 3), ('--cfg-options', 'a=1')],
    ids=lambda option: option[0],
)
def test_what_does_not_apply_to_arrays_is_refused(run, option):
    code, _, error = run('--arrays', 'a.npz', *option)
    assert code == 2
    assert f'{option[0]} does not apply to --arrays' in error


def test_units_do_not_apply_to_a_model(run):
    code, _, error = run('config.py', 'x.pth', '--units', 'mm')
    assert code == 2
    assert '--units does not apply to a model' in error


def test_one_split_for_both_is_told_and_halved(run, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    target = rng.normal(size=(400, 2, 2))
    np.savez(tmp_path / 'a.npz', mean=0 * target, cov=np.full((400, 2, 2), 4.0), target=target)
    found = apis.read_arrays(tmp_path / 'a.npz')
    monkeypatch.setattr(apis, 'predict_splits', lambda *_: {'test': found})
    words = ('config.py', 'x.pth', '--fit-split', 'test', '--split', 'test')
    code, text, _ = run(*words, '--out', tmp_path / 'out')
    assert code == 0
    assert '--fit-split and --split are both test: a random 50% of its images' in text
