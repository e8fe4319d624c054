"""The command line of the suites: what is wrong with the input, in one line."""

import subprocess
import sys

import pytest


def run(root, *arguments):
    return subprocess.run(
        [sys.executable, root / 'tools' / 'run_suite.py', *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['uci', '--datasets', 'wine'], "error: unknown uci dataset 'wine'; known: abalone"),
        (['uci', '--report', 'nowhere'], 'error: no stored units in nowhere'),
    ],
)
def test_bad_input_is_one_line(root, arguments, message):
    result = run(root, *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert 'Traceback' not in result.stderr


def test_dims_belong_to_the_multivariate_suite(root):
    result = run(root, 'uci', '--dims', '4')
    assert result.returncode == 2
    assert '--dims chooses the datasets of the multivariate suite' in result.stderr
