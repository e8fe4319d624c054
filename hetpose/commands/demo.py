"""People in photographs with 90% ellipses, then a model that learns such ellipses from nothing.

First the model that comes with hetpose, on photographs in the public domain: pictures with the
correlation of the joints, and JSON. Then, on rendered figures, in minutes: pseudo-labels, training
with the Wasserstein bound, the switch to the likelihood with a
Taylor-induced covariance, a test against the known label noise, a gallery of 90% ellipses. Needs
no download.

examples:
  hetpose demo
  hetpose demo --photos-only
  hetpose demo --config configs/pose/td-hybrid_vit-96x4_1xb32-24e_synthetic-128x128.py \\
      --work-dir work_dirs/synthetic --resume
"""

import argparse
from pathlib import Path

from hetpose import apis
from hetpose.commands import arguments

DEMO = 'configs/pose/td-hybrid_vit-96x4_1xb32-8e_synthetic-128x128.py'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--config', default=DEMO, help='a hybrid on SyntheticPose (default: the demo)'
    )
    parser.add_argument(
        '--work-dir', default='work_dirs/demo', help='where everything goes (default: %(default)s)'
    )
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument('--photos-only', action='store_true', help='train nothing')
    parts.add_argument('--no-photos', action='store_true', help='leave the photographs out')
    parser.add_argument('--resume', action='store_true', help='take up an interrupted run')
    arguments.add_cfg_options(parser, 'e.g. train_cfg.max_epochs=5')


def draw_photographs(folder: Path) -> None:
    for picture, people, seconds in apis.draw_photographs(folder):
        found = 'one person' if people == 1 else f'{people} people'
        print(f'{picture}: {found} ({seconds:.0f} s)', flush=True)


def run(args: argparse.Namespace) -> None:
    if not args.no_photos:
        draw_photographs(Path(args.work_dir) / 'photos')
    if args.photos_only:
        return
    config = apis.load_config(args.config, args.cfg_options)
    config.log_level = 'WARNING'
    results = apis.run_demo(config, args.work_dir, args.resume)
    print(f'\nheld-out figures, in heatmap units ({results["seconds"]:.0f} s):\n')
    print(apis.results_table(results))
    print(f'gallery: {Path(args.work_dir) / "gallery.png"}')
