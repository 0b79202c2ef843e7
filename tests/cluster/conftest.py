"""A real scheduler and real workers on the loopback, each a process that a test may kill."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from gbuq_core.cluster import open_cluster

ROOT = Path(__file__).parents[2]
SECONDS = 60.0  # for anything to start on a busy machine
# Forked, because each process would import Dask again, which takes most of its start.
FORKED = """
import json, os, signal, sys
from distributed.cli import dask_scheduler, dask_worker

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets those that have ended
for line in sys.stdin:
    command, options = json.loads(line)
    child = os.fork()
    if not child:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        sys.argv = ["dask", *options]
        {"scheduler": dask_scheduler, "worker": dask_worker}[command].main()
        sys.exit()
    print(child, flush=True)
"""


class Forked:
    """A process that another one has forked: what of `subprocess.Popen` these tests use."""

    def __init__(self, pid):
        self.pid = pid

    def poll(self):
        """None while it runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return -1
        return None

    def send_signal(self, number):
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def wait(self):
        wait_until(lambda: self.poll() is not None)


class Processes:
    """A scheduler at one address, which survives its restart, and workers."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers = []
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
        with open(folder / "log.txt", "ab") as log:
            self.parent = subprocess.Popen(
                [sys.executable, "-c", FORKED],
                cwd=folder,
                env=environment,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.start_scheduler()

    def start(self, command, *options):
        self.parent.stdin.write(json.dumps([command, options]) + "\n")
        self.parent.stdin.flush()
        return Forked(int(self.parent.stdout.readline()))

    def start_scheduler(self):
        self.scheduler = self.start(
            "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
        )

    def add_worker(self):
        worker = self.start(
            "worker",
            self.address,
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
            "--death-timeout",
            str(SECONDS),
            "--local-directory",
            str(self.folder),
        )
        self.workers.append(worker)
        return worker

    def keep_workers(self, n_workers):
        """Replace workers that a test has killed."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < n_workers:
            self.add_worker()

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self.parent.communicate()


@pytest.fixture(scope="package")
def processes(tmp_path_factory, require_or_fail):
    there = importlib.util.find_spec("distributed") is not None
    require_or_fail(there, "Dask is not installed (extra cluster)")
    servers = Processes(tmp_path_factory.mktemp("cluster"))
    yield servers
    servers.close()


@pytest.fixture
def cluster(processes):
    """Two workers, however many the test before has left."""
    processes.keep_workers(2)
    with open_cluster(processes.address, n_workers=2, timeout=SECONDS) as connected:
        wait_until(lambda: connected.n_workers == 2)
        yield connected


def wait_until(is_so, seconds=SECONDS):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
