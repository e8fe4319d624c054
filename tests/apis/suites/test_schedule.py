"""Units run in workers, are stored at once, and are not run twice."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import suite_workers

from hetpose.apis.suites.plan import Settings, Unit
from hetpose.apis.suites.schedule import pending_units, run_units
from hetpose.apis.suites.store import load_all, unit_path
from hetpose.errors import UserError

SETTINGS = Settings('uci', 'paper', 2)
DIGESTS = {('air', method): 'same' for method in ('mse', 'nll', 'w2', 'kl', 'faithful')}
TESTS = Path(suite_workers.__file__).parent


def run(folder, methods=('mse',), trials=1, jobs=1, settings=SETTINGS, digests=DIGESTS):
    units = [Unit('air', method, trial) for method in methods for trial in range(trials)]
    run_units(suite_workers.quick, units, settings, folder, digests, jobs=jobs)
    return units


def test_results_are_stored_and_quiet(tmp_path, capfd):
    run(tmp_path, ['mse', 'nll'], trials=2, jobs=2)
    results = load_all(tmp_path)
    assert [r.status for r in results] == ['done', 'done', 'diverged', 'diverged']
    assert results[0].metrics['threads'] == 1
    assert 'noise' not in ''.join(capfd.readouterr())
    logs = ''.join(p.read_text() for p in (tmp_path / 'logs').iterdir())
    assert logs.count('noise of a child') == 4


def test_stored_units_do_not_run_again(tmp_path, capsys):
    run(tmp_path, trials=2)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / 'units').rglob('*.json')}
    unit_path(tmp_path, Unit('air', 'mse', 1)).unlink()
    capsys.readouterr()
    run(tmp_path, trials=2)
    assert '1 of 2 units are stored already' in capsys.readouterr().out
    kept = unit_path(tmp_path, Unit('air', 'mse', 0))
    assert kept.stat().st_mtime_ns == before[kept]
    assert len(load_all(tmp_path)) == 2


def test_another_configuration_is_not_reused_silently(tmp_path):
    units = run(tmp_path)
    assert pending_units(units, SETTINGS, tmp_path, DIGESTS) == ([], [])
    pending, notices = pending_units(units, SETTINGS, tmp_path, {('air', 'mse'): 'changed'})
    assert pending == units
    assert 'another configuration' in notices[0]
    assert pending_units(units, Settings('uci', 'paper', 3), tmp_path, DIGESTS)[0] == units


def test_a_mistake_of_the_user_stops_with_its_message(tmp_path):
    with pytest.raises(UserError, match='no such file'):
        run(tmp_path, ['w2'])


def test_a_bug_names_the_unit_and_the_log(tmp_path):
    with pytest.raises(RuntimeError, match='air/kl/0 failed; see .*logs'):
        run(tmp_path, ['kl'])


@pytest.mark.skipif(not Path('/proc').is_dir(), reason='looks at /proc')
def test_a_killed_run_keeps_its_results_and_leaves_no_worker(tmp_path):
    script = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(TESTS)!r})
        from pathlib import Path
        import suite_workers
        from hetpose.apis.suites.plan import Settings, Unit
        from hetpose.apis.suites.schedule import run_units
        if __name__ == '__main__':
            units = [Unit('air', 'mse', 0), Unit('air', 'faithful', 0)]
            digests = {{('air', method): 'same' for method in ('mse', 'faithful')}}
            run_units(suite_workers.quick, units, Settings('uci', 'paper', 2),
                      Path({str(tmp_path)!r}), digests)
    """)
    file = tmp_path / 'script.py'
    file.write_text(script)
    process = subprocess.Popen([sys.executable, file], stderr=subprocess.DEVNULL)
    try:
        stored = unit_path(tmp_path, Unit('air', 'mse', 0))
        _wait_for(stored.exists)
        log = tmp_path / 'logs' / 'air-faithful-0.log'
        _wait_for(lambda: log.exists() and log.read_text().strip())
        worker = Path('/proc') / log.read_text().strip()
        assert worker.exists()
    finally:
        process.kill()
        process.wait()
    _wait_for(lambda: not worker.exists() or 'State:\tZ' in (worker / 'status').read_text())
    units = [Unit('air', 'mse', 0), Unit('air', 'faithful', 0)]
    assert pending_units(units, SETTINGS, tmp_path, DIGESTS)[0] == units[1:]


def _wait_for(condition, seconds=600):
    """Wait as long as a heavily loaded machine may need, far less than the slow unit sleeps."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, 'nothing happened'
        time.sleep(0.1)
