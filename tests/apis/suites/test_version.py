"""Stored numbers are those of this code: a short unit of every method gives what it gave.

Where a change of code changes these numbers on purpose, raise RESULTS_VERSION, so that stored
units run again, and write the file again:
PYTHONPATH=tests python tests/apis/suites/test_version.py
"""

import json
from pathlib import Path

import pytest
from helpers_suite import write_table

from hetpose.apis.suites.execute import run_unit
from hetpose.apis.suites.plan import RESULTS_VERSION, SUITES, Given, Settings, Unit

STORED = Path(__file__).with_name('version.json')
SETTINGS = Settings('uci', 'heldout', 2)
TOLERANCE = 2e-3  # other processors and versions of torch round otherwise


def numbers(method: str, folder: Path) -> dict[str, float]:
    table = write_table(folder / 'table.csv')
    unit = Unit('table', method, 0)
    return run_unit(unit, SETTINGS, '', folder, Given(tables=(str(table),))).metrics


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
