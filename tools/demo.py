"""Learn correlated keypoint uncertainty on rendered figures, from nothing, in minutes.

Pseudo-labels, training with the Wasserstein bound, the switch to the likelihood with a
Taylor-induced covariance, a test against the known label noise, a gallery of 90% ellipses. Needs
no download.

python tools/demo.py
python tools/demo.py --config configs/pose/td-hybrid_vit-96x4_1xb32-24e_synthetic-128x128.py \\
    --work-dir work_dirs/synthetic --resume
"""

import argparse
from pathlib import Path

DEMO = 'configs/pose/td-hybrid_vit-96x4_1xb32-8e_synthetic-128x128.py'


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    root = Path(__file__).resolve().parent.parent
    parser.add_argument(
        '--config', default=str(root / DEMO), help='a hybrid on SyntheticPose (default: the demo)'
    )
    parser.add_argument(
        '--work-dir', default='work_dirs/demo', help='where everything goes (default: %(default)s)'
    )
    parser.add_argument('--resume', action='store_true', help='take up an interrupted run')
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        metavar='KEY=VALUE',
        help='override the config, e.g. train_cfg.max_epochs=5',
    )
    return parser.parse_args()


def main(args: argparse.Namespace) -> None:
    from hetpose.apis.demo.hybrid import results_table, train_and_test
    from hetpose.engine import launch

    config = launch.load_config(args.config, args.cfg_options)
    config.log_level = 'WARNING'
    results = train_and_test(config, args.work_dir, args.resume)
    print(f'\nheld-out figures, in heatmap units ({results["seconds"]:.0f} s):\n')
    print(results_table(results))
    print(f'gallery: {Path(args.work_dir) / "gallery.png"}')


if __name__ == '__main__':
    arguments = parse_args()  # before the heavy imports, so that --help is quick
    from hetpose import cli

    cli.run(lambda: main(arguments))
