"""The board as Markdown: every number once, signs where numbers differ, tables that hold."""

import re
from dataclasses import replace

import pytest
from scoreboard_parts import made_up_board

from benchmarks.tables.bars import check_bars
from benchmarks.tables.board import read_board
from benchmarks.tables.comparing import BETTER
from benchmarks.tables.differing import count_agreement, list_differences
from benchmarks.tables.pairing import tally
from benchmarks.tables.writing import (
    NOTHING,
    write_bars,
    write_beside,
    write_differences,
    write_summary,
    write_tables,
)

BOARD = made_up_board(findings=[("On boston", "Because of it.", ["sglb/boston/*/*"])])
EMPTY = replace(BOARD, tables=tuple(replace(t, results=()) for t in BOARD.tables))


def body(table):
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def test_the_summary_counts_each_paper():
    rows = body(write_summary(BOARD))
    counts = [each for each in count_agreement(BOARD) if BOARD.table(each.table).published]
    assert len(rows) == len(counts)
    for row, count in zip(rows, counts, strict=True):
        assert list(map(int, row[1:5])) == [count.judged, count.same, count.better, count.worse]
    explained, of = map(int, rows[0][5].split(" of "))
    assert of == len(list_differences(BOARD, "sglb"))
    assert 0 < explained < of


def test_every_bar_has_its_line():
    rows = body(write_bars(BOARD))
    assert [row[2] for row in rows] == [bar.words for bar in check_bars(BOARD)]


def test_what_differs_stands_below_its_finding():
    text = write_differences(BOARD)
    first, rest = text.split("### Not explained yet")
    assert first.startswith("### On boston\n\nBecause of it.\n\n|")
    assert {row[1] for row in body(first.partition("Because of it.\n\n")[2].strip())} == {"boston"}
    lines = [line for line in text.splitlines() if re.search(r"\*\*[+\u2212]\*\*", line)]
    assert len(lines) == len(list_differences(BOARD))
    assert "| sglb | boston |" not in rest


@pytest.mark.parametrize("key", [table.key for table in BOARD.tables if table.results])
def test_a_table_has_each_number_in_its_row_and_column(key):
    table = BOARD.table(key)
    text = write_tables(replace(BOARD, tables=(table,)))
    assert text.startswith(f"## {table.paper} {{ #{key} }}\n\n")
    sections = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    score = next(s for s in table.scores if sections[0].startswith(s.label))
    head = sections[0].split("\n\n")[1].splitlines()[0].strip("| ").split(" | ")
    assert head == ["method", *(s.label for s in table.sets_with(score.key))]
    rows = {row[0]: row[1:] for row in body(sections[0].split("\n\n")[1].strip())}
    for method in table.methods_with(score.key):
        for column, dataset in enumerate(table.sets_with(score.key)):
            beside = table.beside(dataset.key, method.key, score.key)
            if beside is not None:
                written = rows[method.label.strip()][column].strip()
                assert written == write_beside(beside)
                assert written.endswith("**+**") == (beside.word == BETTER)


def test_without_results_it_says_so():
    assert write_differences(EMPTY) == NOTHING
    assert write_tables(EMPTY).count(NOTHING) == len(EMPTY.tables)
    published = [table for table in EMPTY.tables if table.published]
    assert write_summary(EMPTY).count("| 0 | 0 | 0 | 0 |") == len(published)
    assert all(row[2].startswith("not computed yet") for row in body(write_bars(EMPTY)))


def test_the_published_board_can_be_written():
    board = read_board()
    for write in (write_summary, write_bars, write_differences, write_tables):
        assert write(board).strip()


def test_paper_threes_methods_are_counted_as_it_counts():
    text = write_tables(replace(BOARD, tables=(BOARD.table("ibug"),)))
    crps = re.split(r"^### ", text, flags=re.MULTILINE)[1]
    line = next(line for line in crps.splitlines() if line.startswith("IBUG+CBU, wins-ties-losses"))
    (count,) = tally(BOARD.table("ibug"), "crps", "ibug_cbu", ["ngboost"])
    assert f": NGBoost {count}; " in line
    sharpness = next(part for part in text.split("### ") if part.startswith("Sharpness"))
    assert "wins-ties-losses" not in sharpness  # neither low nor high values win
    assert "wins-ties-losses" not in write_tables(replace(BOARD, tables=(BOARD.table("sglb"),)))
