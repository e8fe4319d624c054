"""torchrun whose errors are one line, for dist_train.sh and dist_test.sh.

    python -m hetpose.launcher --standalone --nproc_per_node 2 -m hetpose train CONFIG ...

torchrun ends a run that failed with a trace of itself and a table of processes. What a user can
put right is in the file that ``hetpose.cli`` left for it; this module prints that line instead.
"""

from __future__ import annotations

import logging
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure


def main(argv: Sequence[str] | None = None) -> None:
    """Start the processes and exit with the code of the first that failed."""
    # These report the failing processes once more.
    for name in ('multiprocessing.api', 'multiprocessing.errors', 'agent.server.api'):
        logging.getLogger(f'torch.distributed.elastic.{name}').setLevel(logging.CRITICAL)
    try:
        arguments = run.parse_args(argv)
        with tempfile.TemporaryDirectory(prefix='hetpose-launch-') as folder:
            # Without one torchrun leaves a folder of its own behind at every start.
            arguments.log_dir = arguments.log_dir or folder
            run.run(arguments)
    except SignalException as error:
        print(f'stopped by {error.sigval.name}; --resume continues', file=sys.stderr)
        sys.exit(128 + error.sigval)
    except ChildFailedError as error:
        rank, failure = first_cause(error.failures)
        if failure.error_file_data and isinstance(failure.message, str) and failure.exitcode == 2:
            print(failure.message, file=sys.stderr)
        else:
            print(
                f'error: process {rank} ended with code {failure.exitcode}; its output is above',
                file=sys.stderr,
            )
        code = failure.exitcode
        sys.exit(code if code > 0 else 128 - code)  # a signal is a negative code


def first_cause(failures: Mapping[int, ProcessFailure]) -> tuple[int, ProcessFailure]:
    """The rank and the failure of the process that failed first.

    The launcher ends the others by SIGTERM, which can be stamped with the same second: a process
    that ended so is the cause only where no other failed.
    """
    own = {rank: one for rank, one in failures.items() if one.exitcode != -signal.SIGTERM}
    return min((own or failures).items(), key=lambda item: item[1].timestamp)


if __name__ == '__main__':
    main()
