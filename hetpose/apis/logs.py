"""Curves from the logs that mmengine writes: one JSON object a line, each with a step."""

from __future__ import annotations

import json
from pathlib import Path

from hetpose.errors import UserError, unknown_name
from hetpose.fileio import atomic_path

Curve = list[tuple[float, float]]


def find_log(path: str | Path) -> Path:
    """The scalars of a run: a file, or the newest ``scalars.json`` below a work directory."""
    path = Path(path)
    if path.is_file():
        return path
    found = sorted(path.rglob('scalars.json'), key=lambda log: log.stat().st_mtime)
    if not found:
        raise UserError(f'no scalars.json in {path}: give a work directory or a log file')
    return found[-1]


def read_curves(path: Path) -> dict[str, Curve]:
    """Every number in a log as (step, value) pairs; a torn last line is passed over."""
    curves: dict[str, Curve] = {}
    for line in path.read_text(encoding='utf-8').splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue  # the run was killed while it wrote, or still writes
        if not isinstance(record, dict):
            continue
        step = record.get('step', record.get('iter'))
        for key, value in record.items():
            if step is not None and key not in ('step', 'iter') and isinstance(value, int | float):
                curves.setdefault(key, []).append((step, value))
    if not curves:
        raise UserError(f'{path} holds no scalars')
    return curves


def axis_name(path: Path, key: str) -> str:
    """The unit of the steps of a scalar: 'iteration', or 'epoch' if it is logged once in each.

    mmengine writes the iteration with every number of the training, and the epoch alone as the
    step of a validation, where the training is counted in epochs.
    """
    epochs = 0
    steps = []
    for line in path.read_text(encoding='utf-8').splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not isinstance(record, dict):
            continue
        if isinstance(record.get('epoch'), int):
            epochs = max(epochs, record['epoch'])
        if key in record:
            if 'iter' in record:
                return 'iteration'
            steps.append(record.get('step', 0))
    return 'epoch' if max(steps, default=0) <= epochs else 'iteration'


def plot_curves(logs: list[str], keys: list[str], out: str | Path) -> None:
    """Draw each key in its own panel, with one line for each log."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    runs = [(Path(log).name or str(log), read_curves(find_log(log))) for log in logs]
    figure, axes = pyplot.subplots(
        len(keys),
        1,
        figsize=(7, 2.6 * len(keys)),
        squeeze=False,
        layout='constrained',
    )
    for axis, key in zip(axes[:, 0], keys, strict=True):
        for name, curves in runs:
            if key not in curves:
                raise unknown_name(f'scalar of {name}', key, list(curves))
            axis.plot(*zip(*curves[key], strict=True), label=name, linewidth=1.5)
        axis.set_ylabel(key)
        kinds = {axis_name(find_log(log), key) for log in logs}
        axis.set_xlabel(' or '.join(sorted(kinds)))
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.grid(alpha=0.3)
    axes[0, 0].legend(frameon=False)
    known = figure.canvas.get_supported_filetypes()
    if Path(out).suffix.lstrip('.').lower() not in known:
        raise unknown_name('kind of picture', Path(out).suffix, [f'.{kind}' for kind in known])
    with atomic_path(out) as temporary:
        figure.savefig(temporary, dpi=150)
    pyplot.close(figure)
