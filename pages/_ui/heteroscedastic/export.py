"""Exports of Heteroscedastic (code, tables, page), and its equations."""

from __future__ import annotations

from functools import partial

import streamlit as st

from gbuq_core.experiments.heteroscedastic.export import (
    curves_csv,
    heteroscedastic_code,
    heteroscedastic_sections,
    rows_csv,
    scores_csv,
)
from gbuq_core.experiments.heteroscedastic.fit import HeteroscedasticRun
from gbuq_core.experiments.heteroscedastic.plan import HeteroscedasticSettings
from gbuq_core.experiments.heteroscedastic.words import describe_heteroscedastic
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import standalone_html
from gbuq_core.glossary import GLOSSARY
from pages._ui.departures import show_departures
from pages._ui.export import Download, show_exports
from pages._ui.heteroscedastic.scorecard import claims_of, scores_of

_PAPER = "https://doi.org/10.5121/csit.2023.131920"
_LEAD = (
    "Do models know their noise, and the places where they have seen no rows? MACAU has a linear "
    "model or a mean in every leaf of a random forest. The page compares it with others. After the "
    "paper on MACAU, doi 10.5121/csit.2023.131920."
)
_TERMS = (
    "total", "data", "knowledge", "novelty", "conditional_novelty", "inference_novelty",
    "foreign_rows", "conformal", "crps", "coverage", "auroc",
)  # fmt: skip


def export_heteroscedastic(
    settings: HeteroscedasticSettings, run: HeteroscedasticRun, figure: Curves
) -> None:
    """Code, data and page. The picture has its own buttons to save it."""
    downloads = [
        Download("Curves (CSV)", "curves.csv", "text/csv", partial(curves_csv, run)),
        Download(
            "Scores (CSV)", "scores.csv", "text/csv", lambda: scores_csv(scores_of(run))
        ),
        Download("Rows (CSV)", "rows.csv", "text/csv", partial(rows_csv, run.data)),
        Download(
            "Page (HTML)", "heteroscedastic.html", "text/html",
            partial(_html, settings, run, figure),
        ),
    ]  # fmt: skip
    show_exports("heteroscedastic", heteroscedastic_code(settings), downloads)
    st.caption("In words")
    st.text(describe_heteroscedastic(run, scores_of(run)), width="stretch")


def explain_heteroscedastic() -> None:
    """Equations, where they come from, and what words mean."""
    st.markdown(
        f"The paper on MACAU, [doi 10.5121/csit.2023.131920]({_PAPER}), sections 3 and 4. The "
        "rows follow its equation 6, with a noise std of a tenth of x:"
    )
    st.latex(
        r"X\sim U(0,10),\qquad Y=\tfrac12 X+\sin X+0.1\,X\,\varepsilon,\qquad"
        r"\varepsilon\sim\mathcal N(0,1)"
    )
    st.markdown(
        "Every leaf of every tree has a small model: a Bayesian linear regression on the "
        "features along the path to the leaf (linear), or the mean and the variance of its "
        "rows (basic). The law of total variance (equations 1 and 2) combines the T trees. "
        "Data uncertainty is the mean of the leaves' variances. Knowledge uncertainty is the "
        "variance of the leaves' means:"
    )
    st.latex(
        r"\underbrace{\sigma^2(x)}_{\text{total}}="
        r"\underbrace{\frac1T\sum_t\sigma_t^2(x)}_{\text{data}}+"
        r"\underbrace{\frac1T\sum_t\bigl(\mu_t(x)-\bar\mu(x)\bigr)^2}_{\text{knowledge}}"
    )
    st.markdown(
        "Novelty (section 3.2) is the Mahalanobis distance from a row to the training rows of "
        "its leaf. In each tree, the distances of the training rows turn it into a z-score. "
        "Novelty is the mean of these z-scores. The authors' z-scores stop at 5.2. Ours go on "
        "rising, unless you change that in All settings. Conditional novelty uses only the "
        "features along the path to the leaf. With one feature, that is the same. Inference "
        "novelty compares the prediction with the leaf's predictions in training."
    )
    terms = [GLOSSARY[name] for name in _TERMS]
    st.markdown("\n".join(f"- **{term.label}.** {term.definition}" for term in terms))
    show_departures("MACAU")


def _html(settings: HeteroscedasticSettings, run: HeteroscedasticRun, figure: Curves) -> bytes:
    sections = heteroscedastic_sections(settings, run, figure, scores_of(run), claims_of(run))
    return standalone_html(sections, "Heteroscedastic", _LEAD).encode()
