"""The Novelty maps page as its tests see it: opening it small, reading maps, editing by lasso."""

from gbuq_core.experiments.novelty.edits import edit_of
from gbuq_core.experiments.novelty.links import encode_edits
from tests.app.drawn import sheets
from tests.app.neighbours_page import move, settle, sheet, table, words
from tests.app.opening import open_link, wait_for_warm_up

SMALL = {"rows": "200", "trees": "10"}
# The upper left part of the moons, and a corner where there are no rows.
LEFT = [(row, column) for row in range(28, 40) for column in range(14, 26)]
CORNER = [(row, column) for row in range(52, 56) for column in range(3, 7)]
ERASED = encode_edits([edit_of("remove", LEFT)])

__all__ = [
    "has_sheet",
    "move",
    "open_novelty",
    "settle",
    "sheet",
    "table",
    "titles",
    "words",
]


def open_novelty(small=True, **query):
    at = open_link("novelty", {**(SMALL if small else {}), **query}, timeout=90)
    wait_for_warm_up()
    return settle(at)


def titles(at, name="novelty"):
    return [panel["title"] for panel in sheet(at, name).header["panels"]]


def has_sheet(at, name):
    return name in [one.header["name"] for one in sheets(at)]
