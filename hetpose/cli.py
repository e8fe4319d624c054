"""What every command line shares: an error is one line, not somebody else's stack trace."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

from hetpose.errors import UserError

DEBUG_VARIABLE = 'HETPOSE_DEBUG'


def run(main: Callable[[], int | None]) -> None:
    """Run ``main`` and exit with its value; a UserError is one line and exit code 2.

    With HETPOSE_DEBUG set, the trace is shown too.
    """
    try:
        code = main()
    except UserError as error:
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exc()
        print(f'error: {error}', file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        sys.exit(130)
    sys.exit(code or 0)
