"""Compare what is installed with what was tested, and tell how to put each difference right.

The exit code is 1 if something that hetpose needs is missing or broken.

examples:
  hetpose doctor
"""

import argparse

from hetpose import apis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the command has no arguments."""


def run(args: argparse.Namespace) -> int:
    findings = apis.diagnose()
    for finding in findings:
        print(finding)
    broken = sum(finding.broken for finding in findings)
    print(f'{broken} problem(s)' if broken else 'all that hetpose needs is here')
    return int(broken > 0)
