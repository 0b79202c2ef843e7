"""The picture over one x axis draws the numbers it is given: bands, truth, and a score below."""

import itertools
import json

import numpy as np
import pytest

from gbuq_core.figures.handles import LiveKnob
from gbuq_core.study.bands import Axis, Band, Look, bands
from gbuq_core.study.members import Fit, Predictive, View
from tests.figure_readers import layers

ROUNDING = {"rtol": 5.1e-5, "atol": 1e-9}  # five significant digits are sent
Z95, Z50 = 1.959964, 0.6744898  # half the width of a normal's 95 % and 50 % interval, in stds
ALL = ("total", "data", "knowledge")
X = np.linspace(-10.0, 20.0, 121)
COLOUR = "#0072b2"
NAMES = {"novelty": "Novelty", "isolation": "Isolation", "knowledge": "Knowledge uncertainty"}
rng = np.random.default_rng(0)
ROWS = np.sort(rng.uniform(0.0, 10.0, 3000))
KNOWN = Axis(
    X,
    (X >= 0.0) & (X <= 10.0),
    X / 2 + np.sin(X),
    0.1 * np.abs(X),
    (ROWS, ROWS / 2 + rng.normal(size=3000)),
    ((-5.0, 0.0), (10.0, 15.0)),
)


def at(mean=X / 2, data=0.09, knowledge=0.16, scores=None, **more):
    """A straight mean with a std of 0.3 from data and 0.4 from knowledge."""
    none = np.full(len(X), np.nan)
    parts = [none if part is None else np.full(len(X), part) for part in (data, knowledge)]
    total = np.nansum(parts, axis=0) if data or knowledge else none
    scores = {"novelty": np.abs(X - 5.0) - 5.0} if scores is None else scores
    return Predictive(mean, total, *parts, scores=scores, **more)


def panel(label="First", view=None, note="", colour=COLOUR):
    view = at() if view is None else view
    return Band(label, colour, View(Fit(None, None), view), note)


def drawn(panels, quiet=False, known=KNOWN, **look):
    look = Look((0.5, 0.95), **({"level": 0.95, "score": "novelty", "names": NAMES, **look}))
    return bands(known, panels, look, name="bands", said="Rows.", quiet=quiet).spec


def test_data_are_the_inner_band_and_the_rim_ends_at_the_total():
    (only,) = drawn([panel()])["panels"]
    inner, low, high = layers(only, "band")
    np.testing.assert_allclose(inner["high"], X / 2 + 0.3 * Z95, **ROUNDING)
    np.testing.assert_allclose(low["high"], inner["low"])
    np.testing.assert_allclose(high["low"], inner["high"])
    np.testing.assert_allclose(high["high"], X / 2 + 0.5 * Z95, **ROUNDING)
    np.testing.assert_allclose(low["low"], X / 2 - 0.5 * Z95, **ROUNDING)
    assert low["opacity"] == high["opacity"] > inner["opacity"]
    (mean,) = layers(only, "line", colour=COLOUR)
    np.testing.assert_allclose(mean["y"], X / 2, **ROUNDING)


def test_the_truth_is_dashed_with_its_noise():
    low, high, mean = layers(drawn([panel()], level=0.5)["panels"][0], "line", colour="text")
    np.testing.assert_allclose(mean["y"], KNOWN.mean, **ROUNDING)
    np.testing.assert_allclose(high["y"], KNOWN.mean + Z50 * KNOWN.std, **ROUNDING)
    np.testing.assert_allclose(low["y"], KNOWN.mean - Z50 * KNOWN.std, **ROUNDING)
    assert all(part["dash"] for part in (low, high, mean))


@pytest.mark.parametrize(
    ("parts", "n_bands", "n_lines"),
    [((), 0, 0), (("data",), 1, 0), (("knowledge",), 2, 0), (("total",), 0, 2), (ALL, 3, 2)],
)
def test_each_part_can_be_left_out(parts, n_bands, n_lines):
    spec = drawn([panel()], parts=parts)
    assert len(layers(spec["panels"][0], "band")) == n_bands
    assert len(layers(spec["panels"][0], "line", colour=COLOUR)) == 1 + n_lines
    names = " ".join(entry["name"] for entry in spec["legend"])
    assert ("knowledge" in names) == ("knowledge" in parts)


