"""Ctrl-C at any time: the program stops at once while it only loads, and a job is stopped in order.

An exception raised by the signal amid the import of a library would be taken for that library's
failure, or printed with its traceback.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from types import FrameType

INTERRUPTED = 130
STOPPED = "Stopped; nothing was written."


def stop_at_once() -> None:
    """Have Ctrl-C end the process in one line until `raise_again`, if nobody else handles it."""
    of_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if of_ours and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _end)


def raise_again() -> None:
    """Have Ctrl-C raise `KeyboardInterrupt` again, once there is something to stop in order."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:
    with suppress(OSError):  # then the exit code tells
        os.write(2, f"{STOPPED}\n".encode())
    os._exit(INTERRUPTED)
