"""Give a published model a covariance of its errors, and leave the model as it is.

The frozen model predicts labelled people once; what it computed is kept in DIR/cache, so that an
interrupted run goes on where it was. On that cache a small network learns the covariance of the
errors over all joints. People are split by image: 70% fit, 10% validation, 20% test.

DIR receives config.py and checkpoint.pth, which train, test, infer, calibrate and export take,
report.md with plots, and calibration/calibration.json, which infer takes as --calibration.
Keypoints and scores stay those of the published model, bit for bit.

examples:
  hetpose fit-covariance CONFIG CHECKPOINT --out work_dirs/mine
      (the config's own val set)
  hetpose fit-covariance CONFIG CHECKPOINT --out work_dirs/mine --ann labels.json --images photos
      (labels in the format of the config's val set, with the same joints)
  torchrun --nproc_per_node 2 -m hetpose fit-covariance CONFIG CHECKPOINT --out DIR \\
      --launcher pytorch
"""

import argparse
from pathlib import Path

from hetpose import apis
from hetpose.commands import arguments
from hetpose.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', help='config file of a top-down model of mmpose')
    parser.add_argument('checkpoint', help='its checkpoint file')
    parser.add_argument('--out', required=True, type=Path, metavar='DIR', help='where results go')
    parser.add_argument('--ann', metavar='FILE', help='labels to fit on (default: the val set)')
    parser.add_argument(
        '--images', metavar='DIR', help='folder of their images (default: that of the labels)'
    )
    parser.add_argument(
        '--rank',
        type=int,
        help='low-rank covariance of this rank (default: a full factor up to 40 joints, then 8)',
    )
    parser.add_argument(
        '--tails',
        choices=['auto', 'gaussian', 'student'],
        default='auto',
        help='of the model that is written: student where few gross errors stand among many small '
        'ones; auto takes the better on the people of the validation. Both are reported',
    )
    parser.add_argument(
        '--lowest',
        type=float,
        default=2.1,
        metavar='NU',
        help='least degrees of freedom of a Student-t, from 2.001 on, below 5 (default: 2.1)',
    )
    parser.add_argument(
        '--floor',
        type=float,
        default=1e-4,
        help='smallest variance, in squared per cent of the crop (default: 1e-4)',
    )
    parser.add_argument('--epochs', type=int, default=30, help='of the fit, at most (default: 30)')
    parser.add_argument(
        '--batch-size',
        type=int,
        default=8,
        help='people whom the frozen model sees at once (default: 8; more on a GPU)',
    )
    parser.add_argument('--workers', type=int, default=0, help='processes that load images')
    parser.add_argument('--seed', type=int, default=0, help='of the split and the fit')
    parser.add_argument('--device', help='cpu, cuda, cuda:1, ...')
    arguments.add_cfg_options(parser)
    arguments.add_launcher(parser)


def check(args: argparse.Namespace) -> None:
    """Refuse arguments that do not belong together."""
    if args.images is not None and args.ann is None:
        raise UserError('--images belongs to --ann')
    for name in ('epochs', 'batch_size'):
        if getattr(args, name) < 1:
            raise UserError(f'--{name.replace("_", "-")} must be at least 1')


def run(args: argparse.Namespace) -> None:
    check(args)
    report = apis.fit_covariance(
        args.config,
        args.checkpoint,
        args.out,
        args.ann,
        args.images,
        settings=apis.FitSettings(
            rank=args.rank,
            tails=args.tails,
            lowest=args.lowest,
            floor=args.floor,
            batch_size=args.batch_size,
            workers=args.workers,
            training=apis.TrainingSettings(epochs=args.epochs, seed=args.seed),
        ),
        device=args.device,
        options=args.cfg_options,
        launcher=args.launcher,
    )
    if report is not None:
        print(report.table())
        print(report.kept_line)
        print(report.unchanged_line)
        if report.flattered:
            print(report.warning)
        print(f'wrote {args.out / "config.py"}, {args.out / "checkpoint.pth"} and report.md')
