"""Readers of strangers' files whose processes have their libraries, and fork for each file.

Each file is read within the same limits as in the app, whose processes import all of it anew, which
takes a second. Tests and `benchmarks.hostile_models` put it in place of `ask_process`.
"""

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

LIMITED = Path(__file__).parents[1] / "gbuq_core" / "limited_process.py"
LIBRARIES = {"reading_process": ("catboost", "lightgbm", "xgboost")}  # else imported for each file
HEAD = struct.Struct("<qq")  # two lengths, or an exit code and a length


class Nurseries:
    """The processes of the readers, each started with its first question."""

    def __init__(self):
        self._running, self._lock = {}, threading.Lock()

    def ask(self, reader, asked, payload, limits):
        """As `gbuq_core.limited_process.ask_process`."""
        from gbuq_core.limited_process import _ENVIRONMENT

        with self._lock:
            if reader not in self._running:
                self._running[reader] = subprocess.Popen(
                    [sys.executable, "-I", __file__, str(reader), *filter(None, sys.path)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, **_ENVIRONMENT},
                )
            nursery, question = self._running[reader], json.dumps([asked, limits]).encode()
            nursery.stdin.write(HEAD.pack(len(question), len(payload)) + question + payload)
            nursery.stdin.flush()
            code, size = HEAD.unpack(nursery.stdout.read(HEAD.size))
            return code, nursery.stdout.read(size)

    def close(self):
        """End them all."""
        for nursery in self._running.values():
            nursery.communicate()


def serve_forked(limited, reader, asked, payload, limits, out):
    """The exit code of a forked process that answers, negative for a signal."""
    child = os.fork()
    if not child:
        code = 1
        try:
            limited.serve(reader, asked, payload, limits, out)
            code = 0
        except SystemExit as end:
            code = end.code
        finally:
            os._exit(code)
    until = time.monotonic() + limits.seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGTERM


def main(reader, *places):
    """Answer questions from the standard input until it ends."""
    sys.path += [place for place in places if place not in sys.path]
    spec = spec_from_file_location("limited_process", LIMITED)
    limited = module_from_spec(spec)
    spec.loader.exec_module(limited)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    libraries = LIBRARIES.get(Path(reader).stem, ())
    reader = limited.load_reader(reader)
    reader.prepare()
    with suppress(ImportError):
        for name in libraries:
            import_module(name)
    while head := sys.stdin.buffer.read(HEAD.size):
        asked, limits = json.loads(sys.stdin.buffer.read(HEAD.unpack(head)[0]))
        payload = sys.stdin.buffer.read(HEAD.unpack(head)[1])
        with tempfile.TemporaryFile() as out:
            limits = limited.ProcessLimits(*limits)
            code = serve_forked(limited, reader, asked, payload, limits, out.fileno())
            out.seek(0)
            answer = out.read(limits.answer)
        answers.write(HEAD.pack(code, len(answer)) + answer)
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
