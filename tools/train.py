"""Train a model from a config.

python tools/train.py configs/uci/anchored.py
python tools/train.py CONFIG --resume --cfg-options train_cfg.max_epochs=50
bash tools/dist_train.sh CONFIG 2
"""

import argparse
import os


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('config', help='config file')
    parser.add_argument(
        '--work-dir', help='where logs and checkpoints go (default: work_dirs/<config name>)'
    )
    parser.add_argument(
        '--resume',
        nargs='?',
        const='auto',
        metavar='CKPT',
        help='continue from CKPT, or from the newest checkpoint in the work directory',
    )
    parser.add_argument(
        '--amp',
        action='store_true',
        help='mixed precision (GPU only; covariances stay in float32)',
    )
    parser.add_argument(
        '--no-validate', action='store_true', help='do not evaluate during training'
    )
    parser.add_argument(
        '--auto-scale-lr',
        action='store_true',
        help='scale the learning rate by the actual over the configured batch size',
    )
    parser.add_argument('--show-dir', help='draw evaluated samples into this folder')
    parser.add_argument(
        '--interval', type=int, default=1, help='draw every n-th sample (default: 1)'
    )
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        metavar='KEY=VALUE',
        help='override the config, e.g. train_cfg.max_epochs=5 (in a suite: epochs=5); an unknown '
        'key is an error',
    )
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none')
    parser.add_argument(
        '--local_rank', '--local-rank', type=int, default=0, help=argparse.SUPPRESS
    )
    args = parser.parse_args()
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    return args


def main(args: argparse.Namespace) -> None:
    from hetpose.engine import launch
    from hetpose.errors import UserError

    config = launch.load_config(args.config, args.cfg_options)
    launch.use_work_dir(config, args.work_dir, args.config)
    launch.use_launcher(config, args.launcher)
    launch.use_visualization(config, args.show_dir, args.interval)
    if args.amp:
        launch.use_amp(config)
    if args.no_validate:
        config.val_cfg = config.val_dataloader = config.val_evaluator = None
    if args.auto_scale_lr:
        if 'auto_scale_lr' not in config:
            raise UserError(f'--auto-scale-lr: {args.config} has no auto_scale_lr.base_batch_size')
        config.auto_scale_lr.enable = True
    if args.resume is not None:
        config.resume = True
        config.load_from = None if args.resume == 'auto' else args.resume

    runner = launch.build_runner(config)
    if config.get('load_from'):
        launch.check_start(runner, config.load_from, whole=bool(config.get('resume')))
    launch.build_dataloaders(runner, 'train', 'val')
    runner.train()


if __name__ == '__main__':
    arguments = parse_args()  # before the heavy imports, so that --help is quick
    from hetpose import cli

    cli.run(lambda: main(arguments))
