"""The Soft trees page as its tests see it: opening it small, waiting for fits, reading figures."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings
from tests.app.neighbours_page import curves, move, settle, sheet, words
from tests.app.waiting import live_jobs

APP = str(Path(__file__).resolve().parents[2] / "app.py")
SMALL = {"rows": "50", "steps": "200", "depth": "2", "methods": "VST"}
SETTINGS = SoftTreesSettings(methods=("vst",), rows=50, steps=200, depth=2)

__all__ = ["curves", "live_jobs", "move", "open_soft_trees", "settle", "sheet", "words"]


def open_soft_trees(**query):
    at = AppTest.from_file(APP, default_timeout=60).run()
    at.query_params.clear()  # the page before wrote its own
    at.switch_page("pages/soft_trees.py")
    for name, text in {**SMALL, **query}.items():
        at.query_params[name] = text
    return settle(at.run())


def functions(at):
    """The specification of the picture."""
    return curves(at, "soft-trees")
