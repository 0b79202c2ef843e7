"""Scoreboard through AppTest: chooser, pictures, cells, runs, the own table, bad links."""

import csv
import io
import json
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path

import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest
from tolerances import SAME_SUM

from gbuq_core.errors import InvalidData
from gbuq_core.experiments.scoreboard import board as board_room
from gbuq_core.experiments.scoreboard.bars import check_bars
from gbuq_core.experiments.scoreboard.charts import PICKED
from gbuq_core.experiments.scoreboard.choosing import choose_method
from gbuq_core.experiments.scoreboard.commands import command_of
from gbuq_core.experiments.scoreboard.differing import list_differences
from gbuq_core.experiments.scoreboard.fresh import FreshCell
from gbuq_core.experiments.scoreboard.fronts import find_front
from gbuq_core.experiments.scoreboard.own import OWN_SET
from gbuq_core.experiments.scoreboard.picture import front_chart
from gbuq_core.experiments.scoreboard.plan import (
    APART,
    BESIDE,
    RANKS,
    TIME,
    BoardSettings,
    scoreboard_code,
)
from gbuq_core.jobs import RUNNER
from gbuq_core.session_limits import SessionLimits
from gbuq_core.settings import from_values
from pages._ui.export import OFFERED
from pages._ui.scoreboard import picture, running
from pages._ui.scoreboard.controls import (
    QUESTIONS,
    _first_metric,
    cell_label,
    page_state,
    tables_by_label,
)
from pages._ui.site_map import PAGES
from tests.app.waiting import run_when_done
from tests.app.your_data_page import drop, numbers
from tests.app.your_data_page import open_page as open_your_data
from tests.scoreboard_parts import made_up_board

APP = str(Path(__file__).resolve().parents[2] / "app.py")
FILE = "pages/scoreboard.py"
BECAUSE = ("Other rows", "The paper has other rows.", ["*/*/*/*"])


@pytest.fixture(scope="module")
def full():
    return made_up_board(findings=[BECAUSE])


@pytest.fixture
def board(full, monkeypatch):
    """The page draws a board of made-up results in place of the stored one."""
    show(monkeypatch, full)
    return full


def show(monkeypatch, board):
    monkeypatch.setattr(board_room, "read_board", lambda: board)


def open_page(**query):
    at = AppTest.from_file(APP, default_timeout=60)
    at.switch_page(FILE)
    for name, text in query.items():
        at.query_params[name] = text
    at.run()
    assert not at.exception
    return at


def charts(at):
    """The rows of each chart."""
    tables = []
    for chart in at.get("vega_lite_chart"):
        assert json.loads(chart.proto.spec)["layer"]
        tables.append(pa.ipc.open_stream(io.BytesIO(chart.proto.data.data)).read_pandas())
    return tables


def alts(at):
    return [chart.proto.alt for chart in at.get("vega_lite_chart")]


def texts(at):
    return [element.value for element in at.text]


def chips(at):
    bodies = [block.proto.body for block in at.get("html")]
    (row,) = (body for body in bodies if body.startswith('<div class="gbuq-chips"'))
    return unescape(row)


def lines(at):
    """The table of every number."""
    return next(frame.value for frame in at.dataframe if "c8" in frame.value.columns)


def test_the_page_shows_a_choice_ranks_numbers_bars_and_differences(board):
    at = open_page()
    assert at.title[0].value.startswith("Which method should you use")
    choice = choose_method(board, "regression", 1000, "intervals")
    assert choice.why in texts(at)
    assert f"#### {choice.method.label}" in [m.value for m in at.markdown]
    assert any(link.proto.label.startswith("How it works: ") for link in at.get("page_link"))
    (words,) = alts(at)
    assert words.startswith("Mean ranks by CRPS")
    assert words.splitlines()[0] in "\n".join(texts(at))
    bars = check_bars(board)
    met = sum(bar.verdict == "met" for bar in bars)
    assert f"{met} of our {len(bars)} targets are reached" in chips(at)
    table = board.table("ours")
    numbers_only = {dataset.key for dataset in table.sets if dataset.task == "regression"}
    assert len(lines(at)) == sum(name in numbers_only for name, _ in table.wanted)
    (shown,) = (m.value for m in at.markdown if m.value.startswith("| What | Bar |"))
    assert shown.count("\n") == len(bars) + 1
    assert all(bar.words in shown for bar in bars)


@pytest.mark.parametrize(
    "label", ["Every method", "1 SGLB", "2 Cyclical SGLB", "3 IBUG", "4 Soft trees", "5 MACAU"]
)
def test_every_picture_of_every_paper_is_drawn_with_words(board, label):
    at = open_page(paper=label)
    for view in (RANKS, BESIDE, APART, TIME):
        at.segmented_control(key="view").set_value(view).run()
        assert not at.exception
        assert charts(at)
        assert all(alts(at))
        if view == BESIDE:
            whose = {value for rows in charts(at) for value in rows["c4"]}
            assert whose == {"ours", "paper"} or not tables_by_label(board)[label].published


