"""Stored numbers are those of this code: a short unit of every method gives what it gave.

Where a change of code changes these numbers on purpose, raise RESULTS_VERSION, so that stored
units run again, and write the file again:
PYTHONPATH=tests python tests/apis/suites/test_version.py

The gradient of a bias before a batch norm is 0 but for rounding, which Adam makes as large as any
other. Its ε is larger here than in the suites, so that processors that round otherwise agree.
"""

import json
from pathlib import Path

import pytest
from helpers_suite import write_table

from hetpose.apis.suites.execute import run_unit
from hetpose.apis.suites.plan import RESULTS_VERSION, SUITES, Given, Settings, Unit
from hetpose.paths import find_config

STORED = Path(__file__).with_name('version.json')
SETTINGS = Settings('uci', 'heldout', 2)
TOLERANCE = 2e-3  # other processors and versions of torch round otherwise
EPSILON = 1e-3


def numbers(method: str, folder: Path) -> dict[str, float]:
    table, config = write_table(folder / 'table.csv'), folder / f'{method}.py'
    base = str(find_config(f'uci/{method}'))
    config.write_text(
        f'_base_ = [{base!r}]\noptim_wrapper = dict(optimizer=dict(eps={EPSILON}))\n'
    )
    given = Given(tables=(str(table),), methods=(str(config),))
    return run_unit(Unit('table', method, 0), SETTINGS, '', folder, given).metrics


@pytest.mark.parametrize('method', SUITES['uci'].methods)
def test_a_short_unit_gives_the_numbers_of_this_version(method, tmp_path) -> None:
    stored = json.loads(STORED.read_text())
    assert stored['version'] == RESULTS_VERSION, 'write version.json again'
    assert numbers(method, tmp_path) == pytest.approx(
        stored['metrics'][method], rel=TOLERANCE, abs=TOLERANCE
    ), 'the numbers of units have changed: raise RESULTS_VERSION'


if __name__ == '__main__':
    import tempfile

    metrics = {}
    for name in SUITES['uci'].methods:
        with tempfile.TemporaryDirectory() as folder:
            metrics[name] = numbers(name, Path(folder))
    content = {'version': RESULTS_VERSION, 'metrics': metrics}
    STORED.write_text(json.dumps(content, indent=1) + '\n')
