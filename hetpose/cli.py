"""The ``hetpose`` command: it chooses a subcommand, and turns an error into one line."""

from __future__ import annotations

import argparse
import errno
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hetpose.commands import COMMANDS
from hetpose.errors import UserError, unknown_name
from hetpose.version import __version__

DEBUG_VARIABLE = 'HETPOSE_DEBUG'
# torchrun sets it for every process that it starts, and reads the file when one has failed.
ERROR_FILE_VARIABLE = 'TORCHELASTIC_ERROR_FILE'
# Faults of the machine or of its set-up, which no change to the code would cure.
FAULTS = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO),
    *(errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP),
}


def main(argv: Sequence[str] | None = None) -> None:
    """Run ``hetpose COMMAND ...`` and exit."""
    words = sys.argv[1:] if argv is None else list(argv)
    run(lambda: dispatch(words))


def tool(name: str) -> None:
    """Run a command with the arguments of this process, as the scripts in ``tools`` do."""
    main([name, *sys.argv[1:]])


def dispatch(words: Sequence[str]) -> int | None:
    """Parse ``COMMAND ARGUMENTS`` and run the command; returns its exit code."""
    listing = '\n'.join(f'  {name:<18}{text}' for name, text in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog='hetpose',
        usage='hetpose COMMAND ...',
        description='Calibrated, correlated keypoint uncertainty for any MMPose model.',
        epilog=f'commands:\n{listing}\n\n`hetpose COMMAND --help` explains a command.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--version', action='version', version=f'hetpose {__version__}')
    parser.add_argument('command', metavar='COMMAND', help=argparse.SUPPRESS)
    name = parser.parse_args(words[:1]).command
    if name not in COMMANDS:
        raise unknown_name('command', name, list(COMMANDS))
    module: Any = importlib.import_module(f'hetpose.commands.{name.replace("-", "_")}')
    parser = argparse.ArgumentParser(
        prog=f'hetpose {name}',
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    return module.run(parser.parse_args(words[1:]))


def run(body: Callable[[], int | None]) -> None:
    """Call ``body`` and exit with its value; what a user can put right is one line.

    Exit codes: 2 after a UserError or a fault of the machine such as a full disk, 130 after
    Ctrl-C, 143 after SIGTERM. With HETPOSE_DEBUG set, the trace of an error is shown too.
    """
    _speak_any_locale()
    signal.signal(signal.SIGTERM, _terminated)
    try:
        code = body()
        sys.stdout.flush()
    except UserError as error:
        fail(str(error))
    except BrokenPipeError:  # the reader of the output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (OSError, RuntimeError) as error:
        fault = fault_behind(error)
        if fault is None:
            raise
        fail(fault)
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        sys.exit(130)
    sys.exit(code or 0)


def fault_behind(error: BaseException) -> str | None:
    """A line about the fault of the machine that an error, or its cause, is; None if it is a bug.

    What a worker process met is the cause of an error in this one.
    """
    cause = error if isinstance(error, OSError) else error.__cause__
    if not isinstance(cause, OSError) or cause.errno not in FAULTS:
        return None
    where = f': {cause.filename}' if cause.filename else ''
    what = '' if cause is error else f'{error}: '
    return f'{what}{cause.strerror}{where}'


def fail(message: str) -> None:
    """Print one line and exit with code 2; under torchrun, leave the line to the launcher.

    The processes of a launcher meet the same error, and one of them has to name it.
    """
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exc()
    file = os.environ.get(ERROR_FILE_VARIABLE)
    if file:
        content = {'message': f'error: {message}', 'timestamp': str(int(time.time()))}
        Path(file).write_text(json.dumps(content), encoding='utf-8')
    else:
        print(f'error: {message}', file=sys.stderr)
    sys.exit(2)


def _terminated(number: int, frame: object) -> None:
    print('terminated by SIGTERM', file=sys.stderr)
    sys.exit(128 + number)


def _speak_any_locale() -> None:
    """Print `\\xb2` rather than fail where the locale cannot show ², after the work is done."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, 'reconfigure'):
            stream.reconfigure(errors='backslashreplace')
