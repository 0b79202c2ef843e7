"""The table of the papers' cells, the pages made of it, and the options that compute it anew."""

import csv
import io
import math
from argparse import Namespace

import pytest

from benchmarks.papers import __main__ as command
from benchmarks.papers import computing, pages, table
from benchmarks.papers.data import Missing, Task
from gbuq_core.scoreboard.board import BOARD_FILE

MOST_WORDS = 1200  # of docs/scoreboard.md
# How many numbers of a paper are the same, better and worse.
COUNTS = {
    "sglb": (154, 10, 28),
    "cyclical": (0, 0, 0),
    "ibug": (98, 27, 21),
    "soft_trees": (65, 63, 28),
    "macau": (30, 15, 17),
    "ours": (13, 3, 6),
}


@pytest.fixture(scope="module")
def rows():
    return table.read_rows()


def row_of(rows, *place):
    return next(row for row in rows if row.place == place)


def test_each_cell_stands_once_and_its_numbers_are_numbers(rows):
    assert len({row.place for row in rows}) == len(rows)
    assert {row.paper for row in rows} == set(computing.RUNNERS)
    for row in rows:
        assert row.published or row.ours
        numbers = (row.published, row.published_error, row.ours, row.error, row.seconds, row.seeds)
        assert all(math.isfinite(float(text)) for text in numbers if text)
        assert bool(row.published) == bool(row.table)
        assert bool(row.ours) == bool(row.seconds) == bool(row.seeds)


def test_what_differs_or_is_missing_has_a_short_reason(rows):
    for row in rows:
        assert bool(row.reason) == (row.differs or not row.ours), row
        assert len(row.reason.split()) <= 14


def test_as_many_numbers_agree_as_when_they_were_computed(rows):
    for paper, counts in COUNTS.items():
        found = [row.word for row in rows if row.paper == paper]
        words = (table.SAME, table.BETTER, table.WORSE)
        assert tuple(found.count(word) for word in words) == counts


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda path: path.name)
def test_pages_are_what_the_command_makes(rows, page):
    text = page.read_text("utf-8")
    assert "<!-- scoreboard -->" in text
    assert pages.fill_page(text, rows) == text


def test_the_page_of_the_scoreboard_is_short():
    assert len(pages.PAGES[1].read_text("utf-8").split()) <= MOST_WORDS


def test_numbers_of_the_papers(rows):
    def published(*place):
        row = row_of(rows, *place)
        return row.published, float(row.published_error or "nan"), row.table

    assert published("ibug", "protein", "ibug_cbu", "crps") == ("1.742", 0.009, "1")
    assert published("ibug", "energy", "ibug", "nll") == ("1.644", 0.514, "8")
    # Standard deviations over splits became standard errors, stored with six digits.
    wine = published("soft_trees", "wine", "vst", "log_likelihood")
    assert wine == ("-3.067", pytest.approx(1.168 / math.sqrt(10), rel=1e-5), "1")
    weather = published("cyclical", "shifts_weather", "cbsglb", "auroc_knowledge")
    assert weather == ("0.7170", pytest.approx(0.0091 / math.sqrt(3), rel=1e-5), "1")
    assert published("macau", "linear", "conformal_linear", "crps")[0] == "5.99"
    assert published("macau", "california_halves", "gnll", "auroc_total")[0] == "0.37"
    energy = published("ours", "energy", "sglb:two_clocks", "nll")
    assert (energy[0], energy[2]) == ("0.322", "8 of paper 3")
    concrete = published("ours", "concrete", "stacked", "nll")
    assert (concrete[0], concrete[2]) == ("2.2148", "of TabPFN")


@pytest.mark.parametrize(
    ("measure", "published", "ours", "error", "word"),
    [
        ("crps", "2.5", "2.0", "0.1", "better"),
        ("crps", "2.5", "2.26", "0.1", "same"),  # two errors and half of the last digit are .25
        ("crps", "2.5", "2.8", "0.1", "worse"),
        ("auroc_total", "0.70", "0.8", "0.01", "better"),
        ("auroc_total", "0.70", "0.6", "0.01", "worse"),
        ("crps", "2.5", "2.0", "", ""),  # a single split
        ("sharpness", "2.5", "2.0", "0.1", ""),
        ("crps", "", "2.0", "0.1", ""),
    ],
)
def test_a_number_is_better_worse_or_the_same(measure, published, ours, error, word):
    row = table.Row("ibug", "1", "a", "b", measure, published, "", ours, error, "1", "3", "")
    assert row.word == word


def test_a_mean_has_the_standard_error_of_its_splits():
    assert table.mean_and_error([1.0, 2.0, 3.0]) == ("2", "0.57735")
    assert table.mean_and_error([2.0]) == ("2", "")


