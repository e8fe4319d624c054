"""Train the covariance of a config's head while its mean stays as it is.

The frozen part runs once over the training and the validation data of the config, as it stands
there; the covariance network is then trained on what it reads, in about a minute. The validation
data choose the epoch.

examples:
  hetpose fit-branch CONFIG MEAN.pth --out work_dirs/human.pth
  hetpose fit-branch CONFIG MEAN.pth --out work_dirs/human-1.pth --seed 1 --epochs 30
"""

import argparse

from hetpose import apis
from hetpose.commands import arguments
from hetpose.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', help='pose config with a HeteroscedasticHead')
    parser.add_argument('checkpoint', help='the trained mean: weights of everything before')
    parser.add_argument('--out', required=True, metavar='FILE', help='the checkpoint to write')
    parser.add_argument('--epochs', type=int, default=20, help='at most (default: 20)')
    parser.add_argument('--seed', type=int, default=0, help='of the training (default: 0)')
    arguments.add_cfg_options(parser)


def run(args: argparse.Namespace) -> None:
    if args.epochs < 1:
        raise UserError('--epochs must be at least 1')
    settings = apis.TrainingSettings(epochs=args.epochs, seed=args.seed)
    best = apis.fit_branch(args.config, args.checkpoint, args.out, settings, args.cfg_options)
    print(f'wrote {args.out}; validation NLL {best:.2f} nats per person, without a flip test')
