"""Heart's picture, its scorecard, the paper's claims, and what can be taken away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from gbuq_core.experiments.claims import Claim, claim_table
from gbuq_core.experiments.heart.data import make_painted_heart
from gbuq_core.experiments.heart.export import heart_code, heart_csv
from gbuq_core.experiments.heart.fit import HeartRun, fit_heart, map_heart
from gbuq_core.experiments.heart.picture import heart_sheet
from gbuq_core.experiments.heart.plan import (
    METHODS,
    HeartSettings,
    estimate_heart_seconds,
)
from gbuq_core.experiments.heart.scores import (
    STUDY,
    auroc_text,
    check_claims,
    describe_heart,
    score_heart,
)
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.glossary import STD_CAVEAT
from gbuq_core.presentation import digits, markdown_table, megabytes
from gbuq_core.settings import bare, plan_of
from gbuq_core.synthetic import HeartData
from pages._ui.canvas import CanvasEvent, canvas, keep_knobs
from pages._ui.claims import draw_claims
from pages._ui.departures import show_departures
from pages._ui.export import Download, show_exports
from pages._ui.heart.controls import unpaint
from pages._ui.kept import kept
from pages._ui.side_by_side import Shown, SideBySide, say_problems, say_refusals, say_stale
from pages._ui.surface import show_surface

_PAPER = "https://arxiv.org/abs/2006.10562"
_LEAD = (
    "Two features of nine levels. Hatched cells have no training rows. After Malinin, "
    "Prokhorenkova and Ustimenko, Uncertainty in gradient boosting via ensembles, section 4 (arXiv "
    "2006.10562)."
)

PAGE = SideBySide(
    name="heart",
    methods=METHODS,
    plan=plan_of,
    why_not=lambda plan: METHODS[plan.method].record.missing(),
    estimate=estimate_heart_seconds,
    fit=fit_heart,
    view=map_heart,
    depends=lambda _, given: (given.step, given.start, given.shown),
)


def run_of(settings: HeartSettings, shown: Sequence[Shown]) -> HeartRun:
    """What belongs to these settings: without methods whose fit is still on its way."""
    fresh = tuple(one.view for one in shown if one.fresh)
    return HeartRun(settings, fresh[0].truth if fresh else _truth(settings), fresh)


def say_what_is_missing(settings: HeartSettings, shown: Sequence[Shown]) -> None:
    """Notices about methods without maps, or with those of earlier settings."""
    say_refusals(PAGE.refusals(settings))
    say_problems(shown)
    say_stale(shown)
    if not settings.methods:
        st.text("Choose a method in All settings to see its maps beside the truth.")


def sheet_of(run: HeartRun, shown: Sequence[Shown], knobs: Sequence[LiveKnob] = ()) -> PanelSheet:
    """What there is to draw, the last good maps included."""
    maps = [one.view for one in shown if one.view is not None]
    sheet = heart_sheet(run.data, maps, run.settings, describe_heart(run), knobs)
    return replace(sheet, quiet=True)


def draw_heart(sheet: PanelSheet, on_select: Callable[[CanvasEvent], None]) -> None:
    """Draw the picture; cells are chosen in it."""
    canvas(sheet, key="heart", select="cells", on_select=on_select, on_turn=keep_knobs)


def offer_unpaint(settings: HeartSettings) -> None:
    """A button while cells are painted."""
    if settings.cells:
        n = len(settings.cells)
        label = f"Undo painting ({n} cell{'s' * (n > 1)})"
        st.button(label, key="_unpaint", on_click=unpaint)


def draw_surface(sheet: PanelSheet) -> None:
    """One of the maps as a surface."""
    show_surface(sheet, first=("knowledge",))


def show_costs(settings: HeartSettings, shown: Sequence[Shown]) -> None:
    """What the fits took, and what slow methods would take that are not chosen."""
    st.caption(" ".join(PAGE.costs(settings, shown)))


def claims_of(run: HeartRun) -> tuple[Claim, ...]:
    """The paper's statements, checked once."""
    return kept("heart-claims", run.methods, bare(run.settings), lambda: check_claims(run))


