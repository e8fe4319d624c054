"""Run a config's frozen backbone over its training data once, and keep the feature maps.

With a frozen backbone nearly all of a training step's time goes into maps that never change. This
writes them for a fixed number of augmented views, which FeatureViewDataset then reads. Views that
are there already are kept, so a run that was stopped goes on at the view it was at.

python tools/feature_views.py CONFIG --out data/features/lspet --views 4
python tools/feature_views.py CONFIG --out data/features/lspet-heldout --heldout
"""

import argparse


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('config', help='pose config with a MoveNet backbone')
    parser.add_argument('--out', required=True, metavar='FOLDER', help='where the views are')
    parser.add_argument(
        '--views', type=int, default=4, help='the plain crop and so many less one (default: 4)'
    )
    parser.add_argument(
        '--only', type=int, metavar='VIEW', help='write this view alone, to share the work'
    )
    parser.add_argument(
        '--heldout', action='store_true', help='the validation data and its mirror images instead'
    )
    parser.add_argument(
        '--cfg-options', nargs='+', metavar='KEY=VALUE', help='override the config'
    )
    return parser.parse_args()


def main(args: argparse.Namespace) -> None:
    from hetpose.apis.data.feature_views import write_views
    from hetpose.engine import launch

    config = launch.load_config(args.config, args.cfg_options)
    views = range(args.views) if args.only is None else [args.only]
    write_views(config, args.out, views, args.heldout)


if __name__ == '__main__':
    arguments = parse_args()  # before the heavy imports, so that --help is quick
    from hetpose import cli

    cli.run(lambda: main(arguments))
