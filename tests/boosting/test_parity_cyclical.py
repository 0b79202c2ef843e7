"""Cyclical boosting against CatBoost with a loss of the user's own: how the authors made theirs.

The paper (appendix A) scales and masks the gradients in a user-defined objective, which CatBoost
calls row by row: once for the splits of a tree and once for its leaves.
"""

import naive
import numpy as np
import pytest
from scipy.special import softmax

from gbuq_core import BoostedEnsembleClassifier
from gbuq_core.boosting import numba_engine
from gbuq_core.boosting.plan import langevin_numbers, make_schedule
from gbuq_core.seeding import MASK_ROWS, stream

pytestmark = pytest.mark.parity

N_ROWS, N_TREES, CYCLE = 150, 24, 8


class ScaledSoftmax:
    """The multi-class log likelihood with the gradients of algorithm 1."""

    def __init__(self, schedule, masks):
        self.schedule, self.masks, self.calls = schedule, masks, 0

    def calc_ders_multi(self, approx, target, weight):
        tree, row = self.calls // (2 * N_ROWS), self.calls % N_ROWS
        self.calls += 1
        p = naive.softmax(list(approx))
        mask = self.masks[self.schedule.cycle[tree]][row] if self.schedule.share[tree] < 1 else 1.0
        gradient = self.schedule.scale[tree] * mask * (np.eye(3)[int(target)] - p)
        return gradient.tolist(), (np.outer(p, p) - np.diag(p)).tolist()


@pytest.mark.filterwarnings("ignore:Can't optimze method")
@pytest.mark.parametrize("method", ["csglb", "cbsglb"])
@pytest.mark.parametrize("leaf_estimation", ["newton", "gradient"])
def test_trees_are_those_of_catboost_with_the_authors_objective(
    method, leaf_estimation, monkeypatch
):
    from catboost import CatBoostClassifier

    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, size=(N_ROWS, 3)).astype(float)
    signal = np.sin(X[:, 0] / 3) + 0.1 * X[:, 1] * (X[:, 2] > 5)
    y = np.digitize(signal + 0.3 * rng.normal(size=N_ROWS), [0.3, 0.9])
    schedule = make_schedule(N_TREES, method, CYCLE, (10.0, 1.0), 0.66, 0.75, False)
    masks = [
        naive.kept_rows(int(stream(0, 0, cycle, MASK_ROWS)), N_ROWS, 0.66)
        for cycle in range(N_TREES // CYCLE)
    ]
    theirs = CatBoostClassifier(
        loss_function=ScaledSoftmax(schedule, masks),
        eval_metric="MultiClass",
        classes_count=3,
        iterations=N_TREES,
        depth=3,
        learning_rate=0.05,
        l2_leaf_reg=3.0,
        random_strength=0.0,
        border_count=127,
        leaf_estimation_method=leaf_estimation.capitalize(),
        leaf_estimation_iterations=1,
        leaf_estimation_backtracking="No",
        boosting_type="Plain",
        bootstrap_type="No",
        boost_from_average=False,
        allow_writing_files=False,
        logging_level="Silent",
        thread_count=1,
        metric_period=N_TREES,
    ).fit(X, y)
    # No noise (an absurd temperature) and no shrinkage: with it both agree to 4e-5 only here, since
    # the models do not shrink at quite the same moment.
    monkeypatch.setattr(
        numba_engine,
        "langevin_numbers",
        lambda plan, n_rows: langevin_numbers(plan, n_rows)._replace(decay=1.0),
    )
    ours = BoostedEnsembleClassifier(
        stopping=None,
        method=method,
        n_trees=N_TREES,
        cycle_length=CYCLE,
        exploration_fraction=0.75,
        temperature=1e200,
        random_strength=0.0,
        leaf_estimation=leaf_estimation,
        depth=3,
        random_state=0,
    ).fit(X, y)
    members = ours.predict_members(X)
    assert len(members) == 3
    for member, n_trees in zip(members, ours.member_trees(), strict=True):
        raw = theirs.predict(X, prediction_type="RawFormulaVal", ntree_end=int(n_trees))
        # The same sums in another order; a wrong scale or mask moves probabilities by 0.1.
        np.testing.assert_allclose(member, softmax(raw, axis=-1), atol=1e-7)
