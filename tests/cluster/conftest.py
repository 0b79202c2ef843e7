"""A real scheduler and real workers on the loopback, each a process that a test may kill."""

import importlib.util
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gbuq_core.cluster import open_cluster

ROOT = Path(__file__).parents[2]
SECONDS = 60.0  # for anything to start on a busy machine


class Processes:
    """A scheduler at one address, which survives its restart, and workers."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers = []
        self.start_scheduler()

    def start(self, command, *options):
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
        log = open(self.folder / "log.txt", "ab")  # noqa: SIM115 (the process writes to it)
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{command}", *options],
            cwd=self.folder, stdout=log, stderr=log, env=environment,
        )  # fmt: skip

    def start_scheduler(self):
        self.scheduler = self.start(
            "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
        )

    def add_worker(self):
        worker = self.start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
            "--host", "127.0.0.1", "--death-timeout", str(SECONDS),
            "--local-directory", str(self.folder),
        )  # fmt: skip
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


@pytest.fixture(scope="package")
def processes(tmp_path_factory, require_or_fail):
    there = importlib.util.find_spec("distributed") is not None
    require_or_fail(there, "Dask is not installed (extra cluster)")
    found = Processes(tmp_path_factory.mktemp("cluster"))
    yield found
    found.close()


@pytest.fixture
def cluster(processes):
    """Two workers, however many the test before has left."""
    processes.keep_workers(2)
    with open_cluster(processes.address, n_workers=2, timeout=SECONDS) as found:
        wait_until(lambda: found.n_workers == 2)
        yield found


def wait_until(is_so, seconds=SECONDS):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
