"""Run a config's frozen backbone over its training data once, and keep the feature maps.

With a frozen backbone nearly all of a training step's time goes into maps that never change. This
writes them for a fixed number of augmented views, which FeatureViewDataset then reads. Views that
are there already are kept, so a run that was stopped goes on at the view it was at.

examples:
  hetpose feature-views CONFIG --out data/features/lspet --views 4
  hetpose feature-views CONFIG --out data/features/lspet-validation --part val
"""

import argparse

from hetpose import apis
from hetpose.commands import arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', help='pose config with a MoveNet backbone')
    parser.add_argument('--out', required=True, metavar='FOLDER', help='where the views are')
    parser.add_argument(
        '--views', type=int, default=1, help='the plain crop and so many less one (default: 1)'
    )
    parser.add_argument(
        '--only', type=int, metavar='VIEW', help='write this view alone, to share the work'
    )
    parser.add_argument(
        '--part',
        choices=('train', 'val', 'test'),
        default='train',
        help='of val and test, the plain crops and their mirror images (default: train)',
    )
    arguments.add_cfg_options(parser)


def run(args: argparse.Namespace) -> None:
    config = apis.load_config(args.config, args.cfg_options)
    views = range(args.views) if args.only is None else [args.only]
    apis.write_views(config, args.out, views, args.part)
