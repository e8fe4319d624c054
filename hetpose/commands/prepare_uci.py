"""Download and clean the UCI sets of the regression suite.

examples:
  hetpose prepare-uci                          all twelve, into data/uci
  hetpose prepare-uci concrete energy          two of them
  hetpose prepare-uci --data-root /data/uci    somewhere else

A CSV that is there is kept, so running again after an interruption continues. Where the SHA-256 of
a set is known the download is checked against it; for the others (electrical, parkinson) the
checksum of the first download is kept in archive/checksums.json and later ones are held to it.
concrete and energy are Excel files: pip install "hetpose[data]". parkinson is a RAR archive inside
the zip file: it needs bsdtar, unar, 7z or unrar.
"""

import argparse
from pathlib import Path

from hetpose import apis
from hetpose.paths import data_root


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('datasets', nargs='*', metavar='DATASET', help='default: all twelve')
    parser.add_argument(
        '--data-root',
        type=Path,
        help='folder of the CSV files (default: $HETPOSE_DATA/uci, else data/uci)',
    )
    parser.add_argument('--force', action='store_true', help='write CSV files that exist again')


def run(args: argparse.Namespace) -> int:
    root = data_root('uci', args.data_root)
    outcomes = apis.prepare_uci_sets(args.datasets, root, force=args.force)
    for name, outcome in outcomes.items():
        print(f'{name:<12} {outcome}')
    return int(any(outcome.startswith('failed') for outcome in outcomes.values()))