def test_knowledge_without_data_lies_around_the_mean():
    low, high = layers(drawn([panel()], parts=("knowledge",))["panels"][0], "band")
    np.testing.assert_allclose(low["high"], X / 2, **ROUNDING)
    np.testing.assert_allclose(high["high"], X / 2 + 0.4 * Z95, **ROUNDING)


def test_a_method_without_a_part_has_no_band_for_it():
    skew = X / 2 - 1.0, X / 2 + 2.0
    noise = panel("Noise", at(knowledge=None, intervals={0.95: skew}))
    forest = panel("Forest", at(data=None))
    first, second = drawn([noise, forest])["panels"]
    assert (first["note"], second["note"]) == ("data only", "knowledge only")
    (whole,) = layers(first, "band")
    np.testing.assert_allclose(whole["low"], skew[0], **ROUNDING)
    np.testing.assert_allclose(whole["high"], skew[1], **ROUNDING)
    low, high = layers(second, "band")
    np.testing.assert_allclose(low["high"], X / 2, **ROUNDING)
    np.testing.assert_allclose(high["high"], X / 2 + 0.4 * Z95, **ROUNDING)


def test_the_score_lies_below_with_its_mark_and_what_is_beyond():
    below = drawn([panel()])["panels"][0]["below"]
    (curve,) = [part for part in layers(below, "line") if len(part["x"]) > 2]
    np.testing.assert_allclose(curve["y"], np.abs(X - 5.0) - 5.0, **ROUNDING)
    (beyond,) = layers(below, "band")
    mark = np.quantile(np.abs(X - 5.0)[KNOWN.support] - 5.0, 0.95)
    assert np.min(beyond["low"]) == np.max(beyond["low"]) == pytest.approx(mark)
    np.testing.assert_allclose(beyond["high"], np.maximum(curve["y"], mark), **ROUNDING)
    assert [part["x"] for part in layers(below, "line", width=5.0)] == [[-5.0, 0.0], [10.0, 15.0]]
    assert [part["text"] for part in layers(below, "words")] == ["novelty, z-score"]
    hatched = [(part["from"], part["to"]) for part in layers(below, "hatch")]
    np.testing.assert_allclose(hatched, [(-10.0, -0.125), (10.125, 20.0)])
    assert below["range"][0] < -5.0 < 10.0 < below["range"][1]
    assert "below" not in drawn([panel()], score="")["panels"][0]


def test_scores_share_a_scale_unless_they_differ_or_are_asked_not_to():
    small = np.linspace(0.0, 1.0, len(X))
    two = [panel(), panel("Second", at(scores={"novelty": small}))]
    shared = drawn(two)
    first, second = (each["below"] for each in shared["panels"])
    assert first["range"] == second["range"]
    assert not first["own"]
    own = drawn(two, own_scale=True)
    assert own["panels"][1]["below"]["range"][1] < 2.0
    assert own["between"] > shared["between"]
    mixed = drawn([*two, panel("Third", at(scores={}))])["panels"]
    assert mixed[0]["below"]["range"] == mixed[1]["below"]["range"]
    assert mixed[2]["below"]["range"] != mixed[0]["below"]["range"]
    words = "knowledge, standard deviation; no novelty"
    assert layers(mixed[2]["below"], "words")[0]["text"] == words
    assert all(each["below"]["own"] for each in mixed)


@pytest.mark.parametrize("focus", [False, True])
def test_y_shows_the_rows_and_the_truth_whatever_is_predicted_elsewhere(focus):
    off = X / 2 + np.where(X > 10.0, 1e3, 0.0)
    for panels in ([], [panel(view=at(mean=off))]):
        ends = drawn(panels, focus=focus)["panels"][0]["range"]
        part = KNOWN.support if focus else slice(None)
        noise = 2.0 * KNOWN.std[part]
        every = [KNOWN.rows[1], KNOWN.mean[part] - noise, KNOWN.mean[part] + noise]
        low, high = min(map(np.min, every)), max(map(np.max, every))
        room = 0.06 * (high - low)
        np.testing.assert_allclose(ends, [low - room, high + room])


