"""The picture of a scored table: its rows by data and knowledge uncertainty, and its scores."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import streamlit as st

from gbuq_core.experiments.table.words import name_members, why_no_knowledge
from gbuq_core.figures.clocks import draw_clocks
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.table.coverage import coverage_figure, reliability_figure
from gbuq_core.figures.table.rejection import Ranking, rejection_figure
from gbuq_core.figures.table.rows import RowMap, row_map_figure
from gbuq_core.figures.theme import METHOD_STYLES, MethodStyle
from gbuq_core.glossary import GLOSSARY
from gbuq_core.presentation import digits, short
from gbuq_core.tables import conformal_coverage, why_no_coverage
from gbuq_core.tables.clocks import describe_clocks
from gbuq_core.tables.evaluating import RegressionScores, Scores
from gbuq_core.tables.predicting import row_errors
from gbuq_core.tables.scoring import ScoredTable
from pages._ui.curves import show_curves
from pages._ui.your_data.told import draw_words

MOST_DOTS = 2000
KINDS = ("total", "data", "knowledge")
_HEIGHT = 330
_JUDGED_HEIGHT = 262  # tabs and a legend of two lines are above it


class Shown(NamedTuple):
    """Uncertainties of all rows in the unit that the reader chose, and that unit."""

    total: np.ndarray
    data: np.ndarray
    knowledge: np.ndarray
    unit: str


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
    if plan.method != "sglb":
        return METHOD_STYLES[plan.method]
    return METHOD_STYLES["virtual_sglb" if plan.ensemble == "virtual" else "sglb"]


def draw_row_map(
    scored: ScoredTable, shown: Shown, row: int, found: np.ndarray | None = None
) -> None:
    """Noise against knowledge uncertainty; a click opens the row.

    ``found`` are the positions of the rows that a condition gave: they alone are drawn, with the
    open row.
    """
    rows = row_map_of(scored, shown, row, found=found)
    show_curves(row_map_figure(rows, _HEIGHT), key="row-map", on_pick=_open_row)
    note = (
        "Each dot is a row: further right means more noise, further up means that "
        f"{name_members(scored)} disagree more."
    )
    if found is not None:
        note += (
            f" {len(rows.number):,} of {len(shown.knowledge):,} rows are drawn: those that meet "
            "the condition, and the open one."
        )
    elif len(rows.number) < len(shown.knowledge):
        note += (
            f" {len(rows.number):,} of {len(shown.knowledge):,} rows are drawn, with all extreme "
            "rows."
        )
    missing = why_no_knowledge(scored)
    st.caption(f"{note} {missing}" if missing else note)


def row_map_of(
    scored: ScoredTable,
    shown: Shown,
    row: int,
    most: int = MOST_DOTS,
    found: np.ndarray | None = None,
) -> RowMap:
    """The rows to draw, all or those that were found, one of them ringed."""
    knowledge = shown.knowledge
    if why_no_knowledge(scored):  # what is left is rounding
        knowledge = np.zeros_like(knowledge)
    positions = np.arange(len(knowledge))
    if found is not None:
        positions = np.union1d(found[:most], [row])
    elif len(positions) > most:
        # The extremes of both kinds, and every so-manyth of the others.
        keep = np.zeros(len(positions), bool)
        for part in (knowledge, shown.data):
            keep[np.argsort(-part)[: most // 8]] = True
        keep[:: -(-len(positions) // (most // 2))] = True
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
        whole=None if found is None else (shown.data, knowledge),
    )


def draw_scores(scored: ScoredTable, digest: str, conformal: bool = False) -> None:
    """What was found in words, and what was measured on rows that were held out, in tabs."""
    scores = scored.scores
    second = "Coverage" if _is_regression(scores) else "Calibration"
    promises = partial(_promises, conformal=conformal and _is_regression(scores))
    draw = {"Rejection": (_rejection, "rejection"), second: (promises, "coverage")}
    if scored.clocks is not None:
        draw["Trees"] = (_clocks, "trees-in-use")
    # Another key for other tabs: the open one may be gone.
    tabs = st.tabs(["In words", *draw], key=f"judged-{'-'.join(draw)}", on_change="rerun")
    # Only the open one is drawn.
    opened = next((k for k, tab in enumerate(tabs) if tab.open), 0)
    if not opened:
        with tabs[0]:
            draw_words(scored, digest)
        return
    make, key = list(draw.values())[opened - 1]
    missing = why_no_coverage(scored)
    with tabs[opened]:
        if key == "coverage" and missing:
            st.text(missing, width="stretch")
        else:
            show_curves(make(digest, scored), key=key)
    if key == "coverage" and missing:
        return
    if key == "trees-in-use":
        st.caption(_trees_caption(scored))
    else:
        st.caption(f"Measured on {scores.n_rows:,} rows that the model did not learn from.")


def clocks_of(scored: ScoredTable) -> Curves | None:
    """The curves that chose how many trees are in use; None where all are."""
    found = scored.clocks
    if found is None:
        return None
    return draw_clocks(found, describe_clocks(found, scored.plan.trees), _JUDGED_HEIGHT)


def draw_promises(scored: ScoredTable, digest: str, conformal: bool) -> None:
    """Coverage of a regression's intervals by their level."""
    st.markdown("**Do intervals hold at every level?**")
    figure = _promises(digest, scored, conformal=conformal)
    show_curves(figure, key="coverage-by-level")
    st.caption(str(figure.spec["alt"]))


