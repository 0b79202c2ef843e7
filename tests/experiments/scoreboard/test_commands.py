"""Commands that make a number again parse, and every method is explained somewhere that exists."""

import shlex
from pathlib import Path

import pytest
from scoreboard_parts import made_up_board

from benchmarks.tables.__main__ import make_parser, read_wanted
from benchmarks.tables.running import list_cells
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.scoreboard.commands import command_of, explain_method
from pages._ui.site_map import PAGES

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
            found = explain_method(method)
            assert (ROOT / "docs" / found.doc).is_file()
            assert found.page in addresses  # "" is Home, and stands for none
