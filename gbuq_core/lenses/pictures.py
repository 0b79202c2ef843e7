"""The pictures of a scored table, and its uncertainties and scores as they are written."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.figures.clocks import draw_clocks
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.table.coverage import coverage_figure, reliability_figure
from gbuq_core.figures.table.rejection import Ranking, rejection_figure
from gbuq_core.figures.table.rows import RowMap
from gbuq_core.figures.theme import METHOD_STYLES, MethodStyle
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.presentation import digits, short
from gbuq_core.tables import conformal_coverage
from gbuq_core.tables.clocks import describe_clocks
from gbuq_core.tables.evaluating import RegressionScores, Scores
from gbuq_core.tables.predicting import row_errors
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.words import why_no_knowledge

MOST_DOTS = 2000
_JUDGED_HEIGHT = 262  # on the page, tabs and a legend of two lines are above it


class RowUncertainties(NamedTuple):
    """Uncertainties of all rows in the unit that the reader chose, and that unit."""

    total: np.ndarray
    data: np.ndarray
    knowledge: np.ndarray
    unit: str


def in_unit(scored: ScoredTable, unit: str) -> RowUncertainties:
    """Variances, or stds where the reader wants them; nats for classes."""
    parts = scored.predictions.uncertainty
    if scored.training.target.classes:
        return RowUncertainties(*parts, "nats")
    if unit == "variance":
        return RowUncertainties(*parts, "variance, squared units of the target")
    stds = np.sqrt(parts.total), np.sqrt(parts.data), np.sqrt(parts.knowledge)
    return RowUncertainties(*stds, "std, units of the target")


def style_of(scored: ScoredTable) -> MethodStyle:
    """Colour and name of the method that was trained."""
    plan = scored.plan
    if plan.method != "sglb":
        return METHOD_STYLES[plan.method]
    return METHOD_STYLES["virtual_sglb" if plan.ensemble == "virtual" else "sglb"]


def row_map_of(
    scored: ScoredTable,
    shown: RowUncertainties,
    row: int | None,
    most: int = MOST_DOTS,
    rows: np.ndarray | None = None,
) -> RowMap:
    """The rows to draw, all or those that were found; one of them may be ringed."""
    knowledge = shown.knowledge
    if why_no_knowledge(scored):  # what is left is rounding
        knowledge = 0.0 * knowledge  # and NaN stays
    positions = np.arange(len(knowledge))
    if rows is not None:
        positions = np.union1d(rows[:most], [] if row is None else [row]).astype(np.int64)
    elif len(positions) > most:
        # The extremes of both kinds, and every so-manyth of the others.
        keep = np.zeros(len(positions), bool)
        for part in (knowledge, shown.data):
            keep[np.argsort(-part)[: most // 8]] = True
        keep[:: -(-len(positions) // (most // 2))] = True
        if row is not None:
            keep[row] = True
        positions = np.flatnonzero(keep)
    errors, label = row_errors(scored.scored, scored.predictions), "absolute error"
    is_class = bool(scored.training.target.classes)
    if np.isnan(errors).all() and scored.unfamiliarity is not None:
        errors, label, is_class = scored.unfamiliarity.rows.score, "unfamiliarity", False
    return RowMap(
        number=scored.scored.row_numbers[positions],
        data=shown.data[positions],
        knowledge=knowledge[positions],
        error=errors[positions],
        unit=shown.unit.split(",")[0],
        error_label=label,
        is_class=is_class,
        selected=None if row is None else int(np.searchsorted(positions, row)),
        whole=None if rows is None else (shown.data, knowledge),
    )


def clocks_of(scored: ScoredTable) -> Curves | None:
    """The curves that chose how many trees are in use; None where all are."""
    clocks = scored.clocks
    if clocks is None:
        return None
    return draw_clocks(clocks, describe_clocks(clocks, scored.plan.trees), _JUDGED_HEIGHT)


def kinds_of(scored: ScoredTable) -> tuple[str, ...]:
    """The uncertainties that order the rows: without knowledge, where no row has any."""
    return tuple(
        kind for kind in UNCERTAINTY_KINDS if kind != "knowledge" or not why_no_knowledge(scored)
    )


def ranking_kind(scored: ScoredTable, rank: str) -> str:
    """The uncertainty that rows are ranked by, or else the total."""
    return rank if rank in kinds_of(scored) else "total"


def rejection_of(scored: ScoredTable) -> Curves:
    """The rejection curves of the uncertainties that order the rows."""
    scores = scored.scores
    rankings = [
        Ranking(kind, getattr(scores.rejection, kind), getattr(scores.prr, kind))
        for kind in kinds_of(scored)
    ]
    label = (
        "squared error left"
        if isinstance(scores, RegressionScores)
        else "share of wrong classes left"
    )
    return rejection_figure(rankings, label, _JUDGED_HEIGHT)


def promises_of(scored: ScoredTable, conformal: bool = False) -> Curves:
    """Coverage of a regression's intervals, or reliability of the probabilities of classes."""
    scores, style = scored.scores, style_of(scored)
    if isinstance(scores, RegressionScores):
        beside = conformal_coverage(scored) if conformal else None
        return coverage_figure(scores.coverage, style, _JUDGED_HEIGHT, beside)
    return reliability_figure(scores.reliability, style, _JUDGED_HEIGHT)


def score_cells(
    scores: Scores, kinds: tuple[str, ...] = UNCERTAINTY_KINDS, quotes_coverage: bool = True
) -> list[tuple[str, str]]:
    """Names and values of the scores, as text; a PRR of the kinds that order the rows."""
    if isinstance(scores, RegressionScores):
        cells = [
            ("RMSE", digits(scores.rmse)),
            ("RMSE of the mean", digits(scores.baseline_rmse)),
            ("NLL (nats)", digits(scores.nll)),
            ("CRPS", digits(scores.crps)),
        ]
        coverage = scores.coverage
        for level, observed, low, high in zip(
            coverage.levels, coverage.observed, coverage.low, coverage.high, strict=True
        ):
            band = f"{100 * low:.0f}\u2013{100 * high:.0f}"
            cells.append((f"Inside {100 * level:.0f} %", f"{100 * observed:.1f} % ({band})"))
        cells = [*cells[:4], *(cells[-1:] if quotes_coverage else [])]
    else:
        gap = ("Calibration gap", f"{short(100 * scores.calibration_error, 2)} %")
        cells = [
            ("Wrong", f"{short(100 * scores.error_rate)} %"),
            ("Wrong, most frequent class", f"{short(100 * scores.baseline_error_rate)} %"),
            ("NLL (nats)", digits(scores.nll)),
            *([gap] if quotes_coverage else []),
        ]
    found_prrs = [getattr(scores.prr, kind) for kind in kinds]
    prrs = [f"{value:.0f}" if np.isfinite(value) else "none" for value in found_prrs]
    if np.isfinite(found_prrs).any():  # without an error, there is nothing to rank
        cells.append((f"PRR of {' / '.join(kinds)}, %", " / ".join(prrs)))
    return cells
