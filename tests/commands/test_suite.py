"""The command line of the suites: what is wrong with the input, in one line."""

import subprocess
import sys


def run(root, *arguments):
    return subprocess.run(
        [sys.executable, root / 'tools' / 'run_suite.py', *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_bad_input_is_one_line(root):
    result = run(root, 'uci', '--datasets', 'wine')
    assert result.returncode == 2
    assert "error: unknown uci dataset 'wine'; known: abalone" in result.stderr
    assert 'Traceback' not in result.stderr


def test_dims_belong_to_the_multivariate_suite(root):
    result = run(root, 'uci', '--dims', '4')
    assert result.returncode == 2
    assert '--dims chooses the datasets of the multivariate suite' in result.stderr


def test_a_data_root_belongs_to_the_uci_suite(root):
    result = run(root, 'bivariate', '--data-root', 'somewhere')
    assert result.returncode == 2
    assert '--data-root and --csv belong to the uci suite' in result.stderr


def test_a_report_needs_a_known_suite(root, tmp_path):
    result = run(root, 'uzi', '--report', str(tmp_path))
    assert result.returncode == 2
    assert "error: unknown suite 'uzi'" in result.stderr
