"""Evaluate a checkpoint with the test data and metrics of its config.

python tools/test.py CONFIG CHECKPOINT --out metrics.json
bash tools/dist_test.sh CONFIG CHECKPOINT 2
"""

import argparse
import os


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('config', help='config file')
    parser.add_argument(
        'checkpoint', help='checkpoint file; every weight of the model must be in it'
    )
    parser.add_argument('--work-dir', help='where logs go (default: work_dirs/<config name>)')
    parser.add_argument('--out', metavar='FILE', help='write the metrics as JSON')
    parser.add_argument(
        '--dump', metavar='FILE.pkl', help='write the predictions for offline evaluation'
    )
    parser.add_argument('--show-dir', help='draw evaluated samples into this folder')
    parser.add_argument(
        '--interval', type=int, default=1, help='draw every n-th sample (default: 1)'
    )
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        metavar='KEY=VALUE',
        help='override settings of the config; an unknown key is an error',
    )
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none')
    parser.add_argument(
        '--local_rank', '--local-rank', type=int, default=0, help=argparse.SUPPRESS
    )
    args = parser.parse_args()
    if args.dump is not None and not args.dump.endswith(('.pkl', '.pickle')):
        parser.error('--dump writes a pickle file: its name must end in .pkl')
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    return args


def main(args: argparse.Namespace) -> None:
    from mmengine.dist import is_main_process

    from hetpose import fileio
    from hetpose.engine import launch

    config = launch.load_config(args.config, args.cfg_options)
    launch.use_work_dir(config, args.work_dir, args.config)
    launch.use_launcher(config, args.launcher)
    launch.use_visualization(config, args.show_dir, args.interval)
    config.load_from = args.checkpoint
    config.resume = False
    if args.dump is not None:
        evaluators = config.test_evaluator
        evaluators = list(evaluators) if isinstance(evaluators, list | tuple) else [evaluators]
        config.test_evaluator = [*evaluators, dict(type='DumpResults', out_file_path=args.dump)]

    runner = launch.build_runner(config)
    launch.check_start(runner, args.checkpoint, whole=True)
    launch.build_dataloaders(runner, 'test')
    metrics = runner.test()
    if args.out is not None and is_main_process():
        fileio.write_json(args.out, metrics)


if __name__ == '__main__':
    arguments = parse_args()  # before the heavy imports, so that --help is quick
    from hetpose import cli

    cli.run(lambda: main(arguments))
