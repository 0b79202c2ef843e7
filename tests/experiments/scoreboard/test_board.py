"""The file of the board: what it holds, that it is what was measured, and damaged ones."""

import json
import math
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoreboard_parts import made_up_board
from tolerances import SAME_SUM

from benchmarks.tables.__main__ import make_parser, read_wanted
from benchmarks.tables.running import list_cells
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.experiments.scoreboard.board import (
    BOARD_FILE,
    BoardResult,
    Finding,
    Place,
    read_board,
)
from gbuq_core.experiments.scoreboard.commands import command_of, explain_method
from gbuq_core.experiments.scoreboard.comparing import MeanError
from gbuq_core.methods import METHODS
from pages._ui.site_map import PAGES


def damage(path, change):
    content = json.loads(BOARD_FILE.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_the_file_is_small_and_every_record_is_known():
    assert BOARD_FILE.stat().st_size < 1_000_000
    board = read_board()
    assert [table.key for table in board.tables] == [
        "sglb", "cyclical", "ibug", "soft_trees", "macau", "ours", "tails", "shapes",
    ]  # fmt: skip
    for table in board.tables:
        assert {method.record for method in table.methods} <= {*METHODS, None}
        assert table.wanted.keys() <= {(s.key, m.key) for s in table.sets for m in table.methods}
    assert read_board() is read_board()  # read once
    assert read_board(BOARD_FILE) == board


def test_numbers_are_those_of_the_file():
    table = read_board().table("sglb")
    assert table.published["boston", "sgb", "nll"].value == 2.46
    assert table.find_set("digits").task == "classification"
    assert not table.find_set("digits").needs_data
    assert table.find_set("power").needs_data
    assert read_board().table("ibug").find_method("pgbm").record is None


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(format=2),
        lambda c: c.pop("tables"),
        lambda c: c.update(tables={}),
        lambda c: c["tables"][0].update(key=1),
        lambda c: c["tables"][0].pop("results"),
        lambda c: c["tables"][0].update(sets=[["a", 10, "cooking", True]]),
        lambda c: c["tables"][0].update(sets=[["a", 10]]),
        lambda c: c["tables"][0]["published"]["set"].append(0),
        lambda c: c["tables"][0]["published"]["set"].__setitem__(0, 99),
        lambda c: c["tables"][0]["published"]["set"].__setitem__(0, -1),
        lambda c: c["tables"][0]["published"]["value"].__setitem__(0, "low"),
        lambda c: c["tables"][0]["published"]["value"].__setitem__(0, True),
        lambda c: c["tables"][0]["published"]["value"].__setitem__(0, math.nan),
        lambda c: c["tables"][0]["results"]["scores"].update(unheard=[]),
        lambda c: c["tables"][0]["results"]["scores"].update(nll=[1.0] * 5000),
        lambda c: c["tables"][0]["wanted"]["splits"].append(3),
        lambda c: c.update(findings=[{"title": "a", "text": "b", "cells": ["sglb/boston"]}]),
    ],
)
def test_a_damaged_file_is_one_clear_error(tmp_path, change):
    path = damage(tmp_path / "board.json", change)
    with pytest.raises(InvalidData, match=r"^board\.json holds no scoreboard .*install gbuq.*\.$"):
        read_board(path)


