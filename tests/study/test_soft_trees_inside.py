"""Inside soft trees: gates, leaves, training, sums and correlations are the model's own."""

from dataclasses import replace

import numpy as np
import pytest
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.soft_trees import ElboPath
from gbuq_core.study.soft_trees import SOFT_TREES, SoftTreesSettings
from gbuq_core.study.soft_trees_inside import (
    MOST_VALUES,
    SOFT_METHODS,
    TreeFrames,
    correlation_sheet,
    covariance_view,
    describe_covariance,
    describe_elbo,
    describe_tree,
    load_soft_trees_data,
    predict,
    stages_sheet,
    stages_view,
    tree_frames,
    tree_sheet,
    tree_view,
)
from tests.figure_readers import decode_sheet, decode_strips

FEW = {"rtol": 1e-6, "atol": 1e-7}  # float32
ELBO = ElboPath(np.arange(1, 101), np.log(np.arange(1.0, 101.0)))
SMALL = SoftTreesSettings(
    methods=(*SOFT_METHODS, "gp"), rows=60, depth=2, steps=300, trees=2, draws=25, shown=5
)


@pytest.fixture(scope="module")
def fits():
    return {fit.method: fit for fit in SOFT_TREES.run(SMALL).fits}


@pytest.fixture
def data(rng):
    x = np.linspace(-2.0, 2.0, 41)
    rows = {"X": rng.uniform(-1, 1, (30, 1)), "y": rng.normal(size=30)}
    return replace(
        load_soft_trees_data("tails", 30), **rows, x=x, y_range=(-2.0, 2.0), target_std=1.0
    )


@pytest.fixture
def frames():
    x = np.linspace(-2.0, 2.0, 101)
    left = 1.0 / (1.0 + np.exp(x * np.arange(1, 4)[:, None]))  # (3 moments, n)
    reach = np.stack([left, 1.0 - left], axis=1)
    leaves = np.stack([np.tile(x, (3, 1)), np.tile(-x, (3, 1))], axis=1)
    output = (reach * leaves).sum(axis=1)
    return TreeFrames(0, np.array([0, 50, 100]), x, 1.0 - left[:, None], reach, leaves, output)


@pytest.mark.parametrize("method", SOFT_METHODS)
def test_the_tree_of_a_draw_is_the_function_of_that_draw(fits, method):
    fit = fits[method]
    total = 0.0
    for tree in range(len(fit.frames)):
        view = tree_view(fit, replace(SMALL, draw=5, tree=tree + 1))
        assert view.gates.shape == (3, len(fit.data.x))
        np.testing.assert_allclose(view.reach.sum(axis=0), 1.0, rtol=SAME_SUM)
        np.testing.assert_allclose(
            view.output, (view.reach * view.leaf_means).sum(axis=0), rtol=SAME_SUM
        )
        total = total + view.output
    np.testing.assert_allclose(
        total, SOFT_TREES.view(fit, SMALL).functions[4], rtol=CANCELLED, atol=ZERO
    )  # the same numbers, summed in another order


def test_gates_are_even_where_the_view_says(fits):
    view = tree_view(fits["vst"], SMALL)
    for gate, split in zip(view.gates, view.splits, strict=True):
        if np.isnan(split):
            assert gate.min() >= 0.5 or gate.max() < 0.5
        else:
            # linear between places 0.01 apart, of a gate that is smooth over some 0.1
            assert np.interp(split, view.x, gate) == pytest.approx(0.5, abs=1e-6)


def test_the_training_ends_at_the_posterior_mean(fits):
    for method in SOFT_METHODS:
        frames = tree_frames(fits[method])
        assert frames.step[0] == 0
        assert frames.step[-1] == len(fits[method].elbo[0].step)
        end = tree_view(fits[method], SMALL)
        np.testing.assert_allclose(frames.output[-1], end.output, rtol=1e-5, atol=1e-5)  # float32
        assert np.abs(frames.output[0] - end.output).max() > 0.01
    beyond = tree_view(fits["vsgbm"], replace(SMALL, tree=10))
    assert beyond.tree == 1
    assert beyond.notes


def test_stages_add_up_to_the_functions(fits):
    stages = stages_view(fits["vsgbm"], SMALL)
    view = SOFT_TREES.view(fits["vsgbm"], SMALL)
    assert stages.functions.shape == (2, 25, len(stages.x))
    np.testing.assert_allclose(stages.functions[-1], view.functions, rtol=CANCELLED, atol=ZERO)
    fit = fits["vsgbm"]
    loc = predict(fit, SMALL, fit.data.X)[1].mean
    assert stages.rmse[1] == pytest.approx(
        np.sqrt(np.square(loc - fit.data.y).mean()), rel=CANCELLED
    )
    sheet = stages_sheet(stages, fit.data)
    (strip,) = decode_strips(encode_sheet(sheet))
    thin = np.isin(stages.x.astype(np.float32), strip.x)
    np.testing.assert_allclose(strip.lines["mean"], stages.functions.mean(axis=1)[:, thin], **FEW)
    with pytest.raises(InvalidParameter, match="VST is not built tree by tree"):
        stages_view(fits["vst"], SMALL)


