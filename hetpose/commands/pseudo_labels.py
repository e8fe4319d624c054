"""Make pseudo-labels: a covariance of the keypoints of every training sample.

Every sample becomes a vector (pooled backbone features with a checkpoint, a thumbnail of its crop
without), PCA reduces it, and the covariance of the keypoints among its nearest neighbours is its
pseudo-label. Give the file to the training data with train_dataloader.dataset.file.

examples:
  hetpose pseudo-labels CONFIG --out work_dirs/pseudo_labels.npz
  hetpose pseudo-labels CONFIG CHECKPOINT --out FILE --dimension 64 --local-linear
  torchrun --nproc_per_node 2 -m hetpose pseudo-labels CONFIG --out FILE --launcher pytorch
  hetpose train CONFIG --cfg-options train_dataloader.dataset.file=FILE
"""

import argparse

from hetpose import apis
from hetpose.commands import arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', help='pose config; its training data is labelled')
    parser.add_argument('checkpoint', nargs='?', help='weights of the config: use its features')
    parser.add_argument('--out', required=True, metavar='FILE', help='the .npz file to write')
    parser.add_argument('--dimension', type=int, help='of the PCA (default: recipe of the config)')
    parser.add_argument('--k', type=int, help='neighbours (default: 10 per keypoint coordinate)')
    parser.add_argument('--pixels', type=int, help='side of the thumbnail (default: 32)')
    parser.add_argument(
        '--squared-distance',
        action='store_true',
        default=None,
        help='weigh neighbours by the squared distance',
    )
    parser.add_argument(
        '--local-linear',
        action='store_true',
        default=None,
        help='take the covariance of the residuals of a local linear fit',
    )
    parser.add_argument('--batch-size', type=int, default=32, help='crops at once (default: 32)')
    parser.add_argument('--workers', type=int, default=0, help='loader processes (default: 0)')
    parser.add_argument('--no-progress', action='store_true', help='show no progress bar')
    arguments.add_cfg_options(parser)
    arguments.add_launcher(parser)


def run(args: argparse.Namespace) -> None:
    names = ('dimension', 'k', 'pixels', 'squared_distance', 'local_linear')
    config = apis.load_config(args.config, args.cfg_options)
    apis.join_processes(config, args.launcher)
    apis.make_pseudo_labels(
        config,
        args.out,
        args.checkpoint,
        {name: getattr(args, name) for name in names if getattr(args, name) is not None},
        args.batch_size,
        args.workers,
        not args.no_progress,
    )
