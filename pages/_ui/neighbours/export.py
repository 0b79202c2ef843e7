"""What can be taken away from Neighbours: code, link, tables, page; and where it comes from."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from gbuq_core.experiments.neighbours.export import (
    as_shown,
    neighbours_code,
    neighbours_csv,
    neighbours_map_csv,
    neighbours_rows_csv,
)
from gbuq_core.experiments.neighbours.words import describe_neighbours
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section, standalone_html
from pages._ui.departures import show_departures
from pages._ui.export import Download, show_exports
from pages._ui.neighbours.look import families_of, neighbour_frame, reasons_of
from pages._ui.neighbours.picture import (
    Found,
    course_of,
    held_out_of,
    surface_of,
    tables_of,
    training_of,
)
from pages._ui.neighbours.scorecard import score_rows, scores_of
from pages._ui.neighbours.words import title_of

_PAPER = "https://arxiv.org/abs/2205.11412"
_LEAD = (
    "The training rows behind a prediction of boosted trees, and how uncertain they make it. "
    "After Brophy and Lowd, Instance-based uncertainty estimation for gradient-boosted regression "
    "trees (arXiv 2205.11412)."
)
_MOST_LISTED = 50  # neighbours in the page to take away


def export_neighbours(found: Found, link: str) -> None:
    """Code, link, data, page."""
    fit, view, look = found.fit, found.view, found.look
    downloads = [
        Download(
            "Predictions (CSV)", "predictions.csv", "text/csv", partial(neighbours_csv, fit, view)
        ),
        Download(
            "Neighbours (CSV)", "neighbours.csv", "text/csv",
            partial(neighbours_rows_csv, fit, look),
        ),
        Download("Page (HTML)", "neighbours.html", "text/html", partial(_html, found)),
    ]  # fmt: skip
    if fit.data.n_inputs:
        picture = Download(
            "Picture (CSV)",
            "picture.csv",
            "text/csv",
            partial(neighbours_map_csv, fit, view, look),
        )
        downloads.insert(1, picture)
    show_exports("neighbours", _code(found), link, downloads)


def _code(found: Found) -> str:
    return neighbours_code(as_shown(found.settings, found.search, found.view, found.look))


def words_of(found: Found) -> str:
    """The picture in words."""
    return describe_neighbours(found.fit, found.search, found.view, found.look)


def explain_neighbours() -> None:
    """Equations and where they come from."""
    with st.expander("Equations and paper"):
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


def _html(found: Found) -> bytes:
    n_inputs, words = found.fit.data.n_inputs, words_of(found)
    if n_inputs == 2:
        pictures = [Section(sheet=surface_of(found), caption=words)]
    elif n_inputs == 1:
        pictures = [_curves("", course_of(found), words)]
    else:
        pictures = [
            _curves("Held-out rows", held_out_of(found), words),
            _curves("Training rows", training_of(found)),
        ]
    pictures[0] = replace(pictures[0], tables=tables_of(found))
    frame = neighbour_frame(found).head(_MOST_LISTED)
    listed = [
        tuple(value if isinstance(value, str) else f"{value:.6g}" for value in row)
        for row in frame.itertuples(index=False)
    ]
    sections = [
        *pictures,
        _curves(title_of(found.fit, found.look), families_of(found)),
        Section(
            heading="Why this scale", sheet=(reasons := reasons_of(found)), caption=reasons.alt
        ),
        Section(
            heading="The neighbours", table=[tuple(str(name) for name in frame.columns), *listed]
        ),
        Section(heading="Scorecard", table=score_rows(scores_of(found, {}))),
        Section(heading="Python", code=_code(found)),
    ]
    return standalone_html(sections, "Neighbours", _LEAD).encode()


def _curves(heading: str, figure: Curves, caption: str = "") -> Section:
    return Section(heading=heading, curves=figure, caption=caption or figure.alt)
