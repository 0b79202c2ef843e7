"""The command `gbuq`, also `python -m gbuq_core`; see `gbuq_core.commands`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gbuq_core import __version__
from gbuq_core.commands.parser import run_command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for bad input, 130 when interrupted."""
    prog = "python -m gbuq_core" if __name__ == "__main__" else "gbuq"
    return run_command(arguments, prog, __version__)


if __name__ == "__main__":
    sys.exit(main())