def test_what_is_no_json_or_not_there_is_the_same_error(tmp_path):
    path = tmp_path / "board.json"
    with pytest.raises(InvalidData, match="holds no scoreboard"):
        read_board(path)
    for content in (b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(InvalidData, match="holds no scoreboard"):
            read_board(path)


def few_rows():
    """The board's file with the first rows of each column, which is read ten times as fast."""
    content = json.loads(BOARD_FILE.read_text(encoding="utf-8"))
    for table in content["tables"]:
        for columns in (table["results"], table["results"]["scores"], table["published"]):
            columns |= {name: kept[:40] for name, kept in columns.items() if name != "scores"}
    return content


FEW_ROWS = json.dumps(few_rows())


def test_few_rows_are_a_board(tmp_path):
    path = tmp_path / "board.json"
    path.write_text(FEW_ROWS, encoding="utf-8")
    board = read_board(path)
    assert [len(table.results) for table in board.tables] == [
        min(40, len(table.results)) for table in read_board().tables
    ]


@given(data=st.data())
def test_a_leaf_that_is_something_else_never_gets_through_as_another_error(tmp_path_factory, data):
    content = json.loads(FEW_ROWS)
    here = content
    while isinstance(here, (dict, list)) and here:
        keys = sorted(here) if isinstance(here, dict) else range(min(len(here), 40))
        holder, key = here, data.draw(st.sampled_from(list(keys)))
        here = holder[key]
    holder[key] = data.draw(st.sampled_from([None, [], {}, "x", -1, 1e400, True, 10**400]))
    path = tmp_path_factory.mktemp("board") / "board.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    try:
        read_board(path)
    except InvalidData as error:
        assert "install gbuq again" in str(error)  # noqa: PT017 - most changes do no harm


def test_unknown_names_are_refused_in_a_sentence():
    board = read_board()
    with pytest.raises(InvalidParameter, match=r"no table 'x': choose from sglb,"):
        board.table("x")
    for find in ("find_set", "find_method", "find_score"):
        with pytest.raises(InvalidParameter, match=r"has no \w+ 'x': choose from "):
            getattr(board.table("sglb"), find)("x")


def test_means_are_over_splits_and_an_own_error_counts_for_a_single_one():
    table = made_up_board().table("sglb")
    values = table.values("boston", "sglb", "nll")
    assert sorted(values) == list(range(table.wanted["boston", "sglb"]))
    mean = sum(values.values()) / len(values)
    assert table.ours("boston", "sglb", "nll").mean == pytest.approx(mean, rel=SAME_SUM)
    assert table.ours("boston", "sglb", "unheard") is None
    assert table.beside("boston", "unheard", "nll") is None
    assert table.beside("boston", "sglb", "nll").theirs.value == 2.50
    three = table.results_of("boston", "sglb")[:3]
    timed = [
        each._replace(seconds=seconds)
        for each, seconds in zip(three, (90.0, 2.0, 3.0), strict=True)
    ]
    assert replace(table, results=tuple(timed)).seconds("boston", "sglb") == 3.0  # no tuning
    assert table.seconds("boston", "unheard") is None
    own = BoardResult("boston", 0, "sglb", {"nll": 2.0}, 1.0, 0, {"nll": 0.3})
    table_of_one = replace(table, results=(own,))
    assert table_of_one.ours("boston", "sglb", "nll") == MeanError(2.0, 0.3)
    bare = replace(table, results=(own._replace(errors={}),))
    assert math.isnan(bare.ours("boston", "sglb", "nll").error)


def test_findings_match_by_parts_with_wildcards():
    finding = Finding("why", "", (Place("sglb", "*", "sglb*", "nll"),))
    assert finding.explains(Place("sglb", "wine", "sglb:single", "nll"))
    assert not finding.explains(Place("sglb", "wine", "sgb", "nll"))
    assert not finding.explains(Place("ibug", "wine", "sglb", "nll"))
    board = made_up_board(findings=[("why", "because", ["sglb/*/sglb/nll"])])
    assert [f.title for f in board.findings_on(Place("sglb", "wine", "sglb", "nll"))] == ["why"]
    assert board.findings_on(Place("sglb", "wine", "sglb", "rmse")) == ()


ROOT = Path(__file__).resolve().parents[3]
BOARD = made_up_board()


@pytest.mark.parametrize("key", [table.key for table in BOARD.tables])
def test_a_command_makes_exactly_the_cells_that_there_are(key):
    table = BOARD.table(key)
    for (name, method), splits in table.wanted.items():
        words = shlex.split(command_of(table, name, method))
        assert words[:3] == ["python", "-m", "benchmarks.tables"]
        cells = list_cells(read_wanted(make_parser().parse_args(words[3:])))
        assert [tuple(cell) for cell in cells] == [
            (key, name, split, method) for split in range(splits)
        ]
        assert ("--data-dir" in words) == table.find_set(name).needs_data


def test_unknown_cells_have_no_command():
    with pytest.raises(InvalidParameter, match="no method"):
        command_of(BOARD.table("sglb"), "boston", "x")
    with pytest.raises(InvalidParameter, match="no set"):
        command_of(BOARD.table("sglb"), "x", "sglb")


def test_every_method_is_explained_by_a_file_and_a_page_that_exist():
    addresses = {page.url_path for page in PAGES}
    for table in BOARD.tables:
        for method in table.methods:
            explained = explain_method(method)
            assert (ROOT / "docs" / explained.doc).is_file()
            assert explained.page in addresses  # "" is Home, and stands for none
