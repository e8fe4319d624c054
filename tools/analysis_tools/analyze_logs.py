"""Draw curves from training logs.

python tools/analysis_tools/analyze_logs.py work_dirs/a work_dirs/b --keys loss pose/nll
"""

import argparse


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('logs', nargs='+', help='work directories or scalars.json files')
    parser.add_argument(
        '--keys', nargs='+', default=['loss'], help='scalars to draw (default: loss)'
    )
    parser.add_argument('--out', default='curves.png', help='picture (default: curves.png)')
    return parser.parse_args()


def main(args: argparse.Namespace) -> None:
    from hetpose.apis.logs import plot_curves

    plot_curves(args.logs, args.keys, args.out)
    print(args.out)


if __name__ == '__main__':
    arguments = parse_args()
    from hetpose import cli

    cli.run(lambda: main(arguments))
