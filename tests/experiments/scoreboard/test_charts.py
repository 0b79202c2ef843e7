"""The scoreboard's pictures: valid Vega-Lite, every number in it, names kept apart."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scoreboard_parts import made_up_board
from tolerances import SAME_SUM

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.scoreboard.board import BoardMethod, BoardSet, Score, table_of
from gbuq_core.experiments.scoreboard.charts import (
    PICKED,
    beside_figure,
    clickable,
    colour_of,
    front_figure,
    groups_figure,
    ranks_figure,
)
from gbuq_core.experiments.scoreboard.comparing import MeanError
from gbuq_core.experiments.scoreboard.fronts import Front, Timed
from gbuq_core.experiments.scoreboard.numbers import (
    BoardNumber,
    describe_groups,
    describe_numbers,
    find_number,
)
from gbuq_core.experiments.scoreboard.ranking import Ranking, rank_methods
from gbuq_core.experiments.scoreboard.saved_charts import (
    beside_curves,
    front_curves,
    groups_curves,
    ranks_sheet,
)
from gbuq_core.figures.standalone import standalone_html
from gbuq_core.methods import METHODS

NASTY = "<a href='http://evil.example'>x</a>"
NAN = math.nan


def number(label, record, *numbers, word=""):
    return BoardNumber(
        BoardSet("boston", 506, "regression"), BoardMethod(label, label, record), *numbers, word
    )


NUMBERS = [
    number("SGLB", "sglb", 2.0, 0.1, 2.5, 0.2, word="better"),
    number("PGBM", None, NAN, NAN, 2.4, NAN),
    number(NASTY, "gp", 3.0, NAN, NAN, NAN),
    number(NASTY, "gp", 3.1, 0.5, 3.0, NAN, word="same"),
]
RANKS = np.array([[1.0, 2.5], [2.0, 1.0], [3.0, 2.5]])
CRPS = Score("crps", "CRPS")
TIMED = Front(
    table="ours", set="boston", score=CRPS,
    points=(
        Timed(BoardMethod("quick", "quick", "knn"), 0.1, MeanError(3.0, 0.1), True),
        Timed(BoardMethod("beaten", "beaten", None), 1.0, MeanError(4.0, NAN), False),
        Timed(BoardMethod("slow", "slow", "sglb"), 100.0, MeanError(1.0, 0.2), True),
    ),
)  # fmt: skip
NOBODY = Front(table="ours", set="boston", score=CRPS, points=())
NAMES = ["a", "b", "c"]


def ranking(ranks, groups=(), difference=NAN, records=("sglb", None, "gp")):
    methods = [BoardMethod(key, key, record) for key, record in zip(NAMES, records, strict=True)]
    ranks = np.asarray(ranks, dtype=float)
    ranking = Ranking(
        table="ours", score=CRPS, methods=tuple(methods[: len(ranks)]), sets=(), means=ranks,
        ranks=ranks, left_out=(),
    )  # fmt: skip
    vars(ranking).update(critical_difference=difference, groups=tuple(groups))  # computed elsewhere
    return ranking


GROUPS = ranking(RANKS, [("a", "b"), ("b", "c")], 1.2)
ALONE = ranking([[1.0]])
PARTLY = np.where(RANKS == 3.0, np.nan, RANKS)
FIGURES = {
    "beside": lambda dark: beside_figure(NUMBERS, "CRPS", dark),
    "ranks": lambda dark: ranks_figure(NAMES, ["one", "two"], RANKS, RANKS / 7, "CRPS"),
    "hatched": lambda dark: ranks_figure(NAMES, ["one", "two"], PARTLY, RANKS, "CRPS"),
    "clicked": lambda dark: clickable(front_figure(TIMED, 5.0, dark), NAMES),
    "groups": lambda dark: groups_figure(GROUPS, dark),
    "no groups": lambda dark: groups_figure(ALONE, dark),
    "front": lambda dark: front_figure(TIMED, 5.0, dark),
    "empty front": lambda dark: front_figure(NOBODY),
}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", FIGURES)
def test_specs_are_vega_lite_and_plain_data(name, dark):
    import altair  # takes seconds, which no other test needs

    spec = FIGURES[name](dark)
    altair.Chart.from_dict(spec).to_dict()  # checks it against the schema
    text = json.dumps(spec, allow_nan=False)
    assert "width" not in spec  # the page's own, from a phone's to a screen's
    if name in ("beside", "groups", "front"):
        assert ("#f2f2ee" in text) == dark


def test_ours_and_the_papers_numbers_have_two_errors_on_each_side():
    rows = beside_figure(NUMBERS, "CRPS")["data"]["values"]
    ours = [row for row in rows if row["c4"] == "ours"]
    paper = [row for row in rows if row["c4"] == "paper"]
    assert [row["c1"] for row in ours] == [2.0, 3.0, 3.1]
    assert [row["c1"] for row in paper] == [2.5, 2.4, 3.0]
    assert (ours[0]["c2"], ours[0]["c3"]) == pytest.approx((1.8, 2.2), rel=SAME_SUM)
    assert (ours[1]["c2"], ours[1]["c3"]) == (3.0, 3.0)  # an unknown error has no bar
    assert [row["c5"] for row in ours] == [colour_of("sglb"), colour_of("gp"), colour_of("gp")]
    assert ours[0]["c6"] == "2 (0.1)"
    assert paper[1]["c7"] == "not compared"
    labels = [row["c0"] for row in ours]
    assert len(set(labels)) == 3  # equal names stay apart


def test_every_rank_is_written_in_its_cell():
    rows = ranks_figure(NAMES, ["one", "two"], RANKS, RANKS / 7, "CRPS")["data"]["values"]
    cells = {(row["c0"], row["c1"]): (row["c2"], row["c4"]) for row in rows}
    assert cells["a", "two"] == (2.5, "2.5")
    assert cells["c", "one"] == (3.0, "3")
    assert len(cells) == RANKS.size


def test_a_cell_without_a_rank_is_hatched_and_says_why():
    means = np.where(RANKS == 3.0, np.nan, RANKS)
    for known, words in ((RANKS, "not ranked"), (means, "not computed yet")):
        spec = ranks_figure(NAMES, ["one", "two"], PARTLY, known, "CRPS")
        (row,) = (row for row in spec["data"]["values"] if row["c2"] is None)
        assert (row["c0"], row["c1"], row["c4"], row["c5"]) == ("c", "one", "", words)
        assert spec["layer"][0]["encoding"]["text"] == {"field": "c6"}
        marked = {(each["c0"], each["c1"]) for each in spec["data"]["values"] if each["c6"]}
        assert marked == {("c", "one")}


@pytest.mark.parametrize("name", ["beside", "ranks", "front"])
def test_a_click_picks_one_cell_from_one_layer(name):
    bare = FIGURES[name](False)
    cells = [f"cell {number}" for number in range(len(bare["data"]["values"]))]
    spec = clickable(bare, cells)
    assert [row["cell"] for row in spec["data"]["values"]] == cells
    (param,) = spec["params"]
    assert (param["name"], param["select"]["fields"]) == (PICKED, ["cell"])
    # Vega refuses a selection that stands in two layers.
    assert [layer.get("name") for layer in spec["layer"]].count(*param["views"]) == 1
    assert "cell" not in bare["data"]["values"][0]


def test_bars_reach_from_the_first_to_the_last_of_a_group():
    spec = groups_figure(ranking([[1], [2], [3]], [("a", "b"), ("b", "c")], 1.5))
    bars = spec["layer"][-1]["data"]["values"]
    assert [(bar["c0"], bar["c5"]) for bar in bars] == [("a", "b"), ("b", "c")]
    places = [bar["c1"] for bar in bars]
    assert min(places) > 3.0 + 0.75  # right of all dots and their errors
    assert places[0] < places[1] < spec["layer"][0]["encoding"]["x"]["scale"]["domain"][1]
    dots = spec["data"]["values"]
    assert [(row["c2"], row["c3"]) for row in dots] == [(0.25, 1.75), (1.25, 2.75), (2.25, 3.75)]


def test_the_line_of_the_best_leaves_out_who_is_beaten():
    spec = front_figure(TIMED, budget=5.0)
    assert spec["layer"][0]["transform"] == [{"filter": "datum.c4"}]
    rows = spec["data"]["values"]
    assert [row["c0"] for row in rows if row["c4"]] == ["quick", "slow"]
    assert [row["c8"] for row in rows] == ["quick", "", "slow"]
    assert spec["layer"][-1]["data"]["values"] == [{"c1": 5.0}]
    assert len(front_figure(TIMED)["layer"]) == len(spec["layer"]) - 1


def test_of_names_that_are_near_each_other_the_best_one_is_written():
    near = [
        Timed(BoardMethod(name, name, None), seconds, MeanError(score, 0.0), True)
        for name, seconds, score in (("quick", 1, 2.0), ("slower", 1.1, 1.99), ("best", 9, 1.0))
    ]
    spec = front_figure(replace(TIMED, points=tuple(near)))
    assert [row["c8"] for row in spec["data"]["values"]] == ["", "slower", "best"]


def test_colours_are_those_of_the_records():
    for key, record in METHODS.items():
        assert colour_of(key) == record.colour
    assert colour_of(None) not in {METHODS[key].colour for key in ("sglb", "ibug", "vst")}


SAVED = {
    "beside": lambda: beside_curves(NUMBERS, "CRPS", "words"),
    "ranks": lambda: ranks_sheet(NAMES, ["one", "two"], PARTLY, "CRPS", "words"),
    "groups": lambda: groups_curves(GROUPS, "words"),
    "no groups": lambda: groups_curves(ALONE, "words"),
    "front": lambda: front_curves(TIMED, "words", 5.0),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_page_has_each_picture(name):
    assert 'class="figure"' in standalone_html([SAVED[name]()], "Scoreboard")


def test_a_saved_picture_has_the_dots_and_errors_of_the_pages():
    spec = SAVED["beside"]().spec
    rows = beside_figure(NUMBERS, "CRPS")["data"]["values"]
    assert sorted(spec["read"]["x"]) == sorted(row["c1"] for row in rows)
    assert len(spec["panels"][0]["ticks"]["labels"]) == len(NUMBERS)
    bars = [layer for layer in spec["panels"][0]["layers"] if layer["kind"] == "line"]
    assert [1.8, 2.2] in [layer["x"] for layer in bars]
    assert len(bars) == sum(row["c2"] < row["c3"] for row in rows)
    front = SAVED["front"]().spec
    best = front["panels"][0]["layers"][0]
    # Each holds until the next one has had its time; who is beaten is left out.
    assert best["y"] == [3.0, 3.0, 1.0, 1.0]
    assert best["x"][:3] == [-1.0, 2.0, 2.0]
    places = SAVED["groups"]().spec["panels"][0]
    joined = [layer["y"] for layer in places["layers"][-2:]]
    assert joined == [[3.0, 2.0], [2.0, 1.0]]
    assert places["ticks"] == {"ticks": [3.0, 2.0, 1.0], "labels": NAMES}


TABLE = made_up_board().table("sglb")


def test_each_number_is_named_with_the_papers_and_its_word():
    numbers = [find_number(TABLE, "boston", method.key, "nll") for method in TABLE.methods]
    words = describe_numbers(numbers, "NLL")
    assert words.startswith("NLL on boston: ")
    parts = dict(zip(numbers, words.partition(": ")[2].rstrip(".").split("; "), strict=True))
    for number, part in parts.items():
        assert part.startswith(number.method.label)
        assert ("not computed yet" in part) == np.isnan(number.ours)
        assert ("paper" in part) == np.isfinite(number.theirs)
        assert part.endswith(f"({number.word})") or not number.word
    assert {"better", "worse", "same"} & {number.word for number in numbers}
    empty = made_up_board(sets=()).table("sglb")
    assert find_number(empty, "boston", "sglb", "nll").verdict == "not computed yet"
    with pytest.raises(InvalidParameter):
        find_number(TABLE, "x", "sglb", "nll")


def test_methods_that_all_differ_are_said_to():
    rng = np.random.default_rng(0)
    numbers = {
        key: {f"s{i}": [base + 0.1 * rng.random()] for i in range(40)}
        for key, base in (("a", 1.0), ("b", 2.0), ("c", 3.0))
    }
    words = describe_groups(rank_methods(table_of(numbers), "score"))
    assert "methods differ" in words
    assert words.endswith("Every method is told apart from the next one.")
