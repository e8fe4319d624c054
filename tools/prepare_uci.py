"""Download and clean the UCI sets of the regression suite."""

import argparse
from pathlib import Path

EPILOG = """examples:
  python tools/prepare_uci.py                          all twelve, into data/uci
  python tools/prepare_uci.py concrete energy          two of them
  python tools/prepare_uci.py --data-root /data/uci    somewhere else

A CSV that is there is kept, so running again after an interruption continues. Where the SHA-256 of
a set is known the download is checked against it; for the others (electrical, parkinson) the
checksum of the first download is kept in archive/checksums.json and later ones are held to it.
concrete and energy are Excel files: pip install "hetpose[data]". parkinson is a RAR archive inside
the zip file: it needs bsdtar, unar, 7z or unrar."""


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('datasets', nargs='*', metavar='DATASET', help='default: all twelve')
    parser.add_argument(
        '--data-root',
        type=Path,
        help='folder of the CSV files (default: $HETPOSE_DATA/uci, else data/uci)',
    )
    parser.add_argument('--force', action='store_true', help='write CSV files that exist again')
    return parser.parse_args()


def main(args: argparse.Namespace) -> int:
    from hetpose.apis.data.prepare_uci import SOURCES, prepare
    from hetpose.paths import data_root

    root = data_root('uci', args.data_root)
    outcomes = prepare(args.datasets or list(SOURCES), root, force=args.force)
    for name, outcome in outcomes.items():
        print(f'{name:<12} {outcome}')
    return int(any(outcome.startswith('failed') for outcome in outcomes.values()))


if __name__ == '__main__':
    arguments = parse_args()  # before the heavy imports, so that --help is quick
    from hetpose import cli

    cli.run(lambda: main(arguments))
