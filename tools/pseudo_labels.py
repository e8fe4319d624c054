"""Make pseudo-labels: a covariance of the keypoints of every training sample.

Every sample becomes a vector (pooled backbone features with a checkpoint, a thumbnail of its crop
without), PCA reduces it, and the covariance of the keypoints among its nearest neighbours is its
pseudo-label. Give the file to the training data with train_dataloader.dataset.file.

python tools/pseudo_labels.py CONFIG --out work_dirs/pseudo_labels.npz
python tools/pseudo_labels.py CONFIG CHECKPOINT --out FILE --dimension 64 --local-linear
torchrun --nproc_per_node 2 tools/pseudo_labels.py CONFIG --out FILE --launcher pytorch
python tools/train.py CONFIG --cfg-options train_dataloader.dataset.file=FILE
"""

import argparse
import os


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        metavar='KEY=VALUE',
        help='override the config',
    )
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none')
    parser.add_argument(
        '--local_rank', '--local-rank', type=int, default=0, help=argparse.SUPPRESS
    )
    args = parser.parse_args()
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    return args


def main(args: argparse.Namespace) -> None:
    from hetpose.apis.data.pseudo_labels import make_pseudo_labels
    from hetpose.engine import launch

    config = launch.load_config(args.config, args.cfg_options)
    launch.use_launcher(config, args.launcher)
    launch.join_processes(config)
    names = ('dimension', 'k', 'pixels', 'squared_distance', 'local_linear')
    make_pseudo_labels(
        config,
        args.out,
        args.checkpoint,
        {name: getattr(args, name) for name in names if getattr(args, name) is not None},
        args.batch_size,
        args.workers,
        not args.no_progress,
    )


if __name__ == '__main__':
    arguments = parse_args()  # before the heavy imports, so that --help is quick
    from hetpose import cli

    cli.run(lambda: main(arguments))
