"""Kernels are compiled in processes beside each other, and kept for every later process.

Numba compiles one kernel at a time in a process. So the steps of `gbuq_core.kernel_steps` are done
by processes of their own, as many as there are cores, which write to numba's cache on the disk.
This process waits for the steps that it needs and then loads the kernels. What cannot be compiled
elsewhere is compiled by numba where it is called, as ever.

A child gets the names of steps line by line, and ends when nobody is left to give them.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import IO, Any

from gbuq_core.compiled_marks import finished_mark
from gbuq_core.kernel_steps import STEPS, with_earlier
from gbuq_core.progress import here
from gbuq_core.resources import usable_cores

_LOOK_SECONDS = 0.1  # between two looks at whether somebody still waits
_NICE = 10  # of the scheduler's steps below this process, where nobody waits
_IS_CHILD = "GBUQ_COMPILES"  # in the environment of a child, which has none of its own
_PROGRAM = "from gbuq_core.compilers import serve; serve()"
_DONE, _FAILED = b"done", b"failed"


class _NoProcess(Exception):
    """A child that cannot be started or that has ended."""


class _Child:
    """A process that compiles steps, until this end of its input is closed."""

    def __init__(self) -> None:
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, _IS_CHILD: "1"}
        own_group: dict[str, Any] = {"process_group": 0}  # Ctrl-C is for this process alone
        if sys.platform == "win32":
            own_group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                **own_group,
            )
        except OSError as error:
            raise _NoProcess from error

    def compile(self, name: str, *, nice: bool) -> None:
        """Return when the step has been done, or has failed; ``nice`` ones let fits go first."""
        if nice and hasattr(os, "setpriority"):  # from here on: only root may take it back
            own = os.getpriority(os.PRIO_PROCESS, 0)
            with contextlib.suppress(OSError):  # the child has ended, which is seen below
                os.setpriority(os.PRIO_PROCESS, self._process.pid, own + _NICE)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(name.encode() + b"\n")
            stdin.flush()
            answer = stdout.readline().strip()
        except OSError as error:
            raise _NoProcess from error
        if answer not in (_DONE, _FAILED):
            raise _NoProcess

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


class Compilers:
    """The children of this process, and what is left for them to do."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[str] = []  # the next one first
        self._asked: set[str] = set()
        self._running: set[str] = set()
        self._settled: set[str] = set()  # in the cache, or left to this process
        self._n_children = 0
        self._n_given = self._n_done = 0  # since there was last nothing to do

    def need(self, *names: str) -> None:
        """Wait until these steps are in the cache; they go first."""
        if self._settled.issuperset(names):
            return
        self.begin(names, asked=True)
        with self._changed:
            while not self._settled.issuperset(names):
                self._changed.wait(_LOOK_SECONDS)
                here().check()

    def begin(self, names: Iterable[str], *, asked: bool = False) -> None:
        """Compile these steps in the background: first, if somebody has ``asked`` for them."""
        wanted = [name for name in with_earlier(names) if name not in self._settled]
        if not wanted:
            return
        left = set() if _compiles_here() else {name for name in wanted if not is_compiled(name)}
        with self._changed:
            self._settled.update(name for name in wanted if name not in left)
            new = [name for name in wanted if name in left and name not in self._running]
            known = set(self._waiting)
            self._n_given += sum(name not in known for name in new)
            rest = [name for name in self._waiting if name not in new]
            if asked:
                self._asked.update(new)
                self._waiting = new + rest
            else:
                self._waiting += [name for name in new if name not in known]
            room = min(usable_cores(), len(self._waiting)) - self._n_children
            for _ in range(room):
                self._n_children += 1
                threading.Thread(target=self._work, name="gbuq-compiler", daemon=True).start()
            self._changed.notify_all()

    def wait(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for all steps; whether none is left."""
        with self._changed:
            return self._changed.wait_for(lambda: not (self._waiting or self._running), timeout)

    def progress(self) -> tuple[int, int] | None:
        """How many steps are done and how many there are; None if nothing is being compiled."""
        with self._changed:
            return (self._n_done, self._n_given) if self._n_given else None

    def _work(self) -> None:
        """Give steps to a child of this thread's own until none is left."""
        try:
            with contextlib.closing(_Child()) as child:
                while (name := self._take()) is not None:
                    child.compile(name, nice=name not in self._asked)
                    self._settle([name])
        except _NoProcess:
            self._give_up()

    def _take(self) -> str | None:
        """The first step that waits for no other, once there is one; None ends this child."""
        with self._changed:
            while self._waiting:
                for name in self._waiting:
                    if self._settled.issuperset(STEPS[name].after):
                        self._waiting.remove(name)
                        self._running.add(name)
                        return name
                self._changed.wait()
            self._n_children -= 1
        return None

    def _settle(self, names: Iterable[str]) -> None:
        with self._changed:
            for name in set(names) - self._settled:
                self._running.discard(name)
                self._settled.add(name)
                self._n_done += 1
            if not (self._waiting or self._running):
                self._n_given = self._n_done = 0
            self._changed.notify_all()

    def _give_up(self) -> None:
        """Leave to this process what a child could not be had for, or has died of."""
        with self._changed:
            left = [*self._waiting, *self._running]
            self._waiting = []
            self._n_children -= 1
        self._settle(left)


COMPILERS = Compilers()
need_kernels = COMPILERS.need
if hasattr(os, "register_at_fork"):  # the threads stay with the parent
    os.register_at_fork(after_in_child=COMPILERS.__init__)  # type: ignore[misc]


def compiling_words() -> str | None:
    """What this process waits for, with a count; None if nothing is being compiled."""
    progress = COMPILERS.progress()
    if progress is None:
        return None
    done, total = progress
    return f"Compiling kernels, once per machine ({done} of {total})"


def is_compiled(name: str) -> bool:
    """Whether a step is in the cache on the disk."""
    mark = finished_mark(name)
    return mark is not None and mark.exists()


def _compiles_here() -> bool:
    """Whether this process is to compile by itself: no other would see it, or know how."""
    from numba.core import config

    no_python = not sys.executable or getattr(sys, "frozen", False)
    interpreted = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
    return bool(_IS_CHILD in os.environ or no_python or interpreted or finished_mark("") is None)


def serve() -> None:
    """Compile the steps that the standard input names; in a child."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer
    names: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(names,), daemon=True).start()
    gc.disable()  # a compiler makes little garbage, and looking for it takes a fifth of its time
    while True:
        name = names.get()
        try:
            compile_step(name)
            answer = _DONE
        except Exception:  # the caller's own attempt will say what is wrong
            answer = _FAILED
        out.write(answer + b"\n")


def _listen(names: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        names.put(line.strip())
    os._exit(0)  # in the middle of a step, too: nobody waits for it


def compile_step(name: str) -> None:
    """Do a step in this process unless another one has done it, and note that it is done."""
    mark = finished_mark(name)
    with _alone(name):
        if mark is not None and mark.exists():
            return
        module, _, function = STEPS[name].function.partition(":")
        getattr(importlib.import_module(module), function)()
        if mark is not None:
            mark.touch()


@contextlib.contextmanager
def _alone(name: str) -> Iterator[None]:
    """One process of this machine at a time; the system lets go of what has died."""
    mark = finished_mark(name)
    if mark is None:
        yield
        return
    with open(mark.with_suffix(".lock"), "a+b") as file:
        _lock(file)
        yield


def _lock(file: IO[bytes]) -> None:
    """Wait for the lock of a file, which ends with the file."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        while True:
            with contextlib.suppress(OSError):  # somebody has it
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
                return
            time.sleep(_LOOK_SECONDS)
    with contextlib.suppress(OSError):  # a file system without locks: both compile
        fcntl.flock(file, fcntl.LOCK_EX)
