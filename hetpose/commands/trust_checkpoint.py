"""Keep the weights of an old checkpoint that hetpose refuses to read, if you trust its source.

A checkpoint is a pickle, and a pickle is a program. hetpose reads weights, numbers and text from
it and refuses all else, so a file with other objects inside (an old release, a whole pickled
model) stops with "carries code". This command runs that program once, and writes a file with the
weights alone, which every tool reads. Never use it on a file from a source that you do not trust.

examples:
  hetpose trust-checkpoint OLD.pth --out NEW.pth --i-trust-this-file
"""

import argparse

from hetpose import apis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('checkpoint', help='the old checkpoint file')
    parser.add_argument('--out', required=True, metavar='FILE', help='the checkpoint to write')
    parser.add_argument(
        '--i-trust-this-file',
        action='store_true',
        required=True,
        help='needed: reading the file runs the code that it carries',
    )


def run(args: argparse.Namespace) -> None:
    count = apis.keep_weights(args.checkpoint, args.out)
    print(f'{args.out}: {count} weights, and no code')