def draw_scores(run: HeartRun) -> None:
    """The scorecard."""
    if not run.methods:
        st.text("Scores appear with the first fit.")
        return
    st.markdown(markdown_table(_score_rows(run)))
    unit = "standard deviations" if run.settings.unit == "std" else "variances"
    st.caption(
        f"Uncertainties and errors are {unit} of y, averaged over cells. AUROC is the chance that "
        "an empty cell has more knowledge uncertainty than a filled one. The error of data is its "
        "distance from the true noise in filled cells. Seconds are the training time; megabytes "
        "are the size of the trained models."
        + (f" {STD_CAVEAT}" if run.settings.unit == "std" else "")
    )


def check_paper(run: HeartRun) -> None:
    """The paper's statements, over seeds."""
    complete = len(run.methods) == len(run.settings.methods)
    draw_claims(claims_of(run), STUDY if complete else None, run.settings)


def export_heart(run: HeartRun, link: str, knobs: Sequence[LiveKnob] = ()) -> None:
    """Buttons for the code, the link, the data and a page; below them the picture in words."""
    words = describe_heart(run)
    downloads = (
        Download("Data (CSV)", "heart.csv", "text/csv", partial(heart_csv, run)),
        Download("Page (HTML)", "heart.html", "text/html", partial(_html, run, knobs)),
    )
    show_exports("heart", heart_code(run.settings), link, downloads)
    st.caption("In words")
    st.text(words)


def explain_heart() -> None:
    """Equations and where they come from."""
    st.markdown(
        f"Malinin, Prokhorenkova and Ustimenko, [Uncertainty in gradient boosting via "
        f"ensembles]({_PAPER}), section 4. Total, data and knowledge uncertainty of M members "
        "with means and variances of y (equation 6):"
    )
    st.latex(
        r"\underbrace{\tfrac1M\sum_m\left(\mu_m-\bar\mu\right)^2"
        r"+\tfrac1M\sum_m\sigma_m^2}_{\text{total}}"
        r"=\underbrace{\tfrac1M\sum_m\sigma_m^2}_{\text{data}}"
        r"+\underbrace{\tfrac1M\sum_m\left(\mu_m-\bar\mu\right)^2}_{\text{knowledge}}"
    )
    st.markdown(
        "SGLB adds noise to the gradients before it fits a tree to them, and shrinks the model "
        "before each tree (equations 11 and 12):"
    )
    st.latex(
        r"F^{(t)}=(1-\gamma\epsilon)F^{(t-1)}+\epsilon\,h^{(t)},\quad "
        r"h^{(t)}\approx-g^{(t)}+\nu,\quad\nu\sim\mathcal N\!\left(0,"
        r"\tfrac{2}{\beta\epsilon}I\right)"
    )
    st.markdown(
        "A virtual ensemble is one model. Its members are that model cut at K, 2K, ... trees "
        "above the start. Each member is divided by the shrinkage that came after its cut "
        "(equation 15)."
    )
    show_departures("Boosting")


def _truth(settings: HeartSettings) -> HeartData:
    return make_painted_heart(settings.rows, settings.noise, settings.seed, settings.cells)


def _score_rows(run: HeartRun) -> list[tuple[str, ...]]:
    """A line a score and a column a method, so that it fits a phone; first the headings."""
    scores = [score_heart(maps, run.settings.unit) for maps in run.methods]
    fits = [maps.fit for maps in run.methods]
    return [
        (run.settings.unit.capitalize(), *(METHODS[maps.method].label for maps in run.methods)),
        ("AUROC of knowledge", *(auroc_text(s.auroc_knowledge) for s in scores)),
        ("Knowledge, empty cells", *(digits(s.knowledge_empty) for s in scores)),
        ("Knowledge, filled cells", *(digits(s.knowledge_filled) for s in scores)),
        ("Error of data, mean", *(digits(s.data_error_mean) for s in scores)),
        ("Error of data, largest", *(digits(s.data_error_max) for s in scores)),
        ("Seconds", *(digits(fit.seconds) for fit in fits)),
        ("Megabytes", *(megabytes(fit.memory_bytes) for fit in fits)),
    ]


def _html(run: HeartRun, knobs: Sequence[LiveKnob] = ()) -> bytes:
    words = describe_heart(run)
    sheet = heart_sheet(run.data, run.methods, run.settings, words, knobs)
    sections = [
        Section(sheet=sheet, caption=words),
        Section(heading="Scorecard", table=_score_rows(run)),
        Section(heading="The paper and this picture", table=claim_table(claims_of(run))),
        Section(heading="Python", code=heart_code(run.settings)),
    ]
    return standalone_html(sections, "The heart", _LEAD).encode()
