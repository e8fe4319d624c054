"""Draw samples as the model is given them, with the ellipses of their covariance.

examples:
  hetpose browse CONFIG --out work_dirs/browse --num 16
  hetpose browse CONFIG --out DIR --split val --covariance true
"""

import argparse

from hetpose import apis
from hetpose.commands import arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', help='pose config')
    parser.add_argument('--out', required=True, metavar='DIR', help='where the PNG files go')
    parser.add_argument('--num', type=int, default=16, help='how many samples (default: 16)')
    parser.add_argument('--split', choices=['train', 'val', 'test'], default='train')
    parser.add_argument(
        '--covariance',
        choices=['pseudo', 'true'],
        help='which ellipses (default: pseudo-labels if there are any, else the true ones)',
    )
    parser.add_argument('--coverage', type=float, default=0.9, help='of an ellipse (default: 0.9)')
    arguments.add_cfg_options(parser)


def run(args: argparse.Namespace) -> None:
    config = apis.load_config(args.config, args.cfg_options)
    paths = apis.browse(config, args.out, args.num, args.split, args.covariance, args.coverage)
    print(f'{len(paths)} pictures in {args.out}')
