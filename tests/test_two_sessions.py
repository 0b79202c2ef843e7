"""Two sessions in compiled kernels at once, in a process of its own: an abort would end it.

Under numba's `workqueue` threading layer, two threads that enter a kernel with ``parallel=True``
abort the process. Ours have none; this shows what that buys.
"""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import threading
import numpy as np
from numba import njit
from gbuq_core.jobs import JobRunner, parallel_map, tick

@njit(nogil=True)
def walk(state, steps):
    for _ in range(steps):
        for i in range(state.shape[0]):
            state[i] = 3.9 * state[i] * (1.0 - state[i])

walk(np.full(1, 0.1), 1)
both_in = threading.Barrier(2)

def fit(session):
    def member(index):
        state = np.random.default_rng((session, index)).uniform(0.1, 0.9, 1000)
        for chunk in range(20):
            walk(state, 50)
            tick((chunk + 1) / 20)
        return state

    def compute(job):
        both_in.wait(60)
        return np.array(parallel_map(member, range(6), n_jobs=4))

    return compute

runner = JobRunner()
together = [runner.want(user, user, fit(user)) for user in (0, 1)]
together = [job.result(120) for job in together]
both_in = threading.Barrier(1)
for user in (0, 1):
    alone = runner.want("alone", ("alone", user), fit(user)).result(120)
    assert np.array_equal(alone, together[user])
print("both sessions have their results")
"""


def test_two_sessions_in_kernels_at_once():
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout == "both sessions have their results\n"
