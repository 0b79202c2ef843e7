"""The command `gbuq`, also `python -m gbuq_core`; see `gbuq_core.commands`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gbuq_core.commands.interrupting import stop_at_once

if __name__ == "__main__":
    stop_at_once()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for bad input, 130 when interrupted."""
    is_program = arguments is None
    if is_program:
        stop_at_once()
    from gbuq_core import __version__
    from gbuq_core.commands.parser import run_command

    prog = "python -m gbuq_core" if __name__ == "__main__" else "gbuq"
    try:
        return run_command(arguments, prog, __version__)
    finally:
        if is_program:  # what is left is to wait for threads
            stop_at_once()


if __name__ == "__main__":
    sys.exit(main())
