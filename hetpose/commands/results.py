"""Write one document of all stored units of the suites.

examples:
  hetpose results
  hetpose results docs/results --out docs/results.md --readme README.md

The folder holds one folder a suite, as hetpose suite SUITE --out FOLDER/SUITE fills it; its
findings.md opens the document. In the README the tables between result comments are written again.
"""

import argparse
from pathlib import Path

from hetpose import apis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'folder',
        nargs='?',
        type=Path,
        default=Path('docs/results'),
        help='(default: docs/results)',
    )
    parser.add_argument(
        '--out',
        type=Path,
        default=Path('docs/results.md'),
        help='document (default: docs/results.md)',
    )
    parser.add_argument('--readme', type=Path, help='file whose result tables are written again')


def run(args: argparse.Namespace) -> None:
    apis.write_results(args.folder, args.out, args.readme)
    print(args.out)