def test_an_empty_board_says_that_nothing_is_computed_and_how_to(monkeypatch):
    show(monkeypatch, made_up_board(sets=()))
    for view in (RANKS, APART, TIME):
        at = open_page(paper="3 IBUG", view=view)
        assert not charts(at)
        assert any("is computed yet" in text for text in texts(at))
    assert set(lines(at)["c6"]) == {"not computed yet"}
    at = open_page(paper="3 IBUG", view=BESIDE)  # the paper's numbers are there
    assert {value for rows in charts(at) for value in rows["c4"]} == {"paper"}
    assert any("Not computed yet: " in caption.value for caption in at.caption)
    assert "not computed yet" in alts(at)[0]


def test_the_page_opens_on_what_has_results(monkeypatch):
    whole = made_up_board()
    tables = tuple(
        table if table.key == "soft_trees" else replace(table, results=()) for table in whole.tables
    )
    show(monkeypatch, replace(whole, tables=tables))
    at = open_page()
    assert at.selectbox(key="paper").value == "4 Soft trees"
    assert charts(at)
    at.button(key="_preset:scoreboard:Every method").click().run()
    assert not at.exception
    assert at.selectbox(key="paper").value == "Every method"
    assert at.selectbox(key="metric").value.startswith("CRPS")


def test_the_own_table_does_not_decide_what_opens():
    board = made_up_board(sets=("power",))
    tables = {table.key: table for table in board.tables}
    own = tables["ours"].results[0]._replace(set=OWN_SET)
    tables["ours"] = replace(tables["ours"], results=(own,))
    _, opened = page_state(replace(board, tables=tuple(tables.values())))
    assert opened.label == "1 SGLB"


def test_a_metric_with_numbers_opens_where_crps_has_none():
    table = made_up_board().table("ours")
    known = {score.key: score for score in table.scores}
    only = [each._replace(scores={"rmse": 1.0, "coverage_0.9": 0.9}) for each in table.results[:3]]
    assert _first_metric(replace(table, results=tuple(only))) == known["rmse"].label
    assert _first_metric(table) == known["crps"].label


def test_a_board_of_some_sets_hatches_what_has_no_rank(monkeypatch):
    whole = made_up_board()
    ours = whole.table("ours")
    gone = [r for r in ours.results if (r.set, r.method) != ("energy", "vst")]
    tables = [replace(t, results=tuple(gone)) if t.key == "ours" else t for t in whole.tables]
    whole = replace(whole, tables=tuple(tables))
    show(monkeypatch, whole)
    at = open_page()
    rows = charts(at)[0]
    rows = rows[rows["c0"] == "VST"]
    assert rows["c2"].isna().all()
    states = dict(zip(rows["c1"], rows["c5"], strict=True))
    assert states["energy"] == "not computed yet"
    assert set(states.values()) == {"not computed yet", "not ranked"}
    assert any(caption.value.count("Hatched") for caption in at.caption)


def test_filters_name_sets_metrics_and_methods_and_the_table_follows(board):
    at = open_page(paper="3 IBUG", set="power", metric="NLL, nats")
    at.multiselect(key="methods").set_value(["NGBoost", "IBUG+CBU"]).run()
    assert lines(at)["c0"].unique().tolist() == ["power"]
    assert lines(at)["c1"].tolist() == ["NGBoost", "IBUG+CBU"]
    table = board.table("ibug")
    ours = [table.ours("power", key, "nll").mean for key in ("ngboost", "ibug_cbu")]
    assert lines(at)["c2"].tolist() == pytest.approx(ours, rel=SAME_SUM)
    assert lines(at)["c4"].tolist() == [2.752, 2.514]
    methods = ("ngboost", "ibug_cbu")
    code = scoreboard_code(
        BoardSettings(table="ibug", score="nll", methods=methods, sets=("power",))
    )
    assert code.strip() in [block.value for block in at.code]


def test_at_equal_time_slower_methods_are_left_out(board):
    at = open_page(view=RANKS)
    everybody = set(charts(at)[0]["c0"])
    at.select_slider(key="budget").set_value(10).run()
    table = board.table("ours")
    slow = {
        method.label
        for method in table.methods
        if any((table.seconds(dataset.key, method.key) or 0.0) > 10.0 for dataset in table.sets)
    }
    left = set(charts(at)[0]["c0"])
    assert slow
    assert left == everybody - slow
    assert any(f"{len(slow)} methods take longer than 10 s" in c.value for c in at.caption)
    at = open_page(view=TIME, budget="10", set="wine")
    assert "best within 10 s" in alts(at)[0]


