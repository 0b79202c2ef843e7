"""The pictures of soft trees draw the numbers they are given, and stay within their axes."""

import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from gbuq_core.errors import InvalidData
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.curves import curves_source
from gbuq_core.figures.soft_trees.charts import (
    MOST_VALUES,
    RankLine,
    Regret,
    TreeFrames,
    correlation_sheet,
    rank_figure,
    regret_sheet,
    stages_sheet,
    tree_sheet,
)
from gbuq_core.figures.soft_trees.picture import Functions, Scene, functions_figure, pack_sheaf
from gbuq_core.figures.theme import METHOD_STYLES
from tests.figure_readers import decode_sheet, decode_strips, unpack_sheaf

# Numbers are sent with five significant digits.
ROUNDING = {"rtol": 5.1e-5, "atol": 0.0}
FEW = {"rtol": 1e-6, "atol": 1e-7}  # float32


@pytest.fixture
def scene(rng):
    x = np.linspace(-2.0, 2.0, 41)
    return Scene(x, (-2.0, 2.0), rng.uniform(-1, 1, 30), rng.normal(size=30), np.abs(x) < 1, x / 2)


@pytest.fixture
def methods(rng):
    x = np.linspace(-2.0, 2.0, 41)
    return [
        Functions(
            method, x, rng.normal(size=(6, 41)), np.sin(x), np.full(41, 0.04), np.full(41, 0.09)
        )
        for method in ("vst", "gp")
    ]


@pytest.fixture
def frames(rng):
    x = np.linspace(-2.0, 2.0, 101)
    left = 1.0 / (1.0 + np.exp(x * np.arange(1, 4)[:, None]))  # (3 moments, n)
    reach = np.stack([left, 1.0 - left], axis=1)
    leaves = np.stack([np.tile(x, (3, 1)), np.tile(-x, (3, 1))], axis=1)
    return TreeFrames(
        x=x,
        steps=np.array([0, 50, 100]),
        gates=1.0 - left[:, None],
        reach=reach,
        leaves=leaves,
        output=(reach * leaves).sum(axis=1),
        elbo_steps=np.arange(1.0, 101.0),
        elbo=np.log(np.arange(1.0, 101.0)),
        x_rows=rng.uniform(-1, 1, 20),
        y_rows=rng.normal(size=20),
    )


def layers(panel, kind, **looks):
    return [
        part
        for part in panel["layers"]
        if part["kind"] == kind and all(part.get(k) == v for k, v in looks.items())
    ]


def test_every_method_has_a_panel_with_its_functions_mean_and_bands(scene, methods):
    spec = functions_figure(scene, methods).spec
    assert [panel["title"] for panel in spec["panels"]] == ["VST", "Gaussian process"]
    assert spec["facets"] == 2
    for panel, one in zip(spec["panels"], methods, strict=True):
        assert panel["range"] == [-2.0, 2.0]
        (sheaf,) = layers(panel, "sheaf")
        x, functions = unpack_sheaf(sheaf)
        np.testing.assert_allclose(x, one.x)
        # 65,535 steps over three heights of the picture, 12: half a step is 9.2e-5.
        np.testing.assert_allclose(functions, np.clip(one.functions, -6, 6), atol=9.3e-5)
        (mean,) = layers(panel, "line", colour=METHOD_STYLES[one.method].colour)
        np.testing.assert_allclose(mean["y"], one.loc, **ROUNDING)
        rim, band, top = layers(panel, "band")
        np.testing.assert_allclose(band["high"], one.loc + 2 * 0.2, **ROUNDING)
        np.testing.assert_allclose(top["high"], one.loc + 2 * np.sqrt(0.13), **ROUNDING)
        np.testing.assert_allclose(rim["high"], band["low"])
        assert rim["opacity"] > band["opacity"]
        (truth,) = layers(panel, "line", colour="text")
        np.testing.assert_allclose(truth["y"], scene.true_mean, **ROUNDING)
        assert truth["dash"]
    json.dumps(spec, allow_nan=False)


