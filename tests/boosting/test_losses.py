"""Whole models of both losses: against a slow twin, merged and apart, compiled and in Python."""

import boosting_parts as parts
import naive
import numpy as np
import pytest
from boosting_parts import numbers
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.boosting import gaussian_kernels, numba_engine, softmax_kernels
from gbuq_core.boosting.numba_engine import (
    gaussian_start,
    log_std_floor,
    sum_classes,
    sum_gaussian,
    unrolled_width,
    with_own_mask,
)
from gbuq_core.boosting.plan import make_plan, make_schedule
from gbuq_core.trees.binning import merge_rows, single_cells

STREAM = np.uint64(99)
LOSSES = pytest.mark.parametrize("n_classes", [None, 2, 3, 4], ids=str)  # None: of a Gaussian
LEAVES = pytest.mark.parametrize("leaf_estimation", ["newton", "gradient"])
POSTERIOR = pytest.mark.parametrize("preconditioned", [False, True])


class Loss:
    """A target of a table's rows, and what kernels and twins need to boost its loss."""

    def __init__(self, table, rng, n_classes):
        self.n_classes, self.n_outputs = n_classes, n_classes or 2
        n, table = len(table.matrix), table.matrix
        self.y = table[:, 0] + table[:, 2] + np.exp(table[:, 0]) * rng.normal(size=n)
        self.kernels = gaussian_kernels if n_classes is None else softmax_kernels
        if n_classes is None:
            self.boost, self.start, self.n_sums = (
                gaussian_kernels.boost_gaussian,
                gaussian_start(self.y),
                5,
            )
            self.options = {"log_std_floor": log_std_floor(self.y)}
        else:
            edges = np.quantile(self.y, np.arange(1, n_classes) / n_classes)
            self.y = np.digitize(self.y, edges)
            self.boost, self.start = softmax_kernels.boost_softmax, np.zeros(n_classes)
            self.n_sums, self.options = n_classes + 1 + n_classes * (n_classes + 1) // 2, {}

    def sums(self, cells):
        if self.n_classes is None:
            return sum_gaussian(cells, self.y)
        return sum_classes(cells, self.y, self.n_classes)

    def gradients_of(self, cells, raw, values):
        of_loss = "gaussian" if self.n_classes is None else "softmax"
        kernel = getattr(self.kernels, f"{of_loss}_gradients")
        return parts.gradients_of(kernel, self.sums(cells), raw, values)

    def twin(self, newton, **options):
        if self.n_classes is None:
            return naive.Gaussian(self.y, newton, **options)
        return naive.Softmax(self.y, self.n_classes, newton, **options)

    def grown(self, table, cells, values, n_trees, boost=None, seed=0, member=0, masked=False):
        """The member after so many trees of three levels."""
        sums = self.sums(cells)
        rows, state = parts.member(table, self.start, 3, self.n_sums, n_trees, cells)
        (boost or self.boost)(
            rows,
            with_own_mask(sums) if masked else sums,
            state,
            values,
            seed,
            member,
            0,
            n_trees,
            unrolled_width(self.n_outputs),
        )
        return state


@pytest.mark.parametrize("newton", [True, False])
@LOSSES
def test_merged_sums_equal_row_sums(repeated, rng, n_classes, newton):
    """Gradients, curvature, counts and the rms (which needs fourth moments) of 600 rows."""
    loss, cells = Loss(repeated, rng, n_classes), merge_rows(repeated.columns)
    if n_classes is None:
        loss.y = 3.0 + rng.normal(size=600) ** 3  # skewed: odd moments matter
    raw = rng.normal(size=(len(cells.codes), loss.n_outputs)) * 0.5
    cell_of_row = np.empty(600, int)
    cell_of_row[cells.order] = np.repeat(np.arange(len(raw)), np.diff(cells.begin))
    values = numbers(n_rows=600.0, newton=newton)
    merged = loss.gradients_of(cells, raw, values)
    rows = loss.gradients_of(single_cells(repeated.columns), raw[cell_of_row], values)
    for part in (0, 1, 2):
        sums = np.zeros_like(merged[part])
        np.add.at(sums, cell_of_row, rows[part])
        if part == 1 and n_classes:  # probabilities, of a cell as of its rows
            sums = sums / np.diff(cells.begin)[:, None]
        np.testing.assert_allclose(merged[part], sums, rtol=SAME_SUM, atol=SAME_SUM)
    assert merged[3] == pytest.approx(rows[3], rel=SAME_SUM)
    assert rows[3] == pytest.approx(np.sqrt((rows[0] ** 2).sum() / 600), rel=SAME_SUM)


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("newton", [True, False])
@LOSSES
def test_sub_sample_sums_are_those_of_the_drawn_rows(repeated, rng, n_classes, newton, merge):
    loss = Loss(repeated, rng, n_classes)
    cells = merge_rows(repeated.columns) if merge else single_cells(repeated.columns)
    raw = rng.normal(size=(len(cells.codes), loss.n_outputs))
    values = numbers(n_rows=600.0, subsample=0.3, newton=newton)
    gradients, curvature, channels, rms = loss.gradients_of(cells, raw, values)
    cell_of_place = np.repeat(np.arange(len(raw)), np.diff(cells.begin))
    of_row = np.empty(600, int)
    of_row[cells.order] = cell_of_place
    steps = loss.twin(newton).gradients(raw[of_row])
    expected = np.zeros((len(raw), loss.n_outputs + 1))
    for place in np.flatnonzero(naive.kept_rows(int(STREAM), 600, 0.3)):  # in the cells' order
        expected[cell_of_place[place]] += [*steps[cells.order[place]], 1.0]
    np.testing.assert_allclose(channels, expected, rtol=CANCELLED, atol=NEAR_ZERO)
    # Leaf values and the strength of the score noise are those of all rows.
    everything = loss.gradients_of(cells, raw, values._replace(subsample=1.0))
    np.testing.assert_array_equal(gradients, everything[0])
    np.testing.assert_array_equal(curvature, everything[1])
    assert rms == everything[3]


