"""Compiling the kernels before the tests that would wait for them, once for all workers."""

import time

import numpy as np

from gbuq_core.macau import MacauClassifier
from gbuq_core.macau.warmup import warm_up as warm_up_macau
from gbuq_core.soft_trees import VariationalSoftGBMRegressor, VariationalSoftTreeClassifier
from gbuq_core.soft_trees.warmup import warm_up as warm_up_soft_trees
from pages._ui import warmup

PATIENCE = 180.0  # seconds that a worker waits for what others compile


def _soft_trees():
    """All outputs share kernels, so that they are one worker's."""
    warm_up_soft_trees()
    x = np.linspace(-1.0, 1.0, 8)[:, None]
    small = {"depth": 1, "n_steps": 2, "n_draws": 2, "n_restarts": 1, "random_state": 0}
    trees = VariationalSoftGBMRegressor(n_trees=1, **small).fit(x, x[:, 0])
    trees.log_score(x, x[:, 0])
    classes = VariationalSoftTreeClassifier(**small).fit(x, x[:, 0] > 0.0)
    classes.log_score(x, x[:, 0] > 0.0)


def _macau():
    warm_up_macau()
    x = np.linspace(-1.0, 1.0, 16)[:, None]
    classifier = MacauClassifier(n_trees=2, min_child_samples=4, random_state=0, n_jobs=1)
    classifier.fit(x, x[:, 0] > 0.0).score_novelty(x)


# The longest first; none needs much of what another compiles.
STEPS = (_soft_trees, _macau, *warmup.FIRST_STEPS, *warmup.LATER_STEPS)


def compile_kernels():
    """Compile, or load from the cache, what pages and most tests need."""
    for step in STEPS:
        step()


def compile_together(directory):
    """Take steps from a list in ``directory`` that workers share, and wait for the other workers'.

    All workers would otherwise compile everything at the same time.
    """
    done = [directory / f"kernels-{number}-done" for number in range(len(STEPS))]
    for number, step in enumerate(STEPS):
        try:
            (directory / f"kernels-{number}").touch(exist_ok=False)
        except FileExistsError:  # another worker's
            continue
        try:
            step()
        finally:
            done[number].touch()
    deadline = time.monotonic() + PATIENCE
    while not all(part.exists() for part in done) and time.monotonic() < deadline:
        time.sleep(0.1)
