"""Turn any top-down config of mmpose into one that predicts covariances.

examples:
  hetpose add-covariance CONFIG --out my_config.py
  hetpose add-covariance rtmpose-m_8xb256-420e_coco-256x192.py --out my_config.py

CONFIG is a config file, or the file name of one that mmpose brings along. The new config has our
head and codec in place of the old ones, in every pipeline; channels, sizes, joints and UDP come
from CONFIG. Data, backbone, schedule and metrics stay as they are; metrics of the covariance are
added. Load the old weights with --cfg-options load_from=CHECKPOINT: those of the backbone, and of
a heatmap head its layers, fit.
"""

import argparse

from hetpose import apis, fileio
from hetpose.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', help='config file, or the name of one of mmpose')
    parser.add_argument('--out', required=True, metavar='FILE', help='the config file to write')
    parser.add_argument(
        '--covariance',
        default='AnchoredCovariance',
        metavar='TYPE',
        help='parameterisation, see docs/objectives.md (default: AnchoredCovariance)',
    )
    parser.add_argument(
        '--objective',
        metavar='TYPE',
        help='objective (default: AnchoredNLLObjective for an anchored covariance, '
        'StudentNLLObjective for StudentCovariance, else FaithfulObjective)',
    )


def run(args: argparse.Namespace) -> None:
    if not args.out.endswith('.py'):
        raise UserError('--out: a config file ends in .py')
    text = apis.converted_text(args.config, covariance=args.covariance, objective=args.objective)
    fileio.write_text(args.out, text)
    print(f'wrote {args.out}: train with hetpose train {args.out}')