def test_another_paper_keeps_what_it_has_and_forgets_the_rest(board):
    at = open_page(paper="3 IBUG", set="power", metric="NLL, nats")
    at.selectbox(key="paper").set_value("5 MACAU").run()
    assert not at.exception
    assert at.selectbox(key="set").value == "all sets"
    assert charts(at)
    at.selectbox(key="paper").set_value("1 SGLB").run()
    assert not at.exception
    assert charts(at)


def test_a_preset_opens_a_paper_with_its_main_metric(board):
    at = open_page()
    at.button(key="_preset:scoreboard:Paper 4").click().run()
    assert not at.exception
    assert at.selectbox(key="paper").value == "4 Soft trees"
    assert at.selectbox(key="metric").value.startswith("Log likelihood")
    assert at.segmented_control(key="view").value == BESIDE
    assert charts(at)


@pytest.mark.parametrize("task", QUESTIONS[0].choices)
@pytest.mark.parametrize("purpose", QUESTIONS[1].choices)
def test_the_chooser_answers_every_question_by_the_board(board, task, purpose):
    at = open_page(task=task, purpose=purpose, rows="10000")
    asked = from_values(BoardSettings, {"task": task, "purpose": purpose})
    choice = choose_method(board, asked.task, 10_000, asked.purpose)
    assert choice.why in texts(at)
    tables = [m.value for m in at.markdown if m.value.startswith("| Method | Mean rank |")]
    assert len(tables) == (choice.method is not None)
    if choice.method is None:
        return
    assert choice.method.label in tables[0]
    at.button(key="_board_show").click().run()
    assert not at.exception
    assert at.selectbox(key="metric").value == choice.score.label
    assert at.radio(key="task").value == task
    assert choice.why in texts(at)  # the questions stay


def test_a_cell_has_its_command_its_page_its_scores_and_its_finding(board):
    at = open_page(paper="3 IBUG", cell="power / IBUG on XGBoost")
    table = board.table("ibug")
    command = command_of(table, "power", "ibug:xgboost")
    assert command in [block.value for block in at.code]
    links = {link.proto.label: link.proto.page for link in at.get("page_link")}
    assert links["IBUG on XGBoost is explained on the page Neighbours"].endswith("neighbours")
    (cell,) = (m.value for m in at.markdown if m.value.startswith("| Metric | Ours | Paper |"))
    assert "1.52" in cell  # the paper's CRPS
    assert "Why it differs: Other rows" in [b.proto.popover.label for b in at.get("popover")]
    assert "The paper has other rows." in [m.value for m in at.markdown]
    assert any("3 splits" in caption.value for caption in at.caption)


def test_a_click_on_a_line_opens_its_cell(board):
    at = open_page(paper="3 IBUG", set="power")
    labels = lines(at)["c1"].tolist()
    at.selectbox(key="cell").set_value(f"power / {labels[2]}").run()
    assert not at.exception
    state = at.session_state[f"_board_lines:ibug:{len(labels)}"]
    assert list(state["selection"]["rows"]) == [2]


def test_a_click_on_a_picture_opens_its_cell(board, monkeypatch):
    _, opened = page_state(board, "3 IBUG")
    front = find_front(opened.table, "crps", "power")
    spec = front_chart(opened.table, front, 0, partial(cell_label, opened)).spec
    assert spec["params"][0]["views"] == ["target"]
    assert [layer.get("name") for layer in spec["layer"]].count("target") == 1
    cells = [row["cell"] for row in spec["data"]["values"]]
    assert set(cells) < set(opened.cells)
    state = {}
    monkeypatch.setattr(picture.st, "session_state", state)
    for picked in (None, [], [{}], [{"cell": 3}], [{"cell": "<b>"}], "power", {"cell": cells[1]}):
        state["chart"] = {"selection": {PICKED: picked}}
        picture._open_cell("chart", tuple(opened.cells))
        assert "cell" not in state
    state["chart"] = {"selection": {PICKED: [{"cell": cells[1]}]}}
    picture._open_cell("chart", tuple(opened.cells))
    assert state["cell"] == cells[1]


def test_a_bad_link_says_so_and_shows_a_picture(board):
    bad = {"paper": "6 Nobody", "set": "moon", "metric": "luck", "methods": "magic",
           "cell": "<b>x</b>"}  # fmt: skip
    at = open_page(**bad)
    for name in bad:
        assert name in " ".join(texts(at))
    assert charts(at)


def test_what_did_not_reproduce_has_its_reason(board):
    at = open_page(paper="1 SGLB")
    differences = list_differences(board, "sglb")
    assert differences
    frame = next(f.value for f in at.dataframe if list(f.value.columns)[-1] == "c6")
    assert len(frame) == len(differences)
    assert set(frame["c6"]) == {"Other rows"}
    worse = sum(each.beside.word == "worse" for each in differences)
    (caption,) = (caption.value for caption in at.caption if f"{worse} are worse" in caption.value)
    assert "With 3 splits, as some have, chance alone calls up to 18 % of equal" in caption
    assert "numbers hold or are better" in chips(at)


