"""How to make a number again, and where its method is explained."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from gbuq_core.experiments.scoreboard.board import BoardMethod, Table

SMALL_SPLITS = 3


class Explained(NamedTuple):
    """Where a method is explained: the address of a page, "" for none, and a file of ``docs``."""

    page: str
    doc: str


_SGLB = Explained("heart", "methods/sglb.md")
_CYCLICAL = Explained("spiral", "methods/cyclical.md")
_IBUG = Explained("neighbours", "methods/ibug.md")
_SOFT_TREES = Explained("soft_trees", "methods/soft_trees.md")
_MACAU = Explained("heteroscedastic", "methods/macau.md")
_CLOCKS = Explained("two_clocks", "methods/calibration.md")
_LAW = Explained("beyond", "methods/stacking.md")
_BASELINES = "methods/baselines.md"
_BASELINE = Explained("", _BASELINES)
_COMPARED = (
    *("forest", "quantile", "conformal_forest", "conformal_linear", "cqr", "gnll", "ngboost"),
    *("catboost", "isolation", "distance"),
)
_EXPLAINED = {
    **dict.fromkeys(("sgb", "sglb", "virtual_sglb"), _SGLB),
    **dict.fromkeys(("csglb", "cbsglb"), _CYCLICAL),
    **dict.fromkeys(("ibug", "ibug_cbu", "knn", "knn_cb"), _IBUG),
    **dict.fromkeys(("vst", "vsgbm", "xbart"), _SOFT_TREES),
    **dict.fromkeys(("macau", "macau_linear", "macau_basic"), _MACAU),
    **dict.fromkeys(("vrf", "virtual_catboost"), Explained(_SGLB.page, _BASELINES)),
    "stacked": _LAW,
    "gp": Explained(_SOFT_TREES.page, _BASELINES),
    **dict.fromkeys(_COMPARED, Explained(_MACAU.page, _BASELINES)),
}
_CALIBRATED = ("two_clocks", "scaled")


def explain_method(method: BoardMethod) -> Explained:
    """Where a method is explained; others' methods stand among the methods for comparison.

    Examples
    --------
    >>> explain_method(BoardMethod("ibug:lightgbm", "IBUG on LightGBM", "ibug"))
    Explained(page='neighbours', doc='methods/ibug.md')
    >>> explain_method(BoardMethod("sglb:two_clocks", "SGLB, two clocks", "sglb")).page
    'two_clocks'
    """
    if method.key.partition(":")[2] in _CALIBRATED:
        return _CLOCKS
    return _EXPLAINED.get(method.record or "", _BASELINE)


def command_of(table: Table, set_key: str, method: str) -> str:
    """The command that makes a method's numbers on a set, with as many splits as there are.

    Raises
    ------
    InvalidParameter

    Examples
    --------
    >>> from gbuq_core.experiments.scoreboard.board import read_board
    >>> command_of(read_board().table("sglb"), "digits", "sglb:single")
    'python -m benchmarks.tables --tables sglb --sets digits --methods sglb:single --splits ...'
    """
    results = table.results_of(set_key, table.find_method(method).key)
    splits = max((each.split for each in results), default=SMALL_SPLITS - 1) + 1
    parts = [
        *("--tables", table.key, "--sets", set_key, "--methods", method, "--splits", str(splits)),
        *(("--effort", table.effort) if table.effort == "full" else ()),
        *(("--data-dir", "DIR") if table.find_set(set_key).needs_data else ()),
    ]
    return shlex.join(["python", "-m", "benchmarks.tables", *parts])
