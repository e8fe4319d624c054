"""Evaluate a checkpoint with the test data and metrics of its config.

examples:
  hetpose test CONFIG CHECKPOINT --out metrics.json
  hetpose test human
  bash tools/dist_test.sh CONFIG CHECKPOINT 2
"""

import argparse

from hetpose import apis
from hetpose.commands import arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', help='config file, or a model by name: human')
    parser.add_argument(
        'checkpoint',
        nargs='?',
        help='checkpoint file; every weight of the model must be in it; a named model has one',
    )
    parser.add_argument('--work-dir', help='where logs go (default: work_dirs/<config name>)')
    parser.add_argument('--out', metavar='FILE', help='write the metrics as JSON')
    parser.add_argument(
        '--dump', metavar='FILE.pkl', help='write the predictions for offline evaluation'
    )
    arguments.add_show_dir(parser)
    arguments.add_cfg_options(parser)
    arguments.add_launcher(parser)


def run(args: argparse.Namespace) -> None:
    apis.evaluate(
        args.config,
        args.checkpoint,
        work_dir=args.work_dir,
        out=args.out,
        dump=args.dump,
        show_dir=args.show_dir,
        interval=args.interval,
        options=args.cfg_options,
        launcher=args.launcher,
    )
