"""The race's picture, its table, the paper's claims, and what can be taken away."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from gbuq_core.experiments.claims import claim_table
from gbuq_core.experiments.gaussians.claims import STUDY, check_claims, describe_settings
from gbuq_core.experiments.gaussians.export import gaussians_code, gaussians_csv
from gbuq_core.experiments.gaussians.fit import GaussiansRun, run_sampler, target_grid
from gbuq_core.experiments.gaussians.picture import gaussians_sheet, opening_sheet
from gbuq_core.experiments.gaussians.plan import (
    GaussiansSettings,
    estimate_sampler_seconds,
)
from gbuq_core.experiments.gaussians.scores import describe_gaussians, describe_race, score_rows
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.presentation import markdown_table
from gbuq_core.sampling import SAMPLERS
from gbuq_core.settings import plan_of
from pages._ui.canvas import canvas, keep_knobs
from pages._ui.claims import draw_claims
from pages._ui.departures import show_departures
from pages._ui.export import Download, show_exports
from pages._ui.gaussians.controls import SLOW
from pages._ui.gaussians.cycle import ABOUT_CYCLE, cycle_sheet_of, traces_of
from pages._ui.notices import show_notice
from pages._ui.side_by_side import Shown, SideBySide, list_costs, say_problems, say_stale

_PAPER = "https://ceur-ws.org/Vol-3381/47.pdf"
_SOURCE = (
    "After Tan, Huertas and Zhao, Efficient and Effective Uncertainty Quantification in Gradient "
    "Boosting via Cyclical Gradient MCMC, section 5.1 (CEUR Vol-3381, paper 47)."
)
_READING = (
    "Size is step size times gradient scale; for schedules with many cycles the charts show three. "
    "Dashed lines are the longest step that does not throw a chain farther from a mode, and the "
    "target's marginals. Shaded steps explore: their samples do not count. Dots on the maps show "
    "where chain 1 has been since the previous frame."
)


PAGE = SideBySide(
    name="gaussians",
    methods=SAMPLERS,
    plan=plan_of,
    why_not=lambda plan: "",  # every sampler can run
    estimate=estimate_sampler_seconds,
    fit=run_sampler,
    # A run over another target cannot stand beside this one.
    view=lambda run, settings: run if run.plan.target == settings.target else None,
    depends=lambda _, given: given.target,
    chosen=lambda given: given.samplers,
    done="Sampled",
)


def say_what_is_missing(shown: Sequence[Shown]) -> None:
    """Chains that ran off, and samplers that are not there yet."""
    say_problems(shown)
    for one in shown:
        if one.fresh and one.view.stopped:
            said = one.view.stopped
            text = f"{one.answer.request.label}: {said[0].lower()}{said[1:]}"
            show_notice(text, one.answer.slot)
    say_stale(shown)


def run_of(settings: GaussiansSettings, shown: Sequence[Shown]) -> GaussiansRun:
    """What belongs to the settings."""
    runs = tuple(one.view for one in shown if one.fresh)
    return GaussiansRun(settings, target_grid(settings.target), runs)


def draw_gaussians(
    run: GaussiansRun, shown: Sequence[Shown], knobs: Sequence[LiveKnob], every: bool
) -> None:
    """The samplers' maps, the last good runs included; with `every` the target and all charts."""
    runs = [one.view for one in shown if one.view is not None]
    sheet = gaussians_sheet(run.truth, runs, run.settings, describe_gaussians(run), knobs)
    canvas(sheet if every else opening_sheet(sheet, run.truth), key="gaussians", on_turn=keep_knobs)


def show_costs(settings: GaussiansSettings, shown: Sequence[Shown]) -> None:
    """How the charts are read, and what the runs took."""
    st.caption(" ".join([_READING, *list_costs(PAGE, settings, shown)]))


def draw_scores(run: GaussiansRun) -> None:
    """The scorecard."""
    if not run.runs:
        st.text("Scores appear with the first run.")
        return
    st.markdown(markdown_table(score_rows(run)))
    st.caption(_DEFINITIONS)


def check_paper(run: GaussiansRun) -> None:
    """The paper's statements, over seeds."""
    found = check_claims(run)
    if found:
        st.caption(describe_settings(run.settings))
    complete = len(run.runs) == len(run.settings.samplers)
    draw_claims(found, STUDY if complete else None, run.settings)
    if run.settings.target != "gaussians25":
        st.text("The paper's statements are about the 25 Gaussians. Choose them as the target.")
    elif run.runs and not found:
        st.text(
            "None of the paper's statements applies. They need chains that keep at least 50 "
            "samples. The one on N-SGLD also needs more noise for N-SGLD than for the others, "
            "and the others must have some noise."
        )


