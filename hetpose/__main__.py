"""``python -m hetpose doctor``: what is installed against what was tested."""

from __future__ import annotations

import argparse

from hetpose import cli


def doctor() -> int:
    """Print the report; 1 if something is broken."""
    from hetpose.apis.doctor import report

    findings = report()
    for finding in findings:
        print(finding)
    broken = sum(finding.broken for finding in findings)
    print(f'{broken} problem(s)' if broken else 'all that hetpose needs is here')
    return int(broken > 0)


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m hetpose', description='hetpose helpers')
    commands = parser.add_subparsers(dest='command', required=True)
    commands.add_parser('doctor', help='check the installation; exit code 1 if it is broken')
    parser.parse_args()
    return doctor()


if __name__ == '__main__':
    cli.run(main)
