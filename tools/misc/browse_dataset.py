"""Draw samples as the model is given them, with the ellipses of their covariance.

python tools/misc/browse_dataset.py CONFIG --out work_dirs/browse --num 16
python tools/misc/browse_dataset.py CONFIG --out DIR --split val --covariance true
"""

import argparse


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        metavar='KEY=VALUE',
        help='override the config',
    )
    return parser.parse_args()


def main(args: argparse.Namespace) -> None:
    from hetpose.apis.data.browse import browse
    from hetpose.engine import launch

    config = launch.load_config(args.config, args.cfg_options)
    paths = browse(config, args.out, args.num, args.split, args.covariance, args.coverage)
    print(f'{len(paths)} pictures in {args.out}')


if __name__ == '__main__':
    arguments = parse_args()  # before the heavy imports, so that --help is quick
    from hetpose import cli

    cli.run(lambda: main(arguments))