def test_where_there_are_no_rows_is_hatched_on_both_sides(scene, methods):
    for panel in functions_figure(scene, methods).spec["panels"]:
        hatched = [(part["from"], part["to"]) for part in layers(panel, "hatch")]
        np.testing.assert_allclose(hatched, [(-2.0, -0.95), (0.95, 2.0)])


@pytest.mark.parametrize(
    ("show", "n_sheaves", "n_bands"), [("both", 1, 3), ("functions", 1, 0), ("bands", 0, 3)]
)
def test_functions_or_bands_or_both(scene, methods, show, n_sheaves, n_bands):
    spec = functions_figure(scene, methods[:1], show).spec
    assert len(layers(spec["panels"][0], "sheaf")) == n_sheaves
    assert len(layers(spec["panels"][0], "band")) == n_bands
    names = " ".join(entry["name"] for entry in spec["legend"])
    assert ("sampled functions" in names) == bool(n_sheaves)
    assert ("knowledge" in names) == bool(n_bands)


def test_many_methods_share_the_height_of_one_row(scene, methods):
    one = functions_figure(scene, methods).spec["height"]
    many = functions_figure(scene, methods * 3).spec
    assert many["facets"] == 3
    assert one < 2 * many["height"] < 1.3 * one


def test_without_a_method_the_readers_points_still_stand_in_the_picture(scene):
    spec = functions_figure(scene._replace(true_mean=None), [], place=True).spec
    (panel,) = spec["panels"]
    np.testing.assert_allclose(layers(panel, "dots")[0]["x"], scene.x_rows, **ROUNDING)
    np.testing.assert_allclose(spec["place"]["y"], scene.y_rows, **ROUNDING)
    assert "Click" in spec["hint"]
    assert "place" not in functions_figure(scene, []).spec


def test_the_read_out_gives_every_mean_at_the_scenes_x(scene, methods):
    coarse = methods[0]._replace(
        **{name: getattr(methods[0], name)[::2] for name in ("x", "loc", "data", "knowledge")},
        functions=methods[0].functions[:, ::2],
    )
    read = functions_figure(scene, [coarse]).spec["read"]
    assert [value["name"] for value in read["values"]] == ["truth", "VST"]
    assert len(read["values"][1]["at"]) == len(scene.x)
    np.testing.assert_allclose(read["values"][1]["at"][::2], coarse.loc, **ROUNDING)
    np.testing.assert_allclose(read["values"][1]["spread"], np.sqrt(0.13), **ROUNDING)


def test_a_function_that_leaves_the_picture_is_cut_off_far_outside():
    part = pack_sheaf([0.0, 1.0], [[1e9, -1e9]], (-1.0, 1.0), "#0072b2", 0.5)
    np.testing.assert_allclose(unpack_sheaf(part)[1], [[3.0, -3.0]])


def test_the_tree_is_drawn_as_it_was_at_each_moment(frames):
    sheet = tree_sheet(frames, (-2.0, 2.0))
    leaves, gates, elbo = decode_strips(encode_sheet(sheet))
    assert decode_sheet(encode_sheet(sheet)).header["frameValues"] == [0.0, 50.0, 100.0]
    assert len(leaves.x) == 140 + 20
    for i in range(2):
        for moment in range(3):
            wanted = np.interp(leaves.x, frames.x, frames.leaves[moment, i])
            np.testing.assert_allclose(leaves.lines[f"leaf {i + 1}"][moment], wanted, **FEW)
    wanted = np.interp(gates.x, frames.x, frames.gates[2, 0])
    np.testing.assert_allclose(gates.lines["root"][2], wanted, **FEW)
    shown = np.isfinite(leaves.lines["rows"][0])
    assert sorted(leaves.lines["rows"][0][shown].tolist()) == sorted(
        frames.y_rows.astype(np.float32).tolist()
    )
    np.testing.assert_allclose(elbo.frame_x, [1.0, 50.0, 100.0])
    opacity = next(line for line in sheet.strips[0].lines if line.name == "leaf 1").weight
    np.testing.assert_allclose(opacity[1], np.interp(leaves.x, frames.x, frames.reach[1, 0]), **FEW)