@LEAVES
@LOSSES
def test_boosting_equals_the_slow_twin_tree_by_tree(table, rng, n_classes, leaf_estimation):
    """No noise, no shrinkage, no sub-sampling: deterministic boosting by the engine."""
    loss = Loss(table, rng, n_classes)
    kind = BoostedEnsembleRegressor if n_classes is None else BoostedEnsembleClassifier
    knobs = kind(
        stopping=None,
        method="sgb",
        subsample=1.0,
        random_strength=0.0,
        n_members=1,
        n_trees=4,
        depth=3,
        learning_rate=0.3,
        leaf_estimation=leaf_estimation,
        max_bins=8,
    )
    models = numba_engine.fit(
        table.matrix, parts.IS_CATEGORY, loss.y, n_classes, make_plan(knobs), 0, 1
    )
    twin = loss.twin(leaf_estimation == "newton")
    trees, raw = naive.boost(twin, table.codes, parts.IS_CATEGORY, table.options, 4, 3, 0.3, 3.0)
    assert models.decay == 1.0
    assert models.forests[0].levels.tolist() == [3] * 4
    parts.assert_same_trees(models.forests[0], trees, SAME_SUM)
    predicted = numba_engine.raw_predictions(models, table.matrix, np.array([4]), 1, 1)[0, 0]
    np.testing.assert_allclose(predicted, raw, rtol=SAME_SUM, atol=SAME_SUM)


@LEAVES
@LOSSES
def test_langevin_boosting_equals_the_slow_twin_tree_by_tree(
    table, rng, n_classes, leaf_estimation
):
    """With the posterior's noise on splits and leaves, from the same draws."""
    loss, newton, c = Loss(table, rng, n_classes), leaf_estimation == "newton", 0.3
    values = numbers(
        noise=c, leaf_noise=c, n_rows=120.0, newton=newton, preconditioned=True, **loss.options
    )
    state = loss.grown(table, single_cells(table.columns), values, 4, seed=7, member=1)
    trees, raw = naive.boost(
        loss.twin(newton, preconditioned=True),
        table.codes,
        parts.IS_CATEGORY,
        table.options,
        4,
        3,
        0.3,
        3.0,
        parts.langevin_draws(c, 7, 1),
    )
    parts.assert_same_trees(state.forest, trees, SAME_SUM)
    np.testing.assert_allclose(state.raw, raw, rtol=SAME_SUM, atol=SAME_SUM)


@POSTERIOR
@LOSSES
@pytest.mark.parametrize("masked", [False, True])
def test_merged_rows_grow_the_same_trees(repeated, rng, n_classes, preconditioned, masked):
    """Also under masks, which are those of the original rows."""
    loss = Loss(repeated, rng, n_classes)
    values = numbers(
        n_rows=600.0,
        decay=0.99,
        learning_rate=0.05 if masked else 0.3,
        preconditioned=preconditioned,
    )
    if masked:
        values = values._replace(
            schedule=make_schedule(8, "cbsglb", 4, (10.0, 1.0), 0.6, 0.75, False)
        )
    merged, apart = (
        loss.grown(repeated, cells, values, 8, masked=masked).forest
        for cells in (merge_rows(repeated.columns), single_cells(repeated.columns))
    )
    np.testing.assert_array_equal(merged.features, apart.features)
    np.testing.assert_array_equal(merged.bins, apart.bins)
    np.testing.assert_allclose(merged.values, apart.values, rtol=CANCELLED, atol=NEAR_ZERO)


@POSTERIOR
@pytest.mark.parametrize("n_classes", [None, 3], ids=str)
def test_python_and_compiled_boosting_agree(table, rng, monkeypatch, n_classes, preconditioned):
    loss, cells = Loss(table, rng, n_classes), single_cells(table.columns)
    values = numbers(n_rows=120.0, noise=0.1, leaf_noise=0.1, preconditioned=preconditioned)
    compiled = loss.grown(table, cells, values, 3).forest
    stream = loss.kernels.stream
    monkeypatch.setattr(loss.kernels, "stream", lambda *key: np.uint64(stream(*key)))
    python = loss.grown(table, cells, values, 3, loss.boost.py_func).forest
    for array, other in zip(compiled, python, strict=True):
        np.testing.assert_allclose(array, other, rtol=SAME_SUM)
