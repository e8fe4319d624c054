"""Train a model from a config.

examples:
  hetpose train configs/uci/anchored.py
  hetpose train CONFIG --resume --cfg-options train_cfg.max_epochs=50
  bash tools/dist_train.sh CONFIG 2
"""

import argparse

from hetpose import apis
from hetpose.commands import arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', help='config file')
    parser.add_argument(
        '--work-dir', help='where logs and checkpoints go (default: work_dirs/<config name>)'
    )
    parser.add_argument(
        '--resume',
        nargs='?',
        const='auto',
        metavar='CKPT',
        help='continue from CKPT, or from the newest checkpoint in the work directory',
    )
    parser.add_argument(
        '--amp',
        action='store_true',
        help='mixed precision (GPU only; covariances stay in float32)',
    )
    parser.add_argument(
        '--no-validate', action='store_true', help='do not evaluate during training'
    )
    parser.add_argument(
        '--auto-scale-lr',
        action='store_true',
        help='scale the learning rate by the actual over the configured batch size',
    )
    arguments.add_show_dir(parser)
    arguments.add_cfg_options(
        parser, 'e.g. train_cfg.max_epochs=5 (in a suite: epochs=5); an unknown key is an error'
    )
    arguments.add_launcher(parser)


def run(args: argparse.Namespace) -> None:
    apis.train(
        args.config,
        work_dir=args.work_dir,
        resume=args.resume,
        amp=args.amp,
        validate=not args.no_validate,
        auto_scale_lr=args.auto_scale_lr,
        show_dir=args.show_dir,
        interval=args.interval,
        options=args.cfg_options,
        launcher=args.launcher,
    )
