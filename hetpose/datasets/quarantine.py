"""Bad samples are counted, listed in a file, and too many of them end the run."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from mmengine.logging import print_log

from hetpose.errors import BadSampleError, UserError
from hetpose.fileio import write_text

FILE_NAME = 'quarantine.jsonl'
ACTIONS = ('skip', 'fail')
LEAST = 10  # bad samples that a small data set may have whatever the share is
_LOGGED = 10  # per process; the count goes on
# Pixels. Images of this side do not decode; a joint further out is a damaged number.
FARTHEST = 1e5


class Quarantine:
    """The bad samples of one split, in memory and as lines of JSON in a file.

    Several processes may write: each appends whole lines, and reads those of the others before
    its first.

    Args:
        path: The file; None keeps the list in memory.
        split: Name of the data, such as 'train'.
        action: 'skip' counts a bad sample and goes on, 'fail' makes the first one an error.
        limit: The largest share of bad samples; ``LEAST`` of them are always allowed.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        split: str = 'data',
        action: str = 'skip',
        limit: float = 0.05,
    ) -> None:
        if action not in ACTIONS:
            raise UserError(f"bad_samples must be 'skip' or 'fail', got {action!r}")
        if not isinstance(limit, int | float) or not 0 <= limit <= 1:
            raise UserError(f'bad_samples_limit must lie between 0 and 1, got {limit!r}')
        self.path = None if path is None else Path(path)
        self.split, self.action, self.limit = split, action, float(limit)
        self.names: dict[str, str] = {}  # name → reason, in the order in which they were found
        self._read = False

    def clear(self) -> None:
        """Forget what an earlier run wrote of this split."""
        lines = [line for line in self._lines() if line.get('split') != self.split]
        if self.path is not None and self.path.is_file():
            if lines:
                write_text(self.path, ''.join(json.dumps(line) + '\n' for line in lines))
            else:
                self.path.unlink(missing_ok=True)

    def _lines(self) -> list[dict[str, Any]]:
        if self.path is None or not self.path.is_file():
            return []
        found = []
        for line in self.path.read_text(encoding='utf-8', errors='replace').splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue  # half a line of a process that was killed
        return [line for line in found if isinstance(line, dict)]

    def add(self, name: str, reason: str, total: int | None = None) -> None:
        """Count a bad sample.

        Raises a UserError in 'fail' mode, and where there are too many among ``total`` samples.
        """
        if self.action == 'fail':
            raise UserError(f'{self.split} data: {name}: {reason}')
        if not self._read:
            self.names = {**self._listed(), **self.names}
            self._read = True
        if name not in self.names:
            self.names[name] = reason
            self._append(name, reason)
        if total is not None:
            self.check(total)

    def _listed(self) -> dict[str, str]:
        """The entries of this split in the file."""
        own = (line for line in self._lines() if line.get('split') == self.split)
        return {str(line.get('sample')): str(line.get('reason')) for line in own}

    def _append(self, name: str, reason: str) -> None:
        count = len(self.names)
        if count <= _LOGGED:
            more = '; further ones are not logged' if count == _LOGGED else ''
            message = f'{self.split} data: left out {name}: {reason} ({count} so far{more})'
            print_log(message, logger='current', level=30)
        if self.path is None:
            return
        line = json.dumps(dict(split=self.split, sample=name, reason=reason)) + '\n'
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open('a', encoding='utf-8') as file:
                file.write(line)
        except OSError as error:
            raise UserError(f'cannot write {self.path}: {error.strerror}') from error

    def allowed(self, total: int) -> int:
        """The number of ``total`` samples that may be bad: at least one must be good."""
        return min(max(LEAST, math.floor(self.limit * total)), total - 1)

    def check(self, total: int) -> None:
        """Raise a UserError where too many of ``total`` samples are bad."""
        if len(self.names) > self.allowed(total):
            where = '' if self.path is None else f' (listed in {self.path})'
            name, reason = list(self.names.items())[-1]
            raise UserError(
                f'{self.split} data: {len(self.names)} of {total} samples are bad, more than '
                f'bad_samples_limit={self.limit} allows{where}; the last is {name}: {reason}'
            )

    def summary(self) -> str | None:
        """One line about what was left out, over all processes; None where nothing was."""
        names = {**self._listed(), **self.names}
        if not names:
            return None
        where = '' if self.path is None else f', listed in {self.path}'
        return f'{self.split} data: {len(names)} bad samples were left out{where}'


def sample_problem(info: dict[str, Any]) -> str | None:
    """A description of a fault in the numbers of a sample, or None.

    Looks at ``bbox`` (1, 4) and at those of ``keypoints`` (1, K, 2) that are visible. Places of
    other joints mean nothing; where they are not finite they become 0 in ``info``.
    """
    box = info.get('bbox')
    if box is not None:
        problem = _box_problem(np.asarray(box, dtype=np.float64).reshape(-1, 4))
        if problem:
            return problem
    if info.get('keypoints') is None:
        return None
    points = np.asarray(info['keypoints'], dtype=np.float64)[..., :2]
    visible = np.asarray(info.get('keypoints_visible', np.ones(points.shape[:2])))
    visible = visible[..., 0] if visible.ndim == points.ndim else visible
    if not np.isfinite(visible).all():
        return 'the visibility of a keypoint is not a number'
    far: np.ndarray = ~np.all(np.abs(points) <= FARTHEST, axis=-1)  # also where it is NaN
    if (far & (visible > 0)).any():
        _, joint = np.argwhere(far & (visible > 0))[0]
        place = tuple(float(v) for v in points[0, joint])
        return f'keypoint {joint} lies at {place}'
    if far.any():
        info['keypoints'] = np.where(far[..., None], 0, info['keypoints']).astype(
            info['keypoints'].dtype
        )
    return None


def _box_problem(boxes: np.ndarray) -> str | None:
    for box in boxes:
        if not np.isfinite(box).all() or np.abs(box).max() > FARTHEST:
            return f'its box is {box.tolist()}'
        if box[2] <= box[0] or box[3] <= box[1]:
            return f'its box {box.tolist()} has no area'
    return None


def bad_sample(error: BaseException) -> str:
    """One line about what made a sample bad."""
    if isinstance(error, BadSampleError):
        return str(error)
    text = ' '.join(str(error).split())
    return f'{type(error).__name__}: {text}'[:300]
