"""The picture of a scored table: its rows by noise and unfamiliarity, and how far to trust that."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gbuq_core.figures.table_coverage import (
    coverage_figure,
    describe_coverage,
    describe_reliability,
    reliability_figure,
)
from gbuq_core.figures.table_rejection import Ranking, describe_rejection, rejection_figure
from gbuq_core.figures.table_rows import RowMap, describe_row_map, row_map_figure
from gbuq_core.figures.theme import METHOD_STYLES, MethodStyle, plot_config
from gbuq_core.glossary import GLOSSARY
from gbuq_core.tables.evaluation import RegressionScores, Scores
from gbuq_core.tables.output import row_errors
from gbuq_core.tables.scoring import ScoredTable
from pages._ui.export_ui import is_dark, picture_format

MOST_DOTS = 2000
KINDS = ("total", "data", "knowledge")
_HEIGHT = 330
_MAP_KEY = "row-map"


class Shown(NamedTuple):
    """Uncertainties of all rows in the unit that the reader chose, and that unit."""

    total: np.ndarray
    data: np.ndarray
    knowledge: np.ndarray
    unit: str


class Described(NamedTuple):
    """A figure and the same in words."""

    figure: go.Figure
    words: str


def in_unit(scored: ScoredTable, unit: str) -> Shown:
    """Variances, or stds where the reader wants them; nats for classes."""
    parts = scored.predictions.uncertainty
    if scored.training.target.classes:
        return Shown(*parts, "nats")
    if unit == "variance":
        return Shown(*parts, "variance, squared units of the target")
    return Shown(*(np.sqrt(part) for part in parts), "std, units of the target")


def style_of(scored: ScoredTable) -> MethodStyle:
    """Colour and name of the method that was trained."""
    plan = scored.plan
    if plan.method == "sgb":
        return METHOD_STYLES["sgb"]
    return METHOD_STYLES["virtual_sglb" if plan.ensemble == "virtual" else "sglb"]


def draw_row_map(scored: ScoredTable, shown: Shown, row: int, digest: str) -> None:
    """Noise against unfamiliarity; a click opens the row."""
    rows = row_map_of(scored, shown, row)
    st.plotly_chart(
        _map_figure(digest, shown.unit, row, is_dark(), rows),
        key=_MAP_KEY,
        on_select=_open_clicked,
        selection_mode="points",
        config=plot_config("rows-by-uncertainty", picture_format()),
        alt=describe_row_map(rows),
    )
    note = "Each dot is a row of the table: to the right noise, upwards unfamiliarity. Click one."
    if len(rows.number) < len(shown.knowledge):
        note += (
            f" {len(rows.number):,} of {len(shown.knowledge):,} rows are drawn, all extremes "
            "included."
        )
    st.caption(note)


def row_map_of(scored: ScoredTable, shown: Shown, row: int) -> RowMap:
    """The rows to draw, one of them ringed."""
    knowledge = shown.knowledge
    positions = np.arange(len(knowledge))
    if len(positions) > MOST_DOTS:
        # The extremes of both kinds, and every so-manyth of the others.
        keep = np.zeros(len(positions), bool)
        for part in (knowledge, shown.data):
            keep[np.argsort(-part)[: MOST_DOTS // 8]] = True
        keep[:: -(-len(positions) // (MOST_DOTS // 2))] = True
        keep[row] = True
        positions = np.flatnonzero(keep)
    errors = row_errors(scored.scored, scored.predictions)
    is_class = bool(scored.training.target.classes)
    return RowMap(
        number=positions + 1,
        data=shown.data[positions],
        knowledge=knowledge[positions],
        error=errors[positions],
        unit=shown.unit.split(",")[0],
        error_label="absolute error",
        is_class=is_class,
        selected=int(np.searchsorted(positions, row)),
    )


def draw_scores(scored: ScoredTable, digest: str) -> None:
    """Rejection curve and coverage on rows that were held out, in two tabs."""
    scores = scored.scores
    names = ["Rejection", "Coverage" if _is_regression(scores) else "Calibration"]
    # Only the open one is drawn.
    first, second = st.tabs(names, key=f"judged-{names[1]}", on_change="rerun")
    if first.open:
        _draw_rejection(scores, first, digest)
    else:
        _draw_promises(scored, second, digest)
    st.caption(f"Measured on {scores.n_rows:,} rows that the model did not learn from.")


def rejection_of(scores: Scores, dark: bool = False) -> Described:
    """The rejection curves of all three uncertainties."""
    rankings = [
        Ranking(kind, getattr(scores.rejection, kind), getattr(scores.prr, kind)) for kind in KINDS
    ]
    label = "squared error left" if _is_regression(scores) else "share of wrong classes left"
    figure = rejection_figure(rankings, label, dark, _HEIGHT - 45)
    return Described(figure, describe_rejection(rankings))


def promises_of(scored: ScoredTable, dark: bool = False) -> Described:
    """Coverage of a regression's intervals, or reliability of the probabilities of classes."""
    scores, style = scored.scores, style_of(scored)
    if isinstance(scores, RegressionScores):
        figure = coverage_figure(scores.coverage, style, dark, _HEIGHT - 45)
        return Described(figure, describe_coverage(scores.coverage))
    figure = reliability_figure(scores.reliability, style, dark, _HEIGHT - 45)
    return Described(figure, describe_reliability(scores.reliability))