def test_rows_take_the_place_of_those_of_the_same_cell(tmp_path, rows):
    path = tmp_path / "papers.csv"
    with path.open("w", newline="") as file:
        table.write_rows([table.Row._fields, *rows[:3]], file)
    other = table.Row("sglb", "", "new", "sgb", "nll", *7 * [""])
    table.replace_rows([rows[1]._replace(ours="7"), other], path)
    assert table.read_rows(path) == [rows[0], rows[1]._replace(ours="7"), rows[2], other]


def options(**given):
    names = ("paper", "table", "set", "method", "measure", "seeds", "data_dir")
    return Namespace(**dict.fromkeys(names) | {"jobs": 1} | given)


def test_options_name_cells_with_the_splits_of_the_file(rows):
    cells = command.wanted_cells(options(paper="sglb", table="6", set="boston"), rows)
    assert cells == {("boston", "vrf"): 3, ("boston", "forests"): 3}
    assert command.wanted_cells(options(paper="sglb", set="boston", method="sgb"), rows) == {
        ("boston", "sgb"): 10
    }
    cells = command.wanted_cells(options(paper="ibug", method="ibug", seeds=1), rows)
    assert set(cells.values()) == {1}
    assert len(cells) == 5
    assert command.wanted_cells(options(paper="ibug", set="digits"), rows) == {}


def test_sets_of_the_folder_are_known_before_anything_is_computed(rows, monkeypatch, capsys):
    assert command.sets_read(options(paper="sglb", set="energy"), rows) == ["energy", "protein"]
    assert command.sets_read(options(paper="macau", set="california_halves"), rows) == [
        "california"
    ]
    assert command.sets_read(options(paper="sglb", set="digits"), rows) == []
    monkeypatch.setattr("sys.argv", ["papers", "--paper", "ibug", "--set", "energy"])
    with pytest.raises(SystemExit):
        command.main()
    assert capsys.readouterr().err.endswith("energy is read from a folder: add --data-dir\n")


def test_fresh_numbers_stand_beside_the_papers_and_in_the_form_of_the_board(rows, monkeypatch):
    monkeypatch.setattr(command, "compute", lambda *cell: ({"crps": [1.0, 2.0], "new": [3.0]}, 4.5))
    given = options(paper="ours", set="energy", method="stacked")
    ((crps, new),) = command.computed_cells(given, rows)
    before = row_of(rows, "ours", "energy", "stacked", "crps")
    assert crps == before._replace(ours="1.5", error="0.5", seconds="4.5", seeds="2")
    assert (new.ours, new.error, new.published) == ("3", "", "")
    with BOARD_FILE.open(encoding="utf-8", newline="") as file:
        assert tuple(csv.DictReader(file).fieldnames) == command.BOARD
    printed = io.StringIO()
    table.write_rows([command.board_row(crps)], printed)
    assert printed.getvalue() == "regression,energy,768,stacked,crps,1.5,0.5,4.5,2\n"
    assert command.board_row(crps._replace(set="digits"))[:3] == ("classification", "digits", 1797)


def test_what_is_not_installed_is_left_out_in_a_sentence(rows, capsys, monkeypatch):
    def compute(*cell):
        raise Missing("It needs a package.")

    monkeypatch.setattr(command, "compute", compute)
    given = options(paper="ibug", set="energy", method="ngboost")
    assert list(command.computed_cells(given, rows)) == []
    assert capsys.readouterr().err == "ibug/energy/ngboost was left out: It needs a package.\n"


# The cells that take about a second.
QUICK = [
    ("macau", "one_dimensional", "conformal_linear"),
    ("macau", "one_dimensional", "macau_basic:leaf_1"),
    ("sglb", "wine_cultivars", "virtual_sglb"),
    ("soft_trees", "exploration", "random"),
]


@pytest.mark.parametrize(("paper", "name", "method"), QUICK)
def test_cells_computed_anew_are_those_of_the_file(rows, paper, name, method):
    first = Task(None, name, 0, method)
    found = [computing.run_task(paper, first)]
    for seed in (1, 2):
        task = first._replace(split=seed, known=found[0].settings)
        found.append(computing.run_task(paper, task))
    numbers = {key: [each.scores[key] for each in found] for key in found[0].scores}
    cell = (paper, name, method)
    stored = {row.measure: row for row in rows if row.place[:3] == cell and row.ours}
    assert set(numbers) == set(stored)
    for measure, values in numbers.items():
        row = stored[measure]
        mean = float(table.mean_and_error(values)[0])
        # Another processor adds in another order, which may move a split of a tree; three of twenty
        # seeds have three times the standard error of all.
        errors = 0.1 if row.seeds == "3" else 3.0 * math.sqrt(20 / 3)
        assert mean == pytest.approx(float(row.ours), abs=errors * float(row.error) + 1e-6)


def test_a_cell_is_computed_in_processes_of_its_own():
    numbers, seconds = computing.compute("soft_trees", "exploration", "random", 2, None, jobs=2)
    (values,) = numbers.values()
    alone = [
        computing.run_task("soft_trees", Task(None, "exploration", k, "random")) for k in (0, 1)
    ]
    assert values == [found.scores["regret_1000"] for found in alone]
    assert seconds > 0.0