def test_a_quiet_picture_names_its_parts_on_them_and_apart_from_one_another():
    spec = drawn([panel()], quiet=True)
    size = np.ptp([spec["x"]["range"], spec["panels"][0]["range"]], axis=1)
    places = {entry["name"]: entry["at"] for entry in spec["legend"]}
    off = {name: abs(y - x / 2) for name, (x, y) in places.items()}  # from the mean
    assert off["prediction"] == pytest.approx(0.0, abs=1e-9)
    assert off["data 95 %"] < 0.3 * Z95 < off["knowledge"] < 0.5 * Z95
    x, y = places["true mean"]
    assert y == pytest.approx(np.interp(x, X, KNOWN.mean))
    for pair in itertools.combinations(places.values(), 2):
        assert np.any(np.abs(np.subtract(*pair)) / size > (0.2, 0.08))
    assert "rows of another kind" in layers(spec["panels"][0]["below"], "words")[0]["text"]


def test_a_logarithmic_score_says_so():
    tens = np.geomspace(1e-5, 10.0, len(X))
    mark = np.quantile(tens[KNOWN.support], 0.95)
    view = at(scores={})._replace(knowledge=tens**2)
    spec = drawn([panel(view=view)], score="knowledge", log=True)
    below = spec["panels"][0]["below"]
    (curve,) = [part for part in layers(below, "line") if len(part["x"]) > 2]
    assert curve["y"][0] == pytest.approx(np.log10(0.05 * mark), abs=1e-4)  # the floor
    assert curve["y"][-1] == pytest.approx(1.0)
    assert layers(below, "words")[0]["text"] == "log\u2081\u2080 knowledge, standard deviation"
    assert spec["read"]["values"][-1]["at"][-1] == pytest.approx(10.0)


@pytest.mark.parametrize("log", [False, True])
def test_a_score_that_is_the_same_everywhere_has_an_axis(log):
    flat = at(scores={"novelty": np.zeros(len(X))})
    low, high = drawn([panel(view=flat)], log=log)["panels"][0]["below"]["range"]
    assert high - low > 0.9


def test_methods_that_only_score_or_have_no_result_keep_their_panel():
    scored = at(data=None, knowledge=None, scores={"isolation": np.abs(X)})
    spec = drawn([panel("Forest", scored), Band("Late", COLOUR, note="being fitted")])
    assert [each["note"] for each in spec["panels"]] == ["predicts nothing", "being fitted"]
    assert not any(layers(each, "band") for each in spec["panels"])
    assert len(layers(spec["panels"][0], "dots")[0]["x"]) == 700
    names = [part["name"] for part in spec["read"]["values"]]
    assert names == ["truth", "Forest isolation; no novelty"]
    assert not layers(spec["panels"][1]["below"], "words")
    (alone,) = drawn([])["panels"]
    assert (alone["title"], "below" in alone) == ("Rows", False)


def test_two_rows_of_panels_are_lower_and_send_fewer_dots():
    row, two = drawn([panel()] * 3), drawn([panel()] * 6)
    assert row["facets"] == two["facets"] == 3
    assert 0.4 * row["height"] < two["height"] < 0.6 * row["height"]
    assert len(layers(two["panels"][0], "dots")[0]["x"]) == 350


def test_the_read_out_gives_means_stds_and_scores():
    values = drawn([panel()])["read"]["values"]
    assert [value["name"] for value in values] == ["truth", "First", "novelty, z-score"]
    np.testing.assert_allclose(values[1]["spread"], 0.5, **ROUNDING)
    assert all(len(value["at"]) == len(X) for value in values)


def test_a_conformal_step_is_told_and_stretches_the_bands():
    view = View(Fit(None, None), at(), factors=(1.5, 2.0))
    (only,) = drawn([Band("First", COLOUR, view)], conformal=True)["panels"]
    assert only["note"] == "\u00d7 2"
    np.testing.assert_allclose(layers(only, "band")[2]["high"], X / 2 + Z95, **ROUNDING)
    knob = LiveKnob("level", "Level", "slide", 0, (0.5,), ("50 %",))
    look, panels = Look((0.5,), 0.5), [Band("First", COLOUR, view)]
    live = bands(KNOWN, panels, look, name="bands", said="Rows.", knobs=[knob]).spec
    assert json.loads(json.dumps(live))["panels"][0]["live"]["factors"] == [1.5, 2.0]
