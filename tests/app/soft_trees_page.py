"""The Soft trees page as its tests see it: opening it small, waiting for fits, reading figures."""

from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings
from tests.app.neighbours_page import curves, move, settle, sheet, words
from tests.app.opening import open_link
from tests.app.waiting import live_jobs

SMALL = {"rows": "50", "steps": "200", "depth": "2", "methods": "VST"}
SETTINGS = SoftTreesSettings(methods=("vst",), rows=50, steps=200, depth=2)

__all__ = ["curves", "live_jobs", "move", "open_soft_trees", "settle", "sheet", "words"]


def open_soft_trees(**query):
    return settle(open_link("soft_trees", {**SMALL, **query}))


def functions(at):
    """The specification of the picture."""
    return curves(at, "soft-trees")
