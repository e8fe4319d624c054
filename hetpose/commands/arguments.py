"""Options that several commands share, spelled once."""

import argparse


def add_cfg_options(parser: argparse.ArgumentParser, note: str = '') -> None:
    """``--cfg-options KEY=VALUE ...``; ``note`` follows the explanation."""
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        metavar='KEY=VALUE',
        help='override the config' + (f', {note}' if note else '; an unknown key is an error'),
    )


def add_show_dir(parser: argparse.ArgumentParser) -> None:
    """``--show-dir DIR --interval N``: pictures of evaluated samples."""
    parser.add_argument('--show-dir', help='draw evaluated samples into this folder')
    parser.add_argument(
        '--interval', type=int, default=1, help='draw every n-th sample (default: 1)'
    )


def add_launcher(parser: argparse.ArgumentParser) -> None:
    """``--launcher``, and the rank that older launchers pass as an argument."""
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none')
    parser.add_argument(
        '--local_rank', '--local-rank', type=int, default=0, help=argparse.SUPPRESS
    )