def test_the_covariance_is_that_of_the_drawn_parameters(fits):
    view = covariance_view(fits["vst"])
    assert view.n_parameters == len(view.labels) == view.groups[-1][2] == 22
    assert view.rank == 5
    drawn = fits["vst"].model.draw_parameters(4000, 1)[0]
    np.testing.assert_allclose(np.diag(view.correlation), 1.0, rtol=SAME_SUM)
    # a correlation of 4,000 draws is within 5 / sqrt(4000) of the true one
    assert np.abs(np.corrcoef(drawn.T) - view.correlation).max() < 0.08
    first, second, value = view.strongest
    i, j = view.labels.index(first), view.labels.index(second)
    assert view.correlation[i, j] == value
    assert 0.0 < view.shared < 1.0


def test_mean_field_has_no_correlation():
    fit = SOFT_TREES.fit(SOFT_TREES.plan(replace(SMALL, rank=0, steps=60, depth=1), "vst"))
    view = covariance_view(fit)
    assert view.strongest is None
    assert view.shared == 0.0
    np.testing.assert_array_equal(view.correlation, np.eye(10))


def test_the_looks_refuse_methods_without_soft_trees(fits):
    for look in (tree_view, tree_frames, covariance_view):
        with pytest.raises(InvalidParameter, match="Gaussian process has no soft trees"):
            look(fits["gp"])


def test_the_tree_is_drawn_as_it_was_at_each_moment(frames, data):
    sheet = tree_sheet(frames, data, ELBO)
    leaves, gates, elbo = decode_strips(encode_sheet(sheet))
    assert decode_sheet(encode_sheet(sheet)).header["frameValues"] == [0.0, 50.0, 100.0]
    assert len(leaves.x) == 140 + 30
    for i in range(2):
        for moment in range(3):
            wanted = np.interp(leaves.x, frames.x, frames.leaf_means[moment, i])
            np.testing.assert_allclose(leaves.lines[f"leaf {i + 1}"][moment], wanted, **FEW)
    wanted = np.interp(gates.x, frames.x, frames.gates[2, 0])
    np.testing.assert_allclose(gates.lines["root"][2], wanted, **FEW)
    shown = np.isfinite(leaves.lines["rows"][0])
    assert sorted(leaves.lines["rows"][0][shown].tolist()) == sorted(
        data.y.astype(np.float32).tolist()
    )
    np.testing.assert_allclose(elbo.frame_x, [1.0, 50.0, 100.0])
    opacity = next(line for line in sheet.strips[0].lines if line.name == "leaf 1").weight
    np.testing.assert_allclose(opacity[1], np.interp(leaves.x, frames.x, frames.reach[1, 0]), **FEW)


def test_a_later_tree_of_a_sum_is_drawn_around_zero_without_rows(frames, data):
    sheet = tree_sheet(frames._replace(tree=1), data)
    leaves, _ = decode_strips(encode_sheet(sheet))
    assert len(leaves.x) == 140
    half = 1.3 * np.abs(frames.output[-1]).max()
    assert sheet.strips[0].y_limits == pytest.approx((-half, half))


def test_a_large_tree_sends_fewer_moments_but_the_first_and_the_last(frames, data):
    many = 64 * 61
    wide = {name: np.repeat(getattr(frames, name)[:1], 61, axis=0) for name in ("output", "gates")}
    reach = np.full((61, 64, 101), 1 / 64)
    large = frames._replace(
        step=np.arange(61),
        reach=reach,
        leaf_means=reach,
        gates=np.repeat(wide["gates"], 63, axis=1),
        output=wide["output"],
    )
    sheet = tree_sheet(large, data, ELBO, start=0)
    steps = sheet.frame_values
    assert (steps[0], steps[-1], sheet.start_frame) == (0.0, 60.0, 0)
    assert len(steps) < 61
    assert len(steps) * many <= MOST_VALUES


def test_a_tree_without_gates_and_path_can_be_drawn(frames, data):
    bare = frames._replace(
        gates=frames.gates[:, :0], reach=np.ones((3, 1, 101)), leaf_means=frames.leaf_means[:, :1]
    )
    assert len(decode_strips(encode_sheet(tree_sheet(bare, data)))) == 2


def test_words_have_the_numbers(fits):
    fit = fits["vst"]
    look = tree_view(fit, SMALL)
    assert "leaves have more than half of the weight" in describe_tree(look)
    many = replace(look, gates=np.empty((31, 1)), splits=np.linspace(0.0, 1.0, 31))
    assert "between x = 0.00 and 1.00." in describe_tree(many)
    assert "22 parameters, rank 5" in describe_covariance(covariance_view(fit))
    assert correlation_sheet(covariance_view(fit)).panels[0].subtitle == "rank 5 of 22"
    assert "of at most 300 steps" in describe_elbo(fit)
    assert "2 trees" in describe_elbo(fits["vsgbm"])
    assert describe_elbo(fits["gp"]) == ""
