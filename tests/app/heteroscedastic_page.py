"""The Heteroscedastic page as its tests see it: opening it small, waiting for fits, reading it."""

import threading
from pathlib import Path

from streamlit.testing.v1 import AppTest

from gbuq_core.experiments.heteroscedastic.plan import HeteroscedasticSettings
from tests.app.neighbours_page import curves, move, settle, words

APP = str(Path(__file__).resolve().parents[2] / "app.py")
SMALL = {"rows": "500", "trees": "20", "subsample": "0.2", "methods": "MACAU (basic)"}
SETTINGS = HeteroscedasticSettings(methods=("macau_basic",), rows=500, trees=20, subsample=0.2)

__all__ = ["move", "open_heteroscedastic", "picture", "settle", "words"]


def open_heteroscedastic(**query):
    at = AppTest.from_file(APP, default_timeout=60).run()
    for thread in threading.enumerate():
        if thread.name == "gbuq-warm-up":  # it fits, too
            thread.join(300)
    at.query_params.clear()  # the page before wrote its own
    at.switch_page("pages/heteroscedastic.py")
    for name, text in {**SMALL, **query}.items():
        at.query_params[name] = text
    return settle(at.run())


def picture(at):
    """The specification of the picture."""
    return curves(at, "heteroscedastic")
