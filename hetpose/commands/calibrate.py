"""Measure and correct the calibration of predicted covariances.

Part of the data is for the fit of the recalibration (covariance -> alpha * covariance + beta * I);
the rest is judged, before and after. DIR receives report.md, report.json, before.png, after.png
and calibration.json, which hetpose infer takes as --calibration.

examples:
  hetpose calibrate CONFIG CHECKPOINT --out calibration
  hetpose calibrate CONFIG CHECKPOINT --fit-split val --split test --per-joint
  hetpose calibrate CONFIG CHECKPOINT --conformal 0.9
  hetpose calibrate human --split test
  hetpose calibrate --arrays predictions.npz --units mm
      (any model: mean and target (N, d) or (N, K, 2), cov (N, d, d), optionally mask, names, and
      degrees_of_freedom, one or (N,), which make it a Student-t with covariance cov)
"""

import argparse

from hetpose import apis
from hetpose.commands import arguments
from hetpose.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', nargs='?', help='config file, or a model by name: human')
    parser.add_argument('checkpoint', nargs='?', help='its checkpoint file; a named model has one')
    parser.add_argument('--arrays', metavar='FILE.npz', help='predictions instead of a model')
    parser.add_argument('--out', default='calibration', metavar='DIR', help='default: calibration')
    parser.add_argument(
        '--split',
        choices=['train', 'val', 'test'],
        help='data to judge (default: val)',
    )
    parser.add_argument(
        '--fit-split',
        choices=['train', 'val', 'test'],
        help='fit on this split and judge all of --split; the training split fits too small a '
        'covariance, because a model errs less there',
    )
    parser.add_argument(
        '--fit-fraction',
        type=float,
        default=0.5,
        metavar='F',
        help='without --fit-split, or where it is --split: random share of its images for the '
        'fit (default: 0.5)',
    )
    parser.add_argument(
        '--per-joint', action='store_true', help='an alpha and beta for every joint'
    )
    parser.add_argument('--no-floor', action='store_true', help='keep beta at 0')
    parser.add_argument(
        '--conformal',
        type=float,
        metavar='LEVEL',
        help='also fit ellipsoids that cover with at least this probability, on half of the '
        'samples of the fit',
    )
    parser.add_argument(
        '--ellipses',
        type=float,
        metavar='LEVEL',
        help='alpha such that the ellipses of this level of the single joints hold as many of '
        'them, instead of the alpha and beta of highest likelihood',
    )
    parser.add_argument('--limit', type=int, metavar='N', help='at most N samples of a split')
    parser.add_argument(
        '--seed', type=int, default=0, help='seed of the random splits (default: 0)'
    )
    parser.add_argument('--device', help='cpu (default), cuda, cuda:1, ...')
    parser.add_argument('--units', help='with --arrays: the unit of length')
    arguments.add_cfg_options(parser)


def check(args: argparse.Namespace) -> None:
    """Refuse arguments that do not belong together."""
    if args.arrays is None and args.config is None:
        raise UserError('give CONFIG and CHECKPOINT, a model such as human, or --arrays FILE.npz')
    if args.arrays is not None and (args.config is not None or args.fit_split is not None):
        raise UserError('--arrays takes no CONFIG and no --fit-split')
    of_models = ('split', 'limit', 'device', 'cfg_options')
    unused = ('units',) if args.arrays is None else of_models
    for name in unused:
        if getattr(args, name) is not None:
            what = 'a model' if args.arrays is None else '--arrays'
            raise UserError(f'--{name.replace("_", "-")} does not apply to {what}')
    if args.limit is not None and args.limit < 1:
        raise UserError('--limit must be at least 1')


def run(args: argparse.Namespace) -> None:
    check(args)
    fit = None
    try:
        if args.arrays is not None:
            predictions = apis.read_arrays(args.arrays, units=args.units or '')
        else:
            split = args.split or 'val'
            chosen = {split, args.fit_split or split}
            found = apis.predict_splits(
                args.config,
                args.checkpoint,
                sorted(chosen),
                args.device or 'cpu',
                args.limit,
                args.cfg_options,
                args.out,
            )
            predictions = found[split]
            fit = found[args.fit_split] if len(chosen) == 2 else None
            if args.fit_split == split:
                print(
                    f'--fit-split and --split are both {split}: a random '
                    f'{args.fit_fraction:.0%} of its images is for the fit, the rest is judged'
                )
        report = apis.calibrate(
            predictions,
            fit,
            fit_fraction=args.fit_fraction,
            per_joint=args.per_joint,
            floor=not args.no_floor,
            conformal=args.conformal,
            level=args.ellipses,
            seed=args.seed,
        )
    except ValueError as error:
        raise UserError(str(error)) from error
    written = report.write(args.out)
    print(report.markdown())
    print('wrote', ', '.join(str(path) for path in written))