def test_downloads_hold_the_numbers_and_the_page(board):
    at = open_page(paper="3 IBUG", set="power")
    offered = at.session_state[OFFERED]
    rows = list(csv.DictReader(io.StringIO(offered["scoreboard.csv"]())))
    assert [line["method"] for line in rows] == lines(at)["c1"].tolist()
    assert all(line["command"].startswith("python -m benchmarks.tables") for line in rows)
    page = offered["scoreboard.html"]().decode()
    assert "Figures to reach" in page
    assert "IBUG on XGBoost" in page
    assert page.count('class="figure"') == 1
    for view, kind in ((APART, "curves"), (BESIDE, "curves"), (TIME, "curves"), (RANKS, "sheet")):
        at.segmented_control(key="view").set_value(view).run()
        page = at.session_state[OFFERED]["scoreboard.html"]().decode()
        assert page.count(f'class="figure" data-kind="{kind}"') == 1


@pytest.fixture
def quick_runs(monkeypatch):
    """A process that takes no time, and how often it was started."""
    asked = []

    def run(table, name, method, split, *, files, expected_seconds):
        asked.append((table, name, method, split, files))
        if method == "gnll":
            raise InvalidData("The cell failed.")
        return FreshCell(table=table, set=name, method=method, split=split,
                         scores={"crps": 0.25}, seconds=1.5)  # fmt: skip

    monkeypatch.setattr(running, "run_cell", run)
    return asked


def test_a_cell_is_run_when_asked_and_stands_beside_the_stored_one(board, quick_runs):
    at = open_page(paper="5 MACAU", cell="linear / MACAU (basic)")
    assert quick_runs == []
    at.button(key="_board_run").click().run()
    run_when_done(at)
    assert quick_runs == [("macau", "linear", "macau_basic", 0, ())]
    (fresh,) = (m.value for m in at.markdown if m.value.startswith("| Metric | Now |"))
    stored = board.table("macau").values("linear", "macau_basic", "crps")[0]
    assert "0.2500" in fresh
    assert f"{stored:.2f}"[:3] in fresh
    at.selectbox(key="cell").set_value("linear / MACAU (linear)").run()
    assert at.button(key="_board_run")  # another cell waits to be asked for
    assert len(quick_runs) == 1


def test_a_cell_that_fails_is_a_sentence_and_can_be_tried_again(board, quick_runs):
    at = open_page(paper="5 MACAU", cell="linear / GNLL")
    at.button(key="_board_run").click().run()
    run_when_done(at)
    assert "The cell failed." in texts(at)
    at.button(key="_board_again").click().run()
    assert at.button(key="_board_run")


def test_limits_of_a_session_hold_for_a_run_of_a_cell(board, quick_runs, monkeypatch):
    monkeypatch.setattr(RUNNER, "limits", SessionLimits(held_megabytes=1))
    monkeypatch.setattr(RUNNER, "_held_by", lambda *_: 2 * 10**6)
    at = open_page(paper="5 MACAU", cell="linear / Quantile regression")
    at.button(key="_board_run").click().run()
    run_when_done(at)
    assert quick_runs == []
    assert any("more than the 1 MB that this server allows" in text for text in texts(at))


def test_a_cell_that_cannot_run_here_says_what_to_do(board, monkeypatch):
    monkeypatch.setenv("GBUQ_DATA_DIR", "")
    at = open_page(paper="3 IBUG", cell="power / NGBoost")
    assert any("This cell reads power.csv.gz from a folder" in text for text in texts(at))
    assert not [button for button in at.button if button.key == "_board_run"]


def test_the_own_table_joins_as_one_more_set_of_the_session(board):
    at = open_your_data()
    at = drop(at, numbers(80), name="my rows.csv")
    at.switch_page(FILE)
    at.query_params.clear()
    at.run()
    assert not at.exception
    assert any('Your table "my rows.csv" (target y, 80 rows)' in text for text in texts(at))
    assert "your table" in at.selectbox(key="set").options
    at.selectbox(key="set").set_value("your table").run()
    assert not at.exception
    rows = lines(at)
    done = rows[rows["c6"] == "the paper has none"]
    assert done["c1"].tolist() == ["virtual SGLB, two clocks"]
    assert done["c3"].notna().all()  # over rows
    assert charts(at)
    other = open_page()  # another session
    assert "your table" not in other.selectbox(key="set").options


def test_the_page_stands_in_the_navigation_as_a_link():
    assert any(entry.path == FILE and entry.title == "Scoreboard" for entry in PAGES)
