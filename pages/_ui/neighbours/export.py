"""What can be taken away from Neighbours: code, tables, page; and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from gbuq_core.experiments.neighbours.export import (
    as_shown,
    neighbours_code,
    neighbours_csv,
    neighbours_map_csv,
    neighbours_rows_csv,
    neighbours_sections,
)
from gbuq_core.experiments.neighbours.look import NeighboursRun
from gbuq_core.experiments.neighbours.words import describe_neighbours
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import standalone_html
from pages._ui.departures import show_departures
from pages._ui.export import Download, show_exports
from pages._ui.neighbours.picture import tables_of
from pages._ui.neighbours.scorecard import scores_of

_PAPER = "https://arxiv.org/abs/2205.11412"
_LEAD = (
    "The training rows behind a prediction of boosted trees, and how uncertain they make it. "
    "After Brophy and Lowd, Instance-based uncertainty estimation for gradient-boosted regression "
    "trees (arXiv 2205.11412)."
)


def export_neighbours(run: NeighboursRun, knobs: Sequence[LiveKnob]) -> None:
    """Code, data, page."""
    tables = {"Predictions": neighbours_csv, "Neighbours": neighbours_rows_csv}
    if run.fit.data.n_inputs:
        tables["Picture"] = neighbours_map_csv
    downloads = [
        Download(f"{name} (CSV)", f"{name.lower()}.csv", "text/csv", partial(make, run))
        for name, make in tables.items()
    ]
    page = partial(_html, run, knobs)
    downloads.append(Download("Page (HTML)", "neighbours.html", "text/html", page))
    show_exports("neighbours", neighbours_code(as_shown(run)), downloads)
    st.caption("In words")
    st.text(describe_neighbours(run))


def explain_neighbours() -> None:
    """Equations and where they come from."""
    st.markdown(
        f"Brophy and Lowd, [Instance-based uncertainty estimation for gradient-boosted "
        f"regression trees]({_PAPER}), section 3. The affinity of a new row to a training row "
        "is the number of trees in which both reach the same leaf (algorithm 1). The k "
        "training rows with the highest affinity are the neighbours. Ties go to the rows that "
        "come first:"
    )
    st.latex(
        r"A(x, x_i)=\sum_{t=1}^{T}\mathbf 1\!\left[\ell_t(x)=\ell_t(x_i)\right],\qquad "
        r"\mu=\hat y(x),\quad \sigma=\operatorname{std}\{y_i: i\in N_k(x)\}"
    )
    st.markdown(
        "The mean is the model's own prediction; only the spread comes from the neighbours. "
        "k is the best of 17 values on the validation rows (algorithm 3). Calibration then "
        "multiplies all scales by one factor, or adds one constant (equation 2). It acts on "
        "the std, as in the authors' code. After tuning, the model is trained on all rows. "
        "Nine families can be fitted to the neighbours' targets (equation 3). Each keeps this "
        "mean and spread, except the kernel density, which takes both from the targets. The "
        "best family has the lowest NLL on the validation rows. Affinity can also be counted "
        "in the first, the last or random trees only (section 4.1)."
    )
    show_departures("IBUG")


def _html(run: NeighboursRun, knobs: Sequence[LiveKnob]) -> bytes:
    sections = neighbours_sections(run, scores_of(run, {}), knobs, tables_of(run))
    return standalone_html(sections, "Neighbours", _LEAD).encode()
