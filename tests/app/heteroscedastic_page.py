"""The Heteroscedastic page as its tests see it: opening it small, waiting for fits, reading it."""

from gbuq_core.experiments.heteroscedastic.plan import HeteroscedasticSettings
from tests.app.neighbours_page import curves, move, settle, words
from tests.app.opening import open_link, wait_for_warm_up

SMALL = {"rows": "500", "trees": "20", "subsample": "0.2", "methods": "MACAU (basic)"}
SETTINGS = HeteroscedasticSettings(methods=("macau_basic",), rows=500, trees=20, subsample=0.2)

__all__ = ["move", "open_heteroscedastic", "picture", "settle", "words"]


def open_heteroscedastic(**query):
    at = open_link("heteroscedastic", {**SMALL, **query})
    wait_for_warm_up()
    return settle(at)


def picture(at):
    """The specification of the picture."""
    return curves(at, "heteroscedastic")
