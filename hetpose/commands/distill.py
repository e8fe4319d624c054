"""Distil a trained Taylor-induced covariance into a plain one, for deployment.

A Taylor-induced covariance differentiates the network for every person, which makes prediction
several times slower. The distilled model reads its covariance from the bottleneck and the heatmaps
alone, by a small network that learns it from one pass over the training data. Keypoints stay those
of the trained model, bit for bit.

DIR receives config.py and checkpoint.pth, which test, infer, calibrate and export take, and
report.json with the likelihood of the test data before and after.

examples:
  hetpose distill CONFIG CHECKPOINT --out work_dirs/distilled
  hetpose distill CONFIG CHECKPOINT --out work_dirs/distilled --views 4 --label-weight 0
      (four augmented passes; imitate the trained covariance only)
"""

import argparse
from pathlib import Path

from hetpose import apis
from hetpose.commands import arguments
from hetpose.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', help='config file of the trained model')
    parser.add_argument('checkpoint', help='its checkpoint file')
    parser.add_argument('--out', required=True, type=Path, metavar='DIR', help='where results go')
    parser.add_argument(
        '--covariance',
        default='AnchoredCovariance',
        metavar='TYPE',
        help='parameterisation without Taylor terms (default: AnchoredCovariance)',
    )
    parser.add_argument(
        '--label-weight',
        type=float,
        default=0.5,
        help='factor of the likelihood of the labels, next to the trained covariance '
        '(default: 0.5)',
    )
    parser.add_argument(
        '--views', type=int, default=1, help='passes over the training data (default: 1)'
    )
    parser.add_argument('--epochs', type=int, default=30, help='of the fit, at most (default: 30)')
    parser.add_argument('--batch-size', type=int, default=32, help='people at once (default: 32)')
    parser.add_argument('--workers', type=int, default=0, help='processes that load images')
    parser.add_argument('--seed', type=int, default=0, help='of augmentation and fit')
    parser.add_argument('--device', help='cpu, cuda, cuda:1, ...')
    arguments.add_cfg_options(parser)


def run(args: argparse.Namespace) -> None:
    for name in ('epochs', 'batch_size', 'views'):
        if getattr(args, name) < 1:
            raise UserError(f'--{name.replace("_", "-")} must be at least 1')
    if not args.label_weight >= 0:
        raise UserError('--label-weight must not be negative')
    report = apis.distill(
        args.config,
        args.checkpoint,
        args.out,
        settings=apis.DistillSettings(
            covariance=args.covariance,
            label_weight=args.label_weight,
            views=args.views,
            batch_size=args.batch_size,
            workers=args.workers,
            training=apis.TrainingSettings(epochs=args.epochs, seed=args.seed),
        ),
        device=args.device,
        options=args.cfg_options,
    )
    print(report.table())
    print(f'wrote {args.out / "config.py"} and {args.out / "checkpoint.pth"}')