def _trees_caption(scored: ScoredTable) -> str:
    """What was chosen, and by which rows."""
    assert scored.clocks is not None
    told = describe_clocks(scored.clocks, scored.plan.trees)
    if scored.plan.split == "time":
        return f"{told} For the scores, earlier rows chose."
    who = "the rows of the other folds" if scored.protocol == "out_of_fold" else "the other half"
    trees, what = "numbers of trees", "the factor and the tails"
    if scored.training.target.classes:
        trees, what, who = "number of trees", "the temperature", "other rows"
    return (
        f"{told} All rows held out chose the {trees} together, which flatters the scores a little. "
        f"For the scores, {who} chose {what}."
    )


def kinds_of(scored: ScoredTable) -> tuple[str, ...]:
    """The uncertainties that order the rows: without knowledge, where no row has any."""
    return tuple(kind for kind in KINDS if kind != "knowledge" or not why_no_knowledge(scored))


def rejection_of(scored: ScoredTable) -> Curves:
    """The rejection curves of the uncertainties that order the rows."""
    scores = scored.scores
    rankings = [
        Ranking(kind, getattr(scores.rejection, kind), getattr(scores.prr, kind))
        for kind in kinds_of(scored)
    ]
    label = "squared error left" if _is_regression(scores) else "share of wrong classes left"
    return rejection_figure(rankings, label, _JUDGED_HEIGHT)


def promises_of(scored: ScoredTable, conformal: bool = False) -> Curves:
    """Coverage of a regression's intervals, or reliability of the probabilities of classes."""
    scores, style = scored.scores, style_of(scored)
    if isinstance(scores, RegressionScores):
        beside = conformal_coverage(scored) if conformal else None
        return coverage_figure(scores.coverage, style, _JUDGED_HEIGHT, beside)
    return reliability_figure(scores.reliability, style, _JUDGED_HEIGHT)


# A figure that did not change is not made again.
@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def _clocks(digest: str, _scored: ScoredTable) -> Curves:
    figure = clocks_of(_scored)
    assert figure is not None
    return figure


@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def _rejection(digest: str, _scored: ScoredTable) -> Curves:
    return rejection_of(_scored)


@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def _promises(digest: str, _scored: ScoredTable, conformal: bool) -> Curves:
    return promises_of(_scored, conformal)


def draw_scorecard(scored: ScoredTable, cost: str) -> None:
    """The scores as one row of numbers; no word of the user is in it."""
    cells = [("Rows held out", f"{(scored.scores).n_rows:,}")]
    kinds = kinds_of(scored)
    missing = why_no_coverage(scored)
    cells += score_cells(scored.scores, kinds, quotes_coverage=not missing)
    if scored.new_scores is not None:
        cells += [("On the second file", f"{scored.new_scores.n_rows:,} rows")]
        cells += score_cells(scored.new_scores, kinds)[:3]
    n_members = scored.models[0].estimator.n_members
    cells.append(("Member" if n_members == 1 else "Members", f"{n_members}"))
    with st.container(horizontal=True, gap="medium", key="scorecard"):
        for head, value in cells:
            st.markdown(f"**{value}**  \n{head}", width="content")
    if missing:
        st.text(missing, width="stretch")
    st.caption(cost)


def show_words() -> None:
    """Definitions from the glossary, and what this page cannot promise."""
    with st.expander("What the words mean, and where to be careful"):
        names = [*KINDS, "unfamiliarity", "times_beyond", "member", "virtual_ensemble", "nll",
                 "rmse", "error_rate", "coverage", "conformal", "rejection_curve",
                 "prr"]  # fmt: skip
        terms = [GLOSSARY[name] for name in names]
        st.markdown("\n".join(f"- **{term.label}.** {term.definition}" for term in terms))
        st.markdown(
            "Unfamiliarity joins the range of the training rows, novelty (MACAU), the distance to "
            "the ten nearest rows, affinity (IBUG) and, where they are quick, independent models. "
            "**PRR x to y %** in the sentences above is the 95 % interval "
            "of the PRR over rows drawn again; chance gives 0."
        )
        st.markdown(
            "**Be careful.** Trees predict a constant outside the training data: a row far outside "
            "the training range gets the uncertainty of the nearest training rows, which is often "
            "small. Unfamiliarity sees such rows; knowledge uncertainty may not. If your rows "
            "belong to groups or follow each other in time, a split at random gives scores that "
            "are too good: choose another split in the sidebar. Knowledge uncertainty depends on "
            "the members: fewer members or later truncations make it smaller."
        )


def _open_row(number: int) -> None:
    """Open the row whose dot was clicked, by its number from 1."""
    st.session_state["row"] = float(number)


def _is_regression(scores: Scores) -> bool:
    return isinstance(scores, RegressionScores)


def score_cells(
    scores: Scores, kinds: tuple[str, ...] = KINDS, quotes_coverage: bool = True
) -> list[tuple[str, str]]:
    """Names and values of the scores, as text; a PRR of the kinds that order the rows."""
    if isinstance(scores, RegressionScores):
        cells = [
            ("RMSE", digits(scores.rmse)),
            ("RMSE of the mean", digits(scores.baseline_rmse)),
            ("NLL (nats)", digits(scores.nll)),
            ("CRPS", digits(scores.crps)),
        ]
        found = scores.coverage
        for level, observed, low, high in zip(
            found.levels, found.observed, found.low, found.high, strict=True
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
    cells.append((f"PRR of {' / '.join(kinds)}, %", " / ".join(prrs)))
    return cells
