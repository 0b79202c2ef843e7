"""What the paper's table 1 says about the one-dimensional experiment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class PaperRow(NamedTuple):
    """A line of table 1: CRPS in units of y, AUROC of foreign rows; NaN where it is empty."""

    crps: float
    auroc: float


_NONE = math.nan
# MACAU (doi 10.5121/csit.2023.131920), table 1, columns "1DS ynth" of CRPS and AUC: by the
# method's key and the score's.
PAPER_TABLE: Mapping[tuple[str, str], PaperRow] = MappingProxyType(
    {
        ("catboost", "data"): PaperRow(0.32, 0.55),
        ("catboost", "knowledge"): PaperRow(0.44, 0.53),
        ("catboost", "total"): PaperRow(0.32, 0.55),
        ("gnll", "total"): PaperRow(0.29, 0.50),
        ("conformal_linear", "total"): PaperRow(0.49, 0.70),
        ("conformal_forest", "total"): PaperRow(0.30, 0.66),
        ("isolation", "isolation"): PaperRow(_NONE, 1.0),
        ("macau_basic", "data"): PaperRow(0.29, 0.44),
        ("macau_basic", "conditional_novelty"): PaperRow(_NONE, 1.0),
        ("macau_basic", "knowledge"): PaperRow(0.35, 0.20),
        ("macau_basic", "inference_novelty"): PaperRow(_NONE, 0.50),
        ("macau_basic", "novelty"): PaperRow(_NONE, 1.0),
        ("macau_basic", "total"): PaperRow(0.29, 0.32),
        ("macau_linear", "data"): PaperRow(0.29, 0.54),
        ("macau_linear", "conditional_novelty"): PaperRow(_NONE, 1.0),
        ("macau_linear", "knowledge"): PaperRow(0.39, 0.95),
        ("macau_linear", "inference_novelty"): PaperRow(_NONE, 1.0),
        ("macau_linear", "novelty"): PaperRow(_NONE, 1.0),
        ("macau_linear", "total"): PaperRow(0.29, 0.63),
        ("ngboost", "total"): PaperRow(0.32, 0.53),
        ("quantile", "total"): PaperRow(0.31, 0.28),
        ("forest", "total"): PaperRow(0.35, 0.20),
    }
)


def paper_crps(method: str) -> float:
    """The table's CRPS of a method with its total uncertainty; NaN where there is none.

    Examples
    --------
    >>> paper_crps("macau_linear"), paper_crps("isolation")
    (0.29, nan)
    """
    row = PAPER_TABLE.get((method, "total"))
    return _NONE if row is None else row.crps


def paper_auroc(method: str, score: str) -> float:
    """The table's AUROC of a method's score; NaN where there is none.

    Examples
    --------
    >>> paper_auroc("macau_linear", "knowledge"), paper_auroc("cqr", "total")
    (0.95, nan)
    """
    row = PAPER_TABLE.get((method, score))
    return _NONE if row is None else row.auroc