_DEFINITIONS = (
    "Kept samples are counted over all chains. clr-SGLD and cg-SGLD drop the samples of their "
    "exploration (the paper gives 25 % of each cycle, for clr-SGLD only); the others keep all. "
    "Changes of mode and seconds count all steps. All other scores use kept samples only. A mode "
    "is visited if at least 50 kept samples lie within 3 standard deviations (std) of it; with "
    "several chains the table shows the median. The share in a mode counts kept samples within 3 "
    "std of any mode. The occupancy error is half the sum of the differences between the modes' "
    "shares and their weights. KL is the Kullback-Leibler divergence of the samples' histogram "
    "from the target's. Effective samples and autocorrelation time are those of the coordinate "
    "that mixes more slowly, averaged over chains; they do not notice modes that a chain never "
    "found. Seconds are those of all chains. The ring's modes are twelve equal sectors. The "
    "banana's are five stretches of equal probability."
)


def export_gaussians(
    run: GaussiansRun,
    cycle: int = 1,
    knobs: Sequence[LiveKnob] = (),
) -> None:
    """Buttons for the code, the data and a page; below them the picture in words."""
    page = partial(_html, run, cycle, knobs)
    downloads = (
        Download("Data (CSV)", "gaussians.csv", "text/csv", partial(gaussians_csv, run)),
        Download("Page (HTML)", "gaussians.html", "text/html", page),
    )
    show_exports("gaussians", gaussians_code(run.settings), downloads)
    st.caption("In words")
    st.text(describe_gaussians(run))


def explain_gaussians() -> None:
    """Equations and where they come from."""
    st.markdown(
        "Tan, Huertas and Zhao, [Efficient and Effective Uncertainty Quantification in "
        f"Gradient Boosting via Cyclical Gradient MCMC]({_PAPER}), section 5.1 and appendix "
        "B.1. Every sampler takes this step, with a noisy gradient of -log p:"
    )
    st.latex(
        r"x_{t+1}=x_t-\epsilon_t\,\alpha_t\left(\nabla U(x_t)+\sigma_g\,\zeta_t\right)"
        r"+s\sqrt{2\epsilon_t}\,\xi_t,\qquad \zeta_t,\xi_t\sim\mathcal N(0,I)"
    )
    st.markdown(
        "SGLD lets the step size fall. N-SGLD keeps it and sets the noise scale s to 5. "
        "clr-SGLD makes the step size cyclic, and cg-SGLD the gradient's scale. A cycle has C "
        "steps:"
    )
    st.latex(
        r"\epsilon_t^{\text{SGLD}}=\epsilon_0(t+1)^{-0.55},\quad"
        r"\epsilon_t^{\text{clr}}=\tfrac{\epsilon_0}{2}\left(\cos\tfrac{\pi(t\bmod C)}{C}"
        r"+1\right),\quad \alpha_t^{\text{cg}}=\max\left(\tfrac{\alpha_{\max}}{2}\left("
        r"\cos\tfrac{\pi(t\bmod C)}{C}+1\right),\alpha_{\min}\right)"
    )
    st.markdown(
        "Where -log p has curvature h, a gradient step s multiplies the distance to the centre "
        "by 1 - s h. A step above 2 / h (the dashed line) lands farther from the centre than "
        "it started, and with a little noise the chain leaves the mode. In the 25 Gaussians "
        "2 / h is 0.06. At a learning rate of 0.01, cg-SGLD explores while its scale is above "
        "6, and stays where it is below that. clr-SGLD's Langevin noise grows with its step, "
        "so it gets out earlier."
    )
    show_departures("25 Gaussians")


def _html(run: GaussiansRun, cycle: int = 1, knobs: Sequence[LiveKnob] = ()) -> bytes:
    words = describe_gaussians(run)
    given = run.settings
    sheet = gaussians_sheet(run.truth, run.runs, given, words, knobs)
    sections = [
        Section(sheet=sheet, caption=f"{words} {_READING}"),
        Section(heading="Scorecard", caption=_DEFINITIONS, table=score_rows(run)),
        Section(heading="Python", code=gaussians_code(run.settings)),
    ]
    if given.samplers:
        traces = traces_of(given, min(cycle, given.cycles, given.steps) - 1)
        sheet = cycle_sheet_of(given, traces)
        text = ABOUT_CYCLE.replace("*", "")
        slow = Section(heading=SLOW.label, text=text, sheet=sheet, caption=sheet.alt)
        sections.insert(1, slow)
    claims = check_claims(run)
    if claims:
        said = describe_settings(run.settings)
        table = claim_table(claims)
        sections.insert(
            -1, Section(heading="The paper and this picture", caption=said, table=table)
        )
    lead = f"{describe_race(run.settings)} {_SOURCE}"
    return standalone_html(sections, "25 Gaussians", lead).encode()
