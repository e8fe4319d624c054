"""Draw curves from training logs.

examples:
  hetpose logs work_dirs/a work_dirs/b --keys loss pose/nll
"""

import argparse

from hetpose import apis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('logs', nargs='+', help='work directories or scalars.json files')
    parser.add_argument(
        '--keys', nargs='+', default=['loss'], help='scalars to draw (default: loss)'
    )
    parser.add_argument('--out', default='curves.png', help='picture (default: curves.png)')


def run(args: argparse.Namespace) -> None:
    apis.plot_curves(args.logs, args.keys, args.out)
    print(args.out)
