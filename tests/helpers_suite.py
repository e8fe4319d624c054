"""A small table and the configs of units of a suite on it."""

from pathlib import Path

import numpy as np
from mmengine.config import Config

from hetpose.engine import launch

ROOT = Path(__file__).resolve().parent.parent
ROWS, COLUMNS = 120, 4  # one input, three targets


def write_table(path: Path, rows: int = ROWS, columns: int = COLUMNS) -> Path:
    """A CSV of correlated columns; the last is constant, as in the naval set."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((rows, columns)) @ rng.standard_normal((columns, columns))
    values[:, -1] = 7.0
    names = ','.join(f'column{i}' for i in range(columns))
    np.savetxt(path, values, delimiter=',', header=names, comments='')
    return path


def unit_config(folder: Path, method: str, suite: str = 'uci', **options) -> Config:
    """The config of a leaf with a quiet, short run in ``folder``."""
    config = launch.load_config(ROOT / 'configs' / suite / f'{method}.py')
    if suite == 'uci':
        options.setdefault('dataset', str(write_table(folder / 'table.csv')))
    config.merge_from_dict({'epochs': 2, **options})
    config.work_dir = str(folder / f'{method}-{len(list(folder.iterdir()))}')
    config.log_level = 'ERROR'
    return config
