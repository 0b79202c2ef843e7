"""What can be taken away from Spiral: code, table, page; and where it all comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from gbuq_core.experiments.claims import claim_table
from gbuq_core.experiments.spiral.claims import settings_text
from gbuq_core.experiments.spiral.export import score_section, spiral_code, spiral_csv
from gbuq_core.experiments.spiral.fit import SpiralRun
from gbuq_core.experiments.spiral.plan import SpiralSettings, why_not
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.settings import plan_of
from pages._ui.departures import show_departures
from pages._ui.export import Download, show_exports
from pages._ui.spiral.controls import Looks
from pages._ui.spiral.look import look_at_point, walk_along
from pages._ui.spiral.picture import sheet_of, words_of
from pages._ui.spiral.scorecard import claims_of, scores_of

_FIRST_PAPER = "https://arxiv.org/abs/2006.10562"
_SECOND_PAPER = "https://ceur-ws.org/Vol-3381/47.pdf"
_LEAD = (
    "The three arms of a spiral are three classes. After Malinin, Prokhorenkova and Ustimenko, "
    "Uncertainty in gradient boosting via ensembles (arXiv 2006.10562), section 4, and Tan, "
    "Huertas and Zhao, Efficient and effective uncertainty quantification in gradient boosting "
    "via cyclical gradient MCMC (CEUR-WS 3381, paper 47), section 5.1."
)
_LEAST_HEIGHT = 184  # of the maps in a page of its own, which scrolls: titles have room over them


def export_spiral(run: SpiralRun, looks: Looks, knobs: Sequence[LiveKnob]) -> None:
    """Code, data, page; then the picture in words."""
    downloads = (
        Download("Data (CSV)", "spiral.csv", "text/csv", partial(spiral_csv, run)),
        Download("Page (HTML)", "spiral.html", "text/html", partial(_html, run, looks, knobs)),
    )
    show_exports("spiral", spiral_code(_possible(run.settings)), downloads)
    st.caption("In words")
    st.text(words_of(run))


def explain_spiral() -> None:
    """Equations and where they come from."""
    st.markdown(
        f"Malinin, Prokhorenkova and Ustimenko, [Uncertainty in gradient boosting via "
        f"ensembles]({_FIRST_PAPER}), section 4. Total, data and knowledge uncertainty of M "
        "members with class probabilities p (equations 3 to 5), in nats:"
    )
    st.latex(
        r"\underbrace{H\!\left(\tfrac1M\sum_m p_m\right)}_{\text{total}}"
        r"=\underbrace{\tfrac1M\sum_m H(p_m)}_{\text{data}}+\underbrace{\mathcal I}"
        r"_{\text{knowledge}},\quad H(p)=-\sum_c p_c\ln p_c"
    )
    st.markdown(
        f"Tan, Huertas and Zhao, [Efficient and effective uncertainty quantification in "
        f"gradient boosting via cyclical gradient MCMC]({_SECOND_PAPER}), scale the gradients "
        "of tree t in cycles of C trees (algorithm 1, equation 7) and take a member at the end "
        "of each cycle. They do not scale the noise:"
    )
    st.latex(
        r"\alpha_t=\max\!\left(\tfrac{\alpha_{\max}}2\left(\cos\tfrac{\pi\,(t\bmod C)}{C}"
        r"+1\right),\ \alpha_{\min}\right)"
    )
    st.markdown(
        "While cbSGLB explores, it uses the gradients of a random share of the rows only. A "
        "virtual ensemble is one model; its members are that model cut at K, 2K, ... trees "
        "above the start. M members count for M / (1 + (M - 1) rho) independent ones, where "
        "rho is the mean correlation between their errors."
    )
    show_departures("Boosting")


def _possible(settings: SpiralSettings) -> SpiralSettings:
    """The settings without the methods that cannot run with them: their code would fail."""
    methods = settings.methods
    given = tuple(m for m in methods if not why_not(plan_of(settings, m), settings))
    return replace(settings, methods=given)


def _html(run: SpiralRun, looks: Looks, knobs: Sequence[LiveKnob] = ()) -> bytes:
    scores = scores_of(run)
    looks = looks._replace(point_open=True, walk_open=True)  # both are told below
    sheet = sheet_of(run, run.methods, looks, knobs)
    height = max(sheet.panel_height, _LEAST_HEIGHT)
    sheet = replace(sheet, panel_height=height, quiet=False)
    sections = [Section(sheet=sheet, caption=sheet.alt)]
    if run.methods:
        sections.append(look_at_point(run.settings, run.methods, looks))
        if looks.start != looks.end:
            sections.append(walk_along(run.settings, run.methods, looks))
        sections.append(score_section(run, scores))
    sections += [
        Section(
            heading="The papers and this picture",
            text=settings_text(run.settings),
            table=claim_table(claims_of(run), "The papers"),
        ),
        Section(heading="Python", code=spiral_code(_possible(run.settings))),
    ]
    return standalone_html(sections, "The spiral", _LEAD).encode()