def _draw_rejection(scores: Scores, place: Any, digest: str) -> None:
    figure, words = _rejection(digest, is_dark(), scores)
    with place:
        config = plot_config("rejection", picture_format())
        st.plotly_chart(figure, key="rejection", config=config, alt=words)


def _draw_promises(scored: ScoredTable, place: Any, digest: str) -> None:
    figure, words = _promises(digest, is_dark(), scored)
    with place:
        config = plot_config("coverage", picture_format())
        st.plotly_chart(figure, key="coverage", config=config, alt=words)


# A figure that did not change is neither made nor, in the browser, drawn again.
@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def _rejection(digest: str, dark: bool, _scores: Scores) -> Described:
    return rejection_of(_scores, dark)


@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def _promises(digest: str, dark: bool, _scored: ScoredTable) -> Described:
    return promises_of(_scored, dark)


@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def _map_figure(digest: str, unit: str, row: int, dark: bool, _rows: RowMap) -> Any:
    return row_map_figure(_rows, dark, _HEIGHT)


def draw_scorecard(scored: ScoredTable, cost: str) -> None:
    """The scores as one row of numbers; no word of the user is in it."""
    cells = [("Rows held out", f"{(scored.scores).n_rows:,}")]
    cells += score_cells(scored.scores)
    if scored.new_scores is not None:
        cells += [("On the second file", f"{scored.new_scores.n_rows:,} rows")]
        cells += score_cells(scored.new_scores)[:3]
    cells.append(("Members", f"{scored.models[0].estimator.n_members}"))
    with st.container(horizontal=True, gap="medium", key="scorecard"):
        for head, value in cells:
            st.markdown(f"**{value}**  \n{head}", width="content")
    st.caption(cost)


def show_words() -> None:
    """Definitions from the glossary, and what this page cannot promise."""
    with st.expander("What the words mean, and what to be careful about"):
        names = [*KINDS, "member", "virtual_ensemble", "nll", "rmse", "error_rate", "coverage",
                 "rejection_curve", "prr"]  # fmt: skip
        terms = [GLOSSARY[name] for name in names]
        st.markdown("\n".join(f"- **{term.label}.** {term.definition}" for term in terms))
        st.markdown(
            "**Careful.** Trees extend the cells at the border of the data outwards for ever: a "
            "row far outside the training range gets the uncertainty of the nearest border, often "
            "a small one. Look at its place among the training rows below. The rows are split at "
            "random; if yours belong to groups or follow in time, the scores are too good. "
            "Knowledge uncertainty depends on the members: fewer, or later truncations, make it "
            "smaller."
        )


def clicked_row() -> int | None:
    """The number of the row whose dot was clicked, from 1; None for what is no such number."""
    state = st.session_state.get(_MAP_KEY)
    points = state["selection"]["points"] if state else []
    found = points[0].get("customdata") if points else None
    # The browser turns the arrays that Plotly packs into objects with the places as names.
    numbers = list(found.values()) if isinstance(found, dict) else found
    first = numbers[0] if isinstance(numbers, list) and numbers else None
    return int(first) if isinstance(first, int | float) and first >= 1 else None


def _open_clicked() -> None:
    row = clicked_row()
    if row is not None:
        st.session_state["row"] = float(row)


def _is_regression(scores: Scores) -> bool:
    return isinstance(scores, RegressionScores)


def score_cells(scores: Scores) -> list[tuple[str, str]]:
    """Names and values of the scores, as text."""
    if isinstance(scores, RegressionScores):
        cells = [
            ("RMSE", f"{scores.rmse:#.3g}"),
            ("RMSE of the mean", f"{scores.baseline_rmse:#.3g}"),
            ("NLL (nats)", f"{scores.nll:#.3g}"),
            ("CRPS", f"{scores.crps:#.3g}"),
        ]
        found = scores.coverage
        for level, observed, low, high in zip(
            found.levels, found.observed, found.low, found.high, strict=True
        ):
            band = f"{100 * low:.0f}\u2013{100 * high:.0f}"
            cells.append((f"Inside {100 * level:.0f} %", f"{100 * observed:.1f} % ({band})"))
        cells = [cells[0], cells[1], cells[2], cells[3], *cells[-1:]]
    else:
        cells = [
            ("Wrong", f"{100 * scores.error_rate:.3g} %"),
            ("Wrong, most frequent class", f"{100 * scores.baseline_error_rate:.3g} %"),
            ("NLL (nats)", f"{scores.nll:#.3g}"),
            ("Calibration gap", f"{100 * scores.calibration_error:.2g} %"),
        ]
    prrs = [f"{value:.0f}" if np.isfinite(value) else "none" for value in scores.prr]
    cells.append(("PRR of total / data / knowledge, %", " / ".join(prrs)))
    return cells
