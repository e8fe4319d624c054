"""Run a regression suite: train every method on every dataset, and report.

Every (dataset, method, trial) is a unit. Its result is stored as soon as it is there, so the same
command continues after an interruption. The end is a Markdown table, a JSON file and plots.

examples:
  hetpose suite bivariate
  hetpose suite univariate --epochs 20
  hetpose suite multivariate --dims 4 8 --trials 1 --epochs 20 --alone
  hetpose suite uci --datasets red_wine concrete --methods nll anchored --jobs 2
  hetpose suite uci --protocol paper --methods w2_bound
  hetpose suite uci --datasets concrete --methods nll my_method.py
  hetpose suite uci --csv measurements.csv --targets pressure flow
  hetpose suite uci --csv measurements.csv --methods anchored anchored_student anchored-no_prior
  hetpose suite uci --report work_dirs/suites/uci

The heldout protocol (default) trains on 80% of the data, chooses weights on 10% and measures on
the last 10%; it always includes the homoscedastic baseline. The paper protocol trains and measures
on the same data, as the published numbers were. Results of other settings are kept apart.

A method with one thing changed has a name of its own, such as anchored-no_prior, and runs only
where it is named. The recommended method of a report is the best, on the middle part of the data,
of anchored, anchored_student and what was run of their changes.
"""

import argparse
import os
from pathlib import Path

from hetpose import apis
from hetpose.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('suite', help='bivariate, univariate, multivariate or uci')
    parser.add_argument(
        '--methods',
        nargs='+',
        metavar='METHOD',
        help='names, or config files of your own (default: all)',
    )
    parser.add_argument('--datasets', nargs='+', metavar='DATASET', help='default: all')
    parser.add_argument(
        '--dims', nargs='+', type=int, metavar='D', help='dimensions (multivariate only)'
    )
    parser.add_argument('--trials', type=int, metavar='N', help='seeds of data, weights, batches')
    parser.add_argument('--epochs', type=int, metavar='N', help='training epochs of each network')
    parser.add_argument('--protocol', help='heldout or paper (default: heldout; bivariate: paper)')
    parser.add_argument(
        '--warm-up', action='store_true', help='train the mean alone for half the epochs first'
    )
    parser.add_argument(
        '--jobs',
        type=int,
        metavar='N',
        help='units at a time, one thread each (default: all cores)',
    )
    parser.add_argument(
        '--alone',
        action='store_true',
        help='train no units together: slower, but the cost of a step is measured',
    )
    parser.add_argument(
        '--out', type=Path, metavar='DIR', help='results (default: work_dirs/suites/SUITE)'
    )
    parser.add_argument(
        '--data-root', metavar='DIR', help='UCI CSV files (default: $HETPOSE_DATA/uci or data/uci)'
    )
    parser.add_argument(
        '--csv',
        nargs='+',
        metavar='FILE',
        help='your own numeric tables with a header row (uci), besides --datasets',
    )
    parser.add_argument(
        '--targets',
        nargs='+',
        metavar='COLUMN',
        help='columns of --csv to predict from all others (default: a random three quarters)',
    )
    parser.add_argument(
        '--report', type=Path, metavar='DIR', help='only rebuild the report of an earlier --out'
    )


def run(args: argparse.Namespace) -> None:
    if args.dims and (args.suite != 'multivariate' or args.datasets):
        raise UserError('--dims chooses the datasets of the multivariate suite')
    if args.suite != 'uci' and (args.data_root is not None or args.csv):
        raise UserError('--data-root and --csv belong to the uci suite; others make their data')
    if args.targets and not args.csv:
        raise UserError('--targets names columns of --csv')
    apis.find_suite(args.suite)
    if args.report is not None:
        reports = apis.rebuild_reports(args.report)
    else:
        name = '-'.join([args.suite, *(Path(path).stem for path in args.csv or ())])
        datasets = [f'd{dim}' for dim in args.dims] if args.dims else args.datasets
        own = tuple(name for name in args.methods or () if name.endswith('.py'))
        report = apis.run_suite(
            args.suite,
            args.out or Path('work_dirs') / 'suites' / name,
            methods=args.methods and [name for name in args.methods if name not in own],
            datasets=datasets,
            trials=args.trials,
            epochs=args.epochs,
            protocol=args.protocol,
            warm_up=args.warm_up,
            alone=args.alone,
            jobs=os.cpu_count() or 1 if args.jobs is None else args.jobs,
            given=apis.Given(
                args.data_root, tuple(args.csv or ()), tuple(args.targets or ()), own
            ),
        )
        reports = [report]
    for folder, text in reports:
        print(f'\n{text}\nreport: {folder / "report.md"}')
