"""What tests of jobs share."""

import time

from gbuq_core.jobs import JobRunner

# Reached only by a test that hangs; no time is asserted.
HANG = 60


class Counted:
    """A fit that counts how often it is computed."""

    def __init__(self, value="value"):
        self.value, self.calls = value, 0

    def __call__(self, job):
        self.calls += 1
        return self.value


def watched(work):
    """What some work returns, and the share of it that its job has told, by seconds."""
    job = JobRunner().want("ann", "key", lambda job: work())
    seen = []
    began = time.perf_counter()
    while not job.wait(0.01):
        seen.append((time.perf_counter() - began, job.done / job.total))
    seen.append((time.perf_counter() - began, job.done / job.total))
    return job.result(HANG), seen
