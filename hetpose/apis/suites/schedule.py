"""Run pending units in worker processes, one thread each, and store every result at once."""

from __future__ import annotations

import multiprocessing
import os
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hetpose.apis.suites.plan import Given, Settings, Unit
from hetpose.apis.suites.store import Digests, Result, load, save, unit_path
from hetpose.errors import UserError

# The numbers of a unit must not depend on how many run at once; sums depend on the thread count.
THREADS = 1
THREAD_VARIABLES = ('OMP_NUM_THREADS', 'MKL_NUM_THREADS', 'OPENBLAS_NUM_THREADS')
POLL_SECONDS = 0.5
EXECUTION = 'hetpose.apis.suites.execute'  # importing it takes as long as training a small unit

# (units, settings, digests, folder, given, on_epoch) -> results
Execute = Callable[..., list[Result]]
Stacks = Callable[[Sequence[Unit]], list[list[Unit]]]
_report_epoch: Callable[[], None]


def pending_units(
    units: Sequence[Unit], settings: Settings, folder: Path, digests: Digests
) -> tuple[list[Unit], list[str]]:
    """The units without a usable result, and a sentence for each stored one that is not usable."""
    pending, notices = [], []
    for unit in units:
        path = unit_path(folder, unit)
        if path.exists():
            stored = load(path)
            if (stored.settings, stored.digest) == (settings, digests[unit.kind]):
                continue
            notices.append(f'{unit.name}: stored with another configuration, runs again')
        pending.append(unit)
    return pending, notices


def run_units(
    execute: Execute,
    units: Sequence[Unit],
    settings: Settings,
    folder: Path,
    digests: Digests,
    given: Given | None = None,
    jobs: int = 1,
    stacks: Stacks | None = None,
) -> None:
    """Run what is pending; after a kill, the same call continues with what is missing.

    ``stacks`` tells which of the pending units train together; without it each trains alone.
    """
    pending, notices = pending_units(units, settings, folder, digests)
    for notice in notices:
        print(notice)
    if len(pending) < len(units):
        print(f'{len(units) - len(pending)} of {len(units)} units are stored already')
    if not pending:
        return
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(THREADS)))  # inherited by the workers
    context = _process_context()
    epochs = context.Queue()
    lifeline, held = context.Pipe(duplex=False)  # reads as closed once this process is gone
    # A fresh process per unit: its peak memory is its own, and nothing leaks into the next.
    # Python 3.10 cannot do that; there a worker takes one unit after the other.
    fresh: dict[str, Any] = {'max_tasks_per_child': 1} if sys.version_info >= (3, 11) else {}
    together = [[unit] for unit in pending] if stacks is None else stacks(pending)
    pool = ProcessPoolExecutor(
        min(jobs, len(together)), context, _start_worker, (epochs, lifeline), **fresh
    )
    try:
        futures = {
            pool.submit(_work, execute, stack, settings, digests, folder, given): stack
            for stack in together
        }
        _follow(futures, epochs, settings.epochs, folder)
    except BaseException:
        held.close()  # ends the workers, whatever they are at
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _process_context() -> Any:
    """Workers fork from a server that imported all of it once; elsewhere they are spawned."""
    if 'forkserver' not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context('spawn')
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload([EXECUTION])
    return context


def _follow(
    futures: dict[Future[None], list[Unit]], epochs: Any, epochs_per_unit: int, folder: Path
) -> None:
    """Show progress in epochs; stop at the first unit that fails other than numerically."""
    total = sum(len(stack) for stack in futures.values())
    open_futures, done_units = set(futures), 0
    # A plain average, because units differ much in length and a moving one would jump.
    with tqdm(total=total * epochs_per_unit, unit='epoch', smoothing=0, dynamic_ncols=True) as bar:
        bar.set_postfix_str(f'0/{total} units')
        while open_futures:
            finished, open_futures = wait(open_futures, POLL_SECONDS, FIRST_COMPLETED)
            bar.update(min(_drain(epochs), bar.total - bar.n))
            for future in finished:
                last = futures[future][-1]
                _raise_failure(future, last, folder)
                done_units += len(futures[future])
                # A diverged unit ends early: its missing epochs count as done.
                bar.update(max(0, done_units * epochs_per_unit - bar.n))
                bar.set_postfix_str(f'{done_units}/{total} units, last {last.name}')
        bar.update(bar.total - bar.n)


def _raise_failure(future: Future[None], unit: Unit, folder: Path) -> None:
    error = future.exception()
    if error is None:
        return
    if isinstance(error, UserError):
        raise error
    if isinstance(error, BrokenProcessPool):
        raise UserError(
            f'a worker process died (out of memory, or a full disk); see {folder / "logs"}; '
            'run again to continue'
        ) from error
    raise RuntimeError(f'unit {unit.name} failed; see {folder / "logs"}') from error


def _drain(epochs: Any) -> int:
    count = 0
    while True:
        try:
            epochs.get_nowait()
        except queue.Empty:
            return count
        count += 1


def _start_worker(epochs: Any, lifeline: Connection) -> None:
    """Use one thread, and do not outlive the parent."""
    threading.Thread(target=_exit_with_parent, args=(lifeline,), daemon=True).start()
    import torch

    torch.set_num_threads(THREADS)
    global _report_epoch
    _report_epoch = lambda: epochs.put(1)  # noqa: E731


def _exit_with_parent(lifeline: Connection) -> None:
    lifeline.poll(None)
    os._exit(1)


def _work(
    execute: Execute,
    units: Sequence[Unit],
    settings: Settings,
    digests: Digests,
    folder: Path,
    given: Given | None,
) -> None:
    first = units[0]
    _log_to(folder / 'logs' / f'{first.dataset}-{first.method}-{first.trial}.log')
    for result in execute(units, settings, digests, folder, given, _report_epoch):
        save(folder, result)


def _log_to(path: Path) -> None:
    """Send all output of this process to a file, so that the progress bar stays readable."""
    path.parent.mkdir(parents=True, exist_ok=True)
    log = path.open('w', buffering=1, encoding='utf-8')
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    sys.stdout = sys.stderr = log
