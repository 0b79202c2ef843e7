"""The pictures of soft trees draw the numbers they are given, and stay within their axes."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tolerances import NEAR_ZERO

from gbuq_core.errors import InvalidData
from gbuq_core.experiments.soft_trees.bandit import (
    BanditSettings,
    make_bandit,
    mean_rewards,
    plan_bandit,
    run_bandit,
)
from gbuq_core.experiments.soft_trees.bandit_picture import bandit_figure
from gbuq_core.experiments.soft_trees.charts import (
    MOST_VALUES,
    correlation_sheet,
    rank_figure,
    regret_sheet,
    stages_sheet,
    tree_sheet,
)
from gbuq_core.experiments.soft_trees.data import load_soft_trees_data
from gbuq_core.experiments.soft_trees.fit import SoftTreesMoments, SoftTreesView
from gbuq_core.experiments.soft_trees.look import CovarianceView, StagesView, TreeFrames
from gbuq_core.experiments.soft_trees.picture import (
    LinesPanel,
    functions_figure,
    pack_sheaf,
    spread_note,
)
from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings
from gbuq_core.experiments.soft_trees.rank import RankRun, RankSettings
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.handles import live_knob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.knobs import Knob, find_knob
from gbuq_core.settings import knobs_of, to_values
from gbuq_core.soft_trees import ElboPath
from tests.figure_readers import decode_sheet, decode_strips, layers, unpack_sheaf

# Numbers are sent with five significant digits.
ROUNDING = {"rtol": 5.1e-5, "atol": 0.0}
FEW = {"rtol": 1e-6, "atol": 1e-7}  # float32


@pytest.fixture
def data(rng):
    x = np.linspace(-2.0, 2.0, 41)
    return replace(
        load_soft_trees_data("tails", 30),
        X=rng.uniform(-1, 1, (30, 1)),
        y=rng.normal(size=30),
        x=x,
        y_range=(-2.0, 2.0),
        support=np.abs(x) < 1,
        true_mean=x / 2,
        target_std=1.0,
    )


@pytest.fixture
def methods(rng):
    x, label = np.linspace(-2.0, 2.0, 41), "its label"
    return [
        LinesPanel(
            method,
            SoftTreesView(
                method,
                label,
                x,
                rng.normal(size=(6, 41)),
                np.sin(x),
                np.full(41, 0.13),
                np.full(41, 0.04),
                np.full(41, 0.09),
                (),
            ),
        )
        for method in ("vst", "gp")
    ]


ELBO = ElboPath(np.arange(1, 101), np.log(np.arange(1.0, 101.0)))


@pytest.fixture
def frames():
    x = np.linspace(-2.0, 2.0, 101)
    left = 1.0 / (1.0 + np.exp(x * np.arange(1, 4)[:, None]))  # (3 moments, n)
    reach = np.stack([left, 1.0 - left], axis=1)
    leaves = np.stack([np.tile(x, (3, 1)), np.tile(-x, (3, 1))], axis=1)
    output = (reach * leaves).sum(axis=1)
    return TreeFrames(0, np.array([0, 50, 100]), x, 1.0 - left[:, None], reach, leaves, output)


def test_every_method_has_a_panel_with_its_functions_mean_and_bands(data, methods):
    spec = functions_figure(data, methods).spec
    assert [panel["title"] for panel in spec["panels"]] == ["VST", "Gaussian process"]
    assert spec["facets"] == 2
    for panel, view in zip(spec["panels"], (method.view for method in methods), strict=True):
        assert panel["range"] == [-2.0, 2.0]
        (sheaf,) = layers(panel, "sheaf")
        x, functions = unpack_sheaf(sheaf)
        np.testing.assert_allclose(x, view.x)
        # 65,535 steps over three heights of the picture, 12: half a step is 9.2e-5.
        np.testing.assert_allclose(functions, np.clip(view.functions, -6, 6), atol=9.3e-5)
        (mean,) = layers(panel, "line", colour=METHOD_STYLES[view.method].colour)
        np.testing.assert_allclose(mean["y"], view.loc, **ROUNDING)
        rim, band, top = layers(panel, "band")
        np.testing.assert_allclose(band["high"], view.loc + 2 * 0.2, **ROUNDING)
        np.testing.assert_allclose(top["high"], view.loc + 2 * np.sqrt(0.13), **ROUNDING)
        np.testing.assert_allclose(rim["high"], band["low"])
        assert rim["opacity"] > band["opacity"]
        (truth,) = layers(panel, "line", colour="text")
        np.testing.assert_allclose(truth["y"], data.true_mean, **ROUNDING)
        assert truth["dash"]
    json.dumps(spec, allow_nan=False)


def test_where_there_are_no_rows_is_hatched_on_both_sides(data, methods):
    for panel in functions_figure(data, methods).spec["panels"]:
        hatched = [(part["from"], part["to"]) for part in layers(panel, "hatch")]
        np.testing.assert_allclose(hatched, [(-2.0, -0.95), (0.95, 2.0)])


@pytest.mark.parametrize(
    ("show", "n_sheaves", "n_bands"), [("both", 1, 3), ("functions", 1, 0), ("bands", 0, 3)]
)
def test_functions_or_bands_or_both(data, methods, show, n_sheaves, n_bands):
    spec = functions_figure(data, methods[:1], SoftTreesSettings(show=show)).spec
    assert len(layers(spec["panels"][0], "sheaf")) == n_sheaves
    assert len(layers(spec["panels"][0], "band")) == n_bands
    names = " ".join(entry["name"] for entry in spec["legend"])
    assert ("sampled functions" in names) == bool(n_sheaves)
    assert ("knowledge" in names) == bool(n_bands)


def test_many_methods_share_the_height_of_one_row(data, methods):
    height = functions_figure(data, methods).spec["height"]
    many = functions_figure(data, methods * 3).spec
    assert many["facets"] == 3
    assert height < 2 * many["height"] < 1.3 * height


def test_without_a_method_the_readers_points_still_stand_in_the_picture(data):
    spec = functions_figure(replace(data, true_mean=None), [], place=True).spec
    (panel,) = spec["panels"]
    np.testing.assert_allclose(layers(panel, "dots")[0]["x"], data.X[:, 0], **ROUNDING)
    np.testing.assert_allclose(spec["place"]["y"], data.y, **ROUNDING)
    assert "Click" in spec["hint"]
    assert "place" not in functions_figure(data, []).spec


def test_the_read_out_gives_every_mean_at_the_scenes_x(data, methods):
    own = methods[0].view
    coarse = own._replace(
        **{name: getattr(own, name)[::2] for name in ("x", "loc", "data", "knowledge")},
        functions=own.functions[:, ::2],
    )
    panel = LinesPanel("vst", coarse, "another grid")
    read = functions_figure(data, [panel]).spec["read"]
    assert [value["name"] for value in read["values"]] == ["truth", "VST"]
    assert len(read["values"][1]["at"]) == len(data.x)
    np.testing.assert_allclose(read["values"][1]["at"][::2], coarse.loc, **ROUNDING)
    np.testing.assert_allclose(read["values"][1]["spread"], np.sqrt(0.13), **ROUNDING)


def test_knobs_of_the_bar_have_moments_for_each_number_of_functions(data, methods):
    settings = SoftTreesSettings(shown=1, draws=100, show="bands")
    knobs = [
        live_knob(find_knob(knobs_of(SoftTreesSettings), key), to_values(settings)[key])
        for key in ("show", "shown", "draws")
    ]
    own = methods[0].view
    few = SoftTreesMoments(own.loc, own.total, own.data, 4 * own.knowledge)
    more = SoftTreesMoments(own.loc + 1, own.total, own.data, own.knowledge)
    method = methods[0]._replace(more=own.functions, moments=(few, few, more))
    spec = functions_figure(data, [method, methods[1]], settings, knobs=knobs).spec
    assert spec["live"]["at"] == {knob.key: knob.value for knob in knobs}
    live = spec["panels"][0]["live"]
    assert live["set"] == [0, 0, 1]  # each sent once
    assert live["notes"] == [spread_note(each, data) for each in (few, more)]
    np.testing.assert_allclose(live["moments"][1]["loc"], more.loc, **ROUNDING)
    assert live["most"] == 6
    assert "live" not in spec["panels"][1]
    waiting = functions_figure(data, [LinesPanel("vst", note="training")], settings, knobs=knobs)
    assert "knobs" not in waiting.spec
    assert waiting.spec["panels"][0]["note"] == "training"
    assert waiting.alt.endswith("VST: training.")


def test_a_function_that_leaves_the_picture_is_cut_off_far_outside():
    part = pack_sheaf([0.0, 1.0], [[1e9, -1e9]], (-1.0, 1.0), "#0072b2", 0.5)
    np.testing.assert_allclose(unpack_sheaf(part)[1], [[3.0, -3.0]])


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


def test_stages_show_each_sums_mean(rng, data):
    x, stages = np.linspace(0, 1, 50), rng.normal(size=(4, 30, 50))
    view = StagesView(x, stages, np.ones(4))
    sheet = stages_sheet(view, data)
    (strip,) = decode_strips(encode_sheet(sheet))
    np.testing.assert_allclose(strip.lines["mean"], stages.mean(axis=1), **FEW)
    assert sheet.frame_values == [1.0, 2.0, 3.0, 4.0]
    assert sheet.alt == "RMSE on the training rows after each tree: 1, 1, 1, 1."


def test_correlations_are_named_and_their_groups_parted(rng):
    labels, draws = ("gate", "leaf 1", "leaf 2", "leaf 3", "leaf 4"), rng.normal(size=(5, 20))
    view = CovarianceView(
        rank=2,
        n_parameters=5,
        correlation=np.corrcoef(draws),
        mean=np.zeros(5),
        scale=np.ones(5),
        labels=labels,
        groups=(("gates", 0, 1), ("leaves", 1, 5)),
        shared=0.5,
        strongest=None,
    )
    sheet = correlation_sheet(view)
    decoded = decode_sheet(encode_sheet(sheet))
    assert decoded.header["x"]["labels"] == list(labels)
    np.testing.assert_allclose(np.diag(decoded.values[0][0]), 1.0, rtol=1e-6)
    upright, flat = sheet.panels[0].lines
    assert (upright.x, upright.y, flat.y) == ([0.5, 0.5], [-0.5, 4.5], [0.5, 0.5])
    assert sheet.panels[0].subtitle == "rank 2 of 5"


@pytest.fixture(scope="module")
def played():
    return run_bandit(plan_bandit(BanditSettings(n_steps=1000, n_seeds=2), "random"))


def test_regret_grows_and_its_recent_mean_is_per_step(played):
    steps = np.arange(1.0, 1001.0)
    runs = [
        replace(played, mean=steps, standard_error=np.full(1000, np.nan)),
        replace(played, label="VST", mean=np.sqrt(steps), standard_error=np.ones(1000)),
    ]
    total, recent = decode_strips(encode_sheet(regret_sheet(runs)))
    np.testing.assert_allclose(recent.lines["Random"], 1.0, rtol=1e-6)
    last = (np.sqrt(1000.0) - np.sqrt(900.0)) / 100
    np.testing.assert_allclose(recent.lines["VST"][0, -1], last, rtol=1e-5)
    assert [name for name in total.lines if "error" in name] == [
        "VST \u2212 1 standard error",
        "VST + 1 standard error",
    ]


def test_the_bandit_is_played_from_its_first_repetition(played):
    steps = played.trace.steps
    policy = live_knob(Knob("bandit_policy", "Policy", "choice", "R", choices=("R",)), "R")
    step = live_knob(Knob("at", "Step", "ladder", 1, choices=tuple(steps.tolist())), 1)
    spec = bandit_figure([played], policy, step).spec
    contexts = make_bandit(played.plan, 0).contexts
    np.testing.assert_allclose(spec["contexts"], contexts, **ROUNDING)
    truth = mean_rewards(np.array(spec["x"]), 5, played.plan.alpha, played.plan.beta)
    assert spec["truth"] == pytest.approx(truth.T.ravel(), rel=5.1e-5, abs=NEAR_ZERO)
    (drawn,) = spec["policies"]
    assert drawn["pulled"] == played.arms[0].tolist()
    np.testing.assert_allclose(drawn["regret"], played.cumulative[0][steps - 1], **ROUNDING)
    assert spec["played"]["texts"][-1] == "1,000 of 1,000"
    assert not drawn["draws"]


def test_ranks_have_error_bars_where_an_error_is_known():
    settings = RankSettings(data="moons3", ranks=(0, 1, 5), n_seeds=2)
    mean, error = np.array([0.6, 0.7, 0.9]), np.array([0.1, np.nan, 0.02])
    auroc = np.stack([mean, mean], axis=1)
    figure = rank_figure(
        RankRun(settings, "moons", np.array([0, 1, 5]), 9, auroc, mean, error, auroc, 1.0)
    )
    bars = [
        part["y"] for part in layers(figure.spec["panels"][0], "line") if len(set(part["x"])) == 1
    ]
    np.testing.assert_allclose(bars, [[0.5, 0.7], [0.88, 0.92]])


def test_weights_must_fit_their_line():
    def sheet(weight):
        line = StripLine("a", [0.0, 1.0], weight=weight)
        return PanelSheet(panels=[], strips=[Strip(title="A", x=[0, 1], lines=[line])])

    encode_sheet(sheet([0.0, 1.0]))
    for weight, message in (([1.0], "as many weights"), ([0.0, 1.5], r"weights in \[0, 1\]")):
        with pytest.raises(InvalidData, match=message):
            encode_sheet(sheet(weight))