def test_a_large_tree_sends_fewer_moments_but_the_first_and_the_last(frames):
    many = 64 * 61
    wide = {name: np.repeat(getattr(frames, name)[:1], 61, axis=0) for name in ("output", "gates")}
    reach = np.full((61, 64, 101), 1 / 64)
    large = replace(
        frames,
        steps=np.arange(61), reach=reach, leaves=reach, gates=np.repeat(wide["gates"], 63, axis=1),
        output=wide["output"],
    )  # fmt: skip
    sheet = tree_sheet(large, (-2.0, 2.0), start=0)
    steps = sheet.frame_values
    assert (steps[0], steps[-1], sheet.start_frame) == (0.0, 60.0, 0)
    assert len(steps) < 61
    assert len(steps) * many <= MOST_VALUES


def test_a_tree_without_gates_and_path_can_be_drawn(frames):
    bare = replace(
        frames,
        gates=frames.gates[:, :0], reach=np.ones((3, 1, 101)), leaves=frames.leaves[:, :1],
        elbo=np.empty(0), elbo_steps=np.empty(0),
    )  # fmt: skip
    assert len(decode_strips(encode_sheet(tree_sheet(bare, (-2.0, 2.0))))) == 2


def test_stages_show_each_sums_mean(rng):
    stages = rng.normal(size=(4, 30, 50))
    sheet = stages_sheet(np.linspace(0, 1, 50), stages, (-3.0, 3.0), "#cc79a7")
    (strip,) = decode_strips(encode_sheet(sheet))
    np.testing.assert_allclose(strip.lines["mean"], stages.mean(axis=1), **FEW)
    assert sheet.frame_values == [1.0, 2.0, 3.0, 4.0]


def test_correlations_are_named_and_their_groups_parted(rng):
    labels = ["gate", "leaf 1", "leaf 2", "leaf 3", "leaf 4"]
    sheet = correlation_sheet(np.corrcoef(rng.normal(size=(5, 20))), labels, [0, 1, 5])
    decoded = decode_sheet(encode_sheet(sheet))
    assert decoded.header["x"]["labels"] == labels
    np.testing.assert_allclose(np.diag(decoded.values[0][0]), 1.0, rtol=1e-6)
    upright, flat = sheet.panels[0].lines
    assert (upright.x, upright.y, flat.y) == ([0.5, 0.5], [-0.5, 4.5], [0.5, 0.5])


def test_regret_grows_and_its_recent_mean_is_per_step():
    runs = [
        Regret("random", "Random", np.arange(1.0, 1001.0), np.full(1000, np.nan)),
        Regret("vst", "VST", np.sqrt(np.arange(1.0, 1001.0)), np.ones(1000)),
    ]
    total, recent = decode_strips(encode_sheet(regret_sheet(runs)))
    np.testing.assert_allclose(recent.lines["Random"], 1.0, rtol=1e-6)
    last = (np.sqrt(1000.0) - np.sqrt(900.0)) / 100
    np.testing.assert_allclose(recent.lines["VST"][0, -1], last, rtol=1e-5)
    assert [name for name in total.lines if "error" in name] == [
        "VST \u2212 1 standard error", "VST + 1 standard error",
    ]  # fmt: skip


def test_ranks_have_error_bars_where_an_error_is_known():
    one = RankLine("moons", np.array([0, 1, 5]), np.array([0.6, 0.7, 0.9]),
                   np.array([0.1, np.nan, 0.02]))  # fmt: skip
    figure = rank_figure([one], [("SGLB", "#0072b2", 0.55)])
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


@pytest.mark.skipif(shutil.which("node") is None, reason="node reads the renderer's grammar")
def test_the_renderer_is_one_module_without_errors_of_grammar(tmp_path):
    path = tmp_path / "curves.mjs"
    path.write_text(curves_source(), encoding="utf-8")
    read = subprocess.run(["node", "--check", str(path)], capture_output=True, text=True)
    assert read.returncode == 0, read.stderr
