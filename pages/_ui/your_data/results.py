"""The picture of a scored table: its rows by data and knowledge uncertainty, and its scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import streamlit as st

from gbuq_core.figures.curves import Curves
from gbuq_core.figures.table.rows import row_map_figure
from gbuq_core.glossary import GLOSSARY, UNCERTAINTY_KINDS
from gbuq_core.lenses.pictures import (
    RowUncertainties,
    clocks_of,
    kinds_of,
    promises_of,
    rejection_of,
    row_map_of,
    score_cells,
)
from gbuq_core.tables import why_no_coverage
from gbuq_core.tables.clocks import describe_clocks
from gbuq_core.tables.evaluating import RegressionScores
from gbuq_core.tables.intervals import written_scores
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.words import (
    count_members,
    describe_table,
    name_members,
    say_trust,
    why_no_knowledge,
)
from pages._ui.curves import show_curves
from pages._ui.kept import remember

_HEIGHT = 330


def draw_row_map(
    scored: ScoredTable,
    shown: RowUncertainties,
    row: int | None,
    positions: np.ndarray | None = None,
    key: str = "row-map",
) -> None:
    """Noise against knowledge uncertainty; a click opens the row.

    ``positions`` are of the rows that a condition gave: they alone are drawn, with the
    open row.
    """
    rows = row_map_of(scored, shown, row, rows=positions)
    show_curves(row_map_figure(rows, _HEIGHT), key=key, on_pick=_open_row)
    missing = why_no_knowledge(scored)
    note = "Each dot is a row: noise to the right" + (
        "." if missing else f", disagreement of {name_members(scored)} upwards."
    )
    if positions is not None:
        note += (
            f" {len(rows.number):,} of {len(shown.knowledge):,} rows are drawn: those that meet "
            "the condition, and the open one."
        )
    elif len(rows.number) < len(shown.knowledge):
        note += (
            f" {len(rows.number):,} of {len(shown.knowledge):,} rows are drawn, with all extreme "
            "rows."
        )
    st.caption(f"{note} {missing}" if missing else note)


def draw_verdict(scored: ScoredTable, digest: str) -> None:
    """Whether the model knows where it errs; the numbers are a click away."""
    words = remember(digest, say_trust, scored)
    with st.container(key="first-verdict"), st.popover(words, type="tertiary"):
        for sentence in remember(digest, describe_table, scored):
            st.text(sentence, width="stretch")


def draw_scores(scored: ScoredTable, digest: str, conformal: bool = False) -> None:
    """How good it is in words, beside what was measured on rows that were held out."""
    words, measured = st.columns([0.44, 0.56], gap="large")
    unfamiliarity = scored.unfamiliarity
    # Said above, by `warn_of_second` and `draw_advice`.
    above = (unfamiliarity is not None and unfamiliarity.is_foreign) + len(scored.questions)
    with words, st.container(key="in-words", gap="xsmall"):
        for sentence in remember(digest, describe_table, scored)[above:]:
            st.text(sentence, width="stretch")
    is_regression = isinstance(scored.scores, RegressionScores)
    makers: dict[str, tuple[Callable[..., Curves | None], str, tuple[bool, ...]]] = {
        "Rejection": (rejection_of, "rejection", ()),
        "Coverage" if is_regression else "Calibration": (
            promises_of,
            "coverage",
            (conformal and is_regression,),
        ),
    }
    if scored.clocks is not None:
        makers["Trees"] = (clocks_of, "trees-in-use", ())
    if why_no_coverage(scored):  # as the words say
        del makers["Coverage" if is_regression else "Calibration"]
    tabs = measured.tabs(list(makers), key=f"judged-{'-'.join(makers)}")
    for tab, (make, key, chosen) in zip(tabs, makers.values(), strict=True):
        with tab:
            figure = remember((digest, chosen), make, scored, *chosen)
            assert figure is not None
            show_curves(figure, key=key)
            note = f"Measured on {scored.scores.n_rows:,} rows that the model did not learn from."
            st.caption(_trees_caption(scored) if key == "trees-in-use" else note)


def _trees_caption(scored: ScoredTable) -> str:
    """What was chosen, and by which rows."""
    assert scored.clocks is not None
    sentence = describe_clocks(scored.clocks, scored.plan.trees)
    if scored.plan.split == "time":
        return f"{sentence} For the scores, earlier rows chose."
    who = "the rows of the other folds" if scored.protocol == "out_of_fold" else "the other half"
    trees, what = "numbers of trees", "the factor and the tails"
    if scored.training.target.classes:
        trees, what, who = "number of trees", "the temperature", "other rows"
    return (
        f"{sentence} All rows held out chose the {trees} together, which flatters the scores a "
        f"little. For the scores, {who} chose {what}."
    )


def draw_scorecard(scored: ScoredTable, cost: str) -> None:
    """The scores as one row of numbers; no word of the user is in it."""
    cells = [("Rows held out", f"{(scored.scores).n_rows:,}")]
    kinds = kinds_of(scored)
    missing = why_no_coverage(scored)
    cells += score_cells(written_scores(scored), kinds, quotes_coverage=not missing)
    if scored.new_scores is not None:
        cells += [("On the second file", f"{scored.new_scores.n_rows:,} rows")]
        cells += score_cells(scored.new_scores, kinds)[:3]
    if n_members := count_members(scored):
        cells.append(("Member" if n_members == 1 else "Members", f"{n_members}"))
    with st.container(horizontal=True, gap="medium", key="scorecard"):
        for head, value in cells:
            st.markdown(f"**{value}**  \n{head}", width="content")
    st.caption(cost)


def show_words() -> None:
    """Definitions from the glossary, and what this page cannot promise."""
    with st.expander("What the words mean"):
        names = [
            *UNCERTAINTY_KINDS,
            "unfamiliarity",
            "times_beyond",
            "member",
            "virtual_ensemble",
            "nll",
            "rmse",
            "error_rate",
            "coverage",
            "conformal",
            "rejection_curve",
            "prr",
        ]
        terms = [GLOSSARY[name] for name in names]
        st.markdown("\n".join(f"- **{term.label}.** {term.definition}" for term in terms))
        st.markdown(
            "Unfamiliarity joins the range of the training rows, novelty (MACAU), the distance to "
            "the ten nearest rows, affinity (IBUG) and, where they are quick, independent models. "
            "**PRR x to y %** in the sentences above is the 95 % interval "
            "of the PRR over rows drawn again; chance gives 0."
        )
        st.markdown(
            "**Be careful.** Trees alone predict a constant outside the training data, often with "
            "a small uncertainty; the stacked law grows wider there. Unfamiliarity sees such rows "
            "in any case; knowledge uncertainty may not. If "
            "your rows belong to groups or follow each other in time, a split at random gives "
            "scores that are too good: choose another one in All settings. Fewer members or later "
            "truncations make knowledge uncertainty smaller."
        )


def _open_row(number: int) -> None:
    """Open the row whose dot was clicked, by its number in the file."""
    st.session_state["row"] = float(number)
