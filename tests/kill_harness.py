"""Kill a training at random moments, look at what is left, and let it go on.

    python tests/kill_harness.py --kills 50 --workers 2 --out work_dirs/kills

After every kill -9 the last checkpoint must load, no process of the run may be alive, and in the
end the weights must be those of a run that nothing stopped, bit for bit. The quick version is
tests/test_kills.py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from helpers_training import differing, pose_config

from hetpose import apis
from hetpose.engine.checkpoint import read_checkpoint

EPOCHS = 6


def start(config: Path, work_dir: Path) -> int:
    """Train in a process of its own, with its own session; returns its id."""
    process = os.fork()
    if process == 0:
        os.setsid()
        log = os.open(work_dir.with_suffix('.log'), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        code = 1
        try:
            torch.set_num_threads(1)
            apis.train(config, work_dir=str(work_dir), resume='auto')
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return process


def ended(process: int) -> int | None:
    """The exit code of a process, None while it runs."""
    found, status = os.waitpid(process, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def members(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for path in Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = path.read_text().rpartition(')')[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in 'ZX':
            found.append(int(path.parent.name))
    return found


def orphans(session: int, patience: float = 60.0) -> list[int]:
    """The processes of a killed run that still live after ``patience`` seconds.

    The kernel ends them at once; how soon they are gone depends on the load of the machine.
    """
    end = time.monotonic() + patience
    while (found := members(session)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def wait_for_moment(process: int, work_dir: Path, longest: float, near_a_save: bool) -> bool:
    """Wait for a random moment, or for one within a save; whether the run still goes on then."""
    end = time.monotonic() + random.uniform(0, longest)
    while time.monotonic() < end:
        if ended(process) is not None:
            return False
        if near_a_save and list(work_dir.glob('.epoch_*.tmp.pth')):
            time.sleep(random.uniform(0, 0.02))
            break
        time.sleep(0.001)
    return True


def left_behind(work_dir: Path) -> list[str]:
    """The faults in the folder of a killed run."""
    faults = []
    pointer = work_dir / 'last_checkpoint'
    named = [Path(pointer.read_text())] if pointer.is_file() else []
    for path in [*work_dir.glob('epoch_*.pth'), *named]:
        try:
            read_checkpoint(path)
        except Exception as error:
            faults.append(f'{path.name}: {error}')
    return faults


def soak(folder: Path, kills: int, workers: int, seed: int = 0) -> dict[str, object]:
    """Figures of a run that was killed often."""
    random.seed(seed)
    config = pose_config(folder, workers=workers, epochs=EPOCHS, switch=2)
    config.default_hooks.checkpoint.max_keep_ckpts = 1
    path = folder / 'tiny.py'
    config.dump(path)
    whole, killed = folder / 'whole', folder / 'killed'
    begin = time.monotonic()
    process = start(path, whole)
    os.waitpid(process, 0)
    longest = time.monotonic() - begin
    figures: dict[str, object] = dict(kills=0, finished=0, faults=[], orphans=0)
    expected = read_checkpoint(whole / f'epoch_{EPOCHS}.pth')['state_dict']
    while int(figures['kills']) < kills:  # type: ignore[call-overload]
        process = start(path, killed)
        alive = wait_for_moment(process, killed, longest, near_a_save=random.random() < 0.5)
        if alive:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            figures['kills'] += 1  # type: ignore[operator]
            figures['orphans'] += len(orphans(process))  # type: ignore[operator]
            figures['faults'] += left_behind(killed) if killed.is_dir() else []  # type: ignore[operator]
            if not (killed / f'epoch_{EPOCHS}.pth').is_file():
                continue
        else:
            _finish(path, killed)
        figures['finished'] += 1  # type: ignore[operator]
        figures['faults'] += _compare(killed, expected)  # type: ignore[operator]
        killed = folder / f'killed-{figures["finished"]}'
    _finish(path, killed)
    figures['finished'] += 1  # type: ignore[operator]
    figures['faults'] += _compare(killed, expected)  # type: ignore[operator]
    return figures


def _finish(path: Path, work_dir: Path) -> None:
    os.waitpid(start(path, work_dir), 0)


def _compare(work_dir: Path, expected: dict) -> list[str]:
    final = read_checkpoint(work_dir / f'epoch_{EPOCHS}.pth')['state_dict']
    return [f'{work_dir.name}: {name} differs' for name in differing(final, expected)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--kills', type=int, default=50)
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--out', type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    figures = soak(args.out.resolve(), args.kills, args.workers, args.seed)
    print(json.dumps(figures, indent=2))
    sys.exit(bool(figures['faults'] or figures['orphans']))


if __name__ == '__main__':
    main()
