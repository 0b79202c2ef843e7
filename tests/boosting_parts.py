"""What the tests of both losses share: a mixed table, its cells, and one member to work on."""

from typing import NamedTuple

import naive
import numpy as np
import pytest
from seeding_parts import normals_of

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor, make_spiral
from gbuq_core.boosting.numba_engine import MemberState, StepNumbers, start_member
from gbuq_core.boosting.plan import make_schedule
from gbuq_core.seeding import LEAF_NOISE, SPLIT_NOISE, stream
from gbuq_core.trees.binning import Bins, apply_bins, binned_rows, fit_bins, single_cells
from gbuq_core.trees.forest_kernels import empty_forest
from gbuq_core.trees.growing_kernels import make_tree_scratch

KINDS = pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])
IS_CATEGORY = np.array([False, False, True, True])


class Table(NamedTuple):
    """Binned rows, and what the twins need to split them."""

    matrix: np.ndarray
    bins: Bins
    columns: np.ndarray
    options: list

    @property
    def codes(self):
        return self.columns.T


def mixed_table(rng, n, max_bins=8):
    """Two numbers, one of them with gaps, and categories of four and two levels."""
    gaps = rng.normal(size=n)
    gaps[rng.random(n) < 0.2] = np.nan
    matrix = np.column_stack(
        [rng.normal(size=n), gaps, rng.integers(0, 4, n), rng.integers(0, 2, n)]
    )
    return binned(matrix, max_bins)


def binned(matrix, max_bins=8):
    bins = fit_bins(matrix, IS_CATEGORY, max_bins)
    options = naive.candidates(bins.n_codes, bins.is_category, bins.has_missing)
    return Table(matrix, bins, apply_bins(bins, matrix), options)


def numbers(**changes):
    """The scalars of a fit without noise, shrinkage and sub-sampling."""
    plain = StepNumbers(
        learning_rate=0.3,
        l2=3.0,
        noise=0.0,
        leaf_noise=0.0,
        decay=1.0,
        random_strength=0.0,
        n_rows=1.0,
        subsample=1.0,
        newton=True,
        preconditioned=False,
        log_std_floor=-12.0,
        schedule=make_schedule(50, "sglb", 200, (10.0, 1.0), 0.66, 0.9, False),
    )
    return plain._replace(**changes)


def member(table, start, depth=2, n_leaf_sums=5, n_trees=3, cells=None):
    """A member without trees on single cells, or on the given ones."""
    cells = single_cells(table.columns) if cells is None else cells
    rows = binned_rows(table.bins, cells)
    return rows, start_member(rows, np.asarray(start, float), n_trees, depth, n_leaf_sums)


def member_at(raw):
    """A member whose raw predictions are ``raw`` (n, n_outputs), without rows to split.

    It has the type of a true one: a type of the tests would get into the cache of the kernels.
    """
    n, n_outputs = raw.shape
    return MemberState(
        empty_forest(1, 1, n_outputs),
        raw,
        np.empty(raw.shape),
        np.empty(raw.shape),
        np.zeros((n, n_outputs + 1)),
        np.empty((2, 5)),
        np.zeros((2, 2)),
        make_tree_scratch(n, 1, 1, n_outputs + 1),
    )


def written(state):
    """What a ``gradients`` kernel writes."""
    return state.gradients, state.curvature, state.channels


def gradients_of(kernel, cells, raw, values):
    """Gradients, curvature, channels and their rms by a ``gradients`` kernel."""
    state = member_at(raw)
    rms, _ = kernel(cells, state, values, 1.0, np.uint64(99))
    return *written(state), rms


def langevin_draws(c, seed, member):
    """The ``draws`` of `naive.boost`, ``c`` times those of the kernels."""

    def draws(tree, is_leaf, shape):
        base = np.uint64(stream(seed, member, tree, LEAF_NOISE if is_leaf else SPLIT_NOISE))
        return c * normals_of(base, *shape)

    return draws


def assert_same_trees(forest, trees, tolerance):
    """``trees`` of `naive.boost` have the splits and the leaf values of ``forest``."""
    for tree, (splits, values) in enumerate(trees):
        grown = list(zip(forest.features[tree].tolist(), forest.bins[tree].tolist(), strict=True))
        assert grown == splits
        np.testing.assert_allclose(forest.values[tree], values, rtol=tolerance, atol=tolerance)


def fitted(kind, method="csglb", **knobs):
    """A small ensemble on the spiral's first two features, and the spiral."""
    spiral = make_spiral(60, random_state=0)
    small = {
        "stopping": None,
        "n_trees": 60,
        "cycle_length": 15,
        "depth": 3,
        "random_state": 1,
    } | knobs
    return kind(method=method, **small).fit(spiral.X[:, :2], spiral.y), spiral
