"""The picture of growing noise draws the numbers it is given: bands, truth, and a score below."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from gbuq_core.experiments.heteroscedastic.picture import MethodPanel, heteroscedastic_figure
from gbuq_core.experiments.heteroscedastic.plan import HeteroscedasticSettings
from gbuq_core.figures.theme import METHOD_STYLES
from tests.figure_readers import layers
from tests.heteroscedastic_parts import few_places, panel_of, score_of

ROUNDING = {"rtol": 5.1e-5, "atol": 1e-9}  # five significant digits are sent
Z95, Z50 = 1.959964, 0.6744898  # half the width of a normal's 95 % and 50 % interval, in stds
ALL = ("total", "data", "knowledge")
SETTINGS = HeteroscedasticSettings(rows=3000, left_from=-5.0, right_to=15.0)


@pytest.fixture(scope="module")
def ground():
    return few_places(SETTINGS)


def figure_of(ground, panels, **knobs):
    return heteroscedastic_figure(ground, panels, replace(SETTINGS, **knobs))


def shown(*bands):
    return {f"show_{part}": part in bands for part in ALL}


def test_data_are_the_inner_band_and_the_rim_ends_at_the_total(ground):
    (panel,) = figure_of(ground, [panel_of(ground)]).spec["panels"]
    inner, low, high = layers(panel, "band")
    np.testing.assert_allclose(inner["high"], ground.x / 2 + 0.6, **ROUNDING)
    np.testing.assert_allclose(low["high"], inner["low"])
    np.testing.assert_allclose(high["low"], inner["high"])
    np.testing.assert_allclose(high["high"], ground.x / 2 + 1.0, **ROUNDING)
    np.testing.assert_allclose(low["low"], ground.x / 2 - 1.0, **ROUNDING)
    assert low["opacity"] == high["opacity"] > inner["opacity"]
    (mean,) = layers(panel, "line", colour=METHOD_STYLES["macau_linear"].colour)
    np.testing.assert_allclose(mean["y"], ground.x / 2, **ROUNDING)


def test_the_truth_is_dashed_with_its_noise(ground):
    spec = figure_of(ground, [panel_of(ground)], level=0.5).spec
    low, high, mean = layers(spec["panels"][0], "line", colour="text")
    np.testing.assert_allclose(mean["y"], ground.true_mean, **ROUNDING)
    noise = Z50 * 0.1 * np.abs(ground.x)
    np.testing.assert_allclose(high["y"], ground.true_mean + noise, **ROUNDING)
    np.testing.assert_allclose(low["y"], ground.true_mean - noise, **ROUNDING)
    assert all(part["dash"] for part in (low, high, mean))
    assert low["width"] < mean["width"]


@pytest.mark.parametrize(
    ("bands", "n_bands", "n_lines"),
    [((), 0, 0), (("data",), 1, 0), (("knowledge",), 2, 0), (("total",), 0, 2), (ALL, 3, 2)],
)
def test_each_part_can_be_left_out(ground, bands, n_bands, n_lines):
    spec = figure_of(ground, [panel_of(ground)], **shown(*bands)).spec
    colour = METHOD_STYLES["macau_linear"].colour
    assert len(layers(spec["panels"][0], "band")) == n_bands
    assert len(layers(spec["panels"][0], "line", colour=colour)) == 1 + n_lines
    names = " ".join(entry["name"] for entry in spec["legend"])
    assert ("knowledge" in names) == ("knowledge" in bands)


def test_knowledge_without_data_lies_around_the_mean(ground):
    spec = figure_of(ground, [panel_of(ground)], **shown("knowledge")).spec
    low, high = layers(spec["panels"][0], "band")
    np.testing.assert_allclose(low["high"], ground.x / 2, **ROUNDING)
    np.testing.assert_allclose(high["high"], ground.x / 2 + 0.4 * Z95, **ROUNDING)


def test_a_method_without_a_part_has_no_band_for_it(ground):
    skew = ground.x / 2 - 1.0, ground.x / 2 + 2.0
    ends = dict(zip(("lower", "upper"), skew, strict=True))
    noise = panel_of(
        ground,
        "quantile",
        parts=("total", "data"),
        **ends,
        **{f"inner_{name}": end for name, end in ends.items()},
    )
    forest = panel_of(
        ground, "forest", parts=("total", "knowledge"), inner_lower=None, inner_upper=None
    )
    first, second = figure_of(ground, [noise, forest]).spec["panels"]
    assert (first["note"], second["note"]) == ("data only", "knowledge only")
    (whole,) = layers(first, "band")
    np.testing.assert_allclose(whole["low"], skew[0], **ROUNDING)
    np.testing.assert_allclose(whole["high"], skew[1], **ROUNDING)
    low, high = layers(second, "band")
    np.testing.assert_allclose(low["high"], ground.x / 2, **ROUNDING)
    np.testing.assert_allclose(high["high"], ground.x / 2 + 1.0, **ROUNDING)


def test_the_score_lies_below_with_its_mark_and_what_is_beyond(ground):
    spec = figure_of(ground, [panel_of(ground)]).spec
    below = spec["panels"][0]["below"]
    (curve,) = [part for part in layers(below, "line") if len(part["x"]) > 2]
    np.testing.assert_allclose(curve["y"], np.abs(ground.x - 5.0) - 5.0, **ROUNDING)
    (beyond,) = layers(below, "band")
    mark = np.quantile(np.abs(ground.x - 5.0)[ground.support] - 5.0, 0.95)
    assert np.min(beyond["low"]) == np.max(beyond["low"]) == pytest.approx(mark)
    np.testing.assert_allclose(beyond["high"], np.maximum(curve["y"], mark), **ROUNDING)
    assert [part["x"] for part in layers(below, "line", width=5.0)] == [[-5.0, 0.0], [10.0, 15.0]]
    assert [part["text"] for part in layers(below, "words")] == ["novelty, z-score"]
    hatched = [(part["from"], part["to"]) for part in layers(below, "hatch")]
    np.testing.assert_allclose(hatched, [(-10.0, -0.125), (10.125, 20.0)])
    low, high = below["range"]
    assert low < -5.0 < 10.0 < high


def test_scores_share_a_scale_unless_they_differ_or_are_asked_not_to(ground):
    small = np.linspace(0.0, 1.0, len(ground.x))
    two = [panel_of(ground), panel_of(ground, "macau_basic", curves=(score_of(small),))]
    shared = figure_of(ground, two).spec
    ranges = [panel["below"]["range"] for panel in shared["panels"]]
    assert ranges[0] == ranges[1]
    assert not any(panel["below"]["own"] for panel in shared["panels"])
    own = figure_of(ground, two, own_scale=True).spec
    assert own["panels"][1]["below"]["range"][1] < 2.0
    assert own["between"] > shared["between"]
    three = [*two, panel_of(ground, "catboost", curves=(score_of(small, "knowledge"),))]
    mixed = figure_of(ground, three).spec
    assert mixed["panels"][0]["below"]["range"] == mixed["panels"][1]["below"]["range"]
    assert mixed["panels"][2]["below"]["range"] != mixed["panels"][0]["below"]["range"]
    assert all(panel["below"]["own"] for panel in mixed["panels"])


@pytest.mark.parametrize("focus", [False, True])
def test_y_shows_the_rows_and_the_truth_whatever_is_predicted_elsewhere(ground, focus):
    off = ground.x / 2 + np.where(ground.x > 10.0, 1e3, 0.0)
    for panels in ([], [panel_of(ground, loc=off)]):
        ends = figure_of(ground, panels, focus=focus).spec["panels"][0]["range"]
        at = (ground.x >= 0.0) & (ground.x <= 10.0) if focus else slice(None)
        std = np.sqrt(ground.true_variance[at])
        every = [ground.y, ground.true_mean[at] - 2.0 * std, ground.true_mean[at] + 2.0 * std]
        low, high = min(map(np.min, every)), max(map(np.max, every))
        room = 0.06 * (high - low)
        np.testing.assert_allclose(ends, [low - room, high + room])


def test_a_quiet_picture_names_its_parts_on_them_and_apart_from_one_another(ground):
    spec = heteroscedastic_figure(ground, [panel_of(ground)], SETTINGS, quiet=True).spec
    size = np.ptp([spec["x"]["range"], spec["panels"][0]["range"]], axis=1)
    at = {entry["name"]: entry["at"] for entry in spec["legend"]}
    off = {name: abs(y - x / 2) for name, (x, y) in at.items()}  # from the mean
    assert off["prediction"] == pytest.approx(0.0, abs=1e-9)
    assert off["data 95 %"] < 0.6 < off["knowledge"] < 1.0
    x, y = at["true mean"]
    assert y == pytest.approx(np.interp(x, ground.x, ground.true_mean))
    for pair in itertools.combinations([entry["at"] for entry in spec["legend"]], 2):
        assert np.any(np.abs(np.subtract(*pair)) / size > (0.2, 0.08))
    assert "rows of another kind" in layers(spec["panels"][0]["below"], "words")[0]["text"]


def test_a_logarithmic_score_says_so(ground):
    tens = np.geomspace(1e-5, 10.0, len(ground.x))
    mark = np.quantile(tens[ground.support], 0.95)
    panel = panel_of(ground, curves=(score_of(tens**2, "knowledge"),))
    spec = figure_of(ground, [panel], score="knowledge", log=True).spec
    below = spec["panels"][0]["below"]
    (curve,) = [part for part in layers(below, "line") if len(part["x"]) > 2]
    assert curve["y"][0] == pytest.approx(np.log10(0.05 * mark), abs=1e-4)  # the floor
    assert curve["y"][-1] == pytest.approx(1.0)
    assert layers(below, "words")[0]["text"] == "log\u2081\u2080 knowledge, standard deviation"
    assert spec["read"]["values"][-1]["at"][-1] == pytest.approx(10.0)


def test_a_score_that_is_the_same_everywhere_has_an_axis(ground):
    flat = score_of(np.zeros(len(ground.x)), "inference_novelty")
    for log in (False, True):
        spec = figure_of(ground, [panel_of(ground, curves=(flat,))], log=log).spec
        low, high = spec["panels"][0]["below"]["range"]
        assert high - low > 0.9


def test_methods_that_only_score_or_have_no_result_keep_their_panel(ground):
    none = dict.fromkeys(("loc", "lower", "upper", "inner_lower", "inner_upper"))
    scored = panel_of(ground, "isolation", parts=(), **none)
    spec = figure_of(ground, [scored, MethodPanel("gnll", note="being fitted")]).spec
    assert [panel["note"] for panel in spec["panels"]] == ["predicts nothing", "being fitted"]
    assert not any(layers(panel, "band") for panel in spec["panels"])
    assert len(layers(spec["panels"][0], "dots")[0]["x"]) == 700
    names = [part["name"] for part in spec["read"]["values"]]
    assert names == ["truth", "Isolation forest novelty, z-score"]
    assert not layers(spec["panels"][1]["below"], "words")
    assert layers(spec["panels"][0]["below"], "words")


def test_without_a_method_the_rows_stand_alone(ground):
    (panel,) = figure_of(ground, []).spec["panels"]
    assert panel["title"] == "Rows"
    assert "below" not in panel
    assert layers(panel, "dots")


def test_two_rows_of_panels_are_lower_and_send_fewer_dots(ground):
    row = figure_of(ground, [panel_of(ground)] * 3).spec
    two = figure_of(ground, [panel_of(ground)] * 6).spec
    assert row["facets"] == two["facets"] == 3
    assert 0.4 * row["height"] < two["height"] < 0.6 * row["height"]
    assert len(layers(two["panels"][0], "dots")[0]["x"]) == 350


def test_the_read_out_gives_means_stds_and_scores(ground):
    values = figure_of(ground, [panel_of(ground)]).spec["read"]["values"]
    assert [value["name"] for value in values] == ["truth", "MACAU (linear)", "novelty, z-score"]
    np.testing.assert_allclose(values[1]["spread"], 0.5, **ROUNDING)
    assert all(len(value["at"]) == len(ground.x) for value in values)


def test_the_figure_is_plain_data(ground):
    json.dumps(figure_of(ground, [panel_of(ground)]).spec, allow_nan=False)
