"""Comparisons that take a while and are started by a button: tuning, the bandit, and ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.soft_trees.bandit import (
    BanditRun,
    BanditSettings,
    describe_bandit,
    estimate_bandit_seconds,
    plan_bandit,
    run_policies,
)
from gbuq_core.experiments.soft_trees.bandit_picture import bandit_figure
from gbuq_core.experiments.soft_trees.charts import rank_figure, regret_sheet
from gbuq_core.experiments.soft_trees.claims import (
    BANDIT_STUDY,
    RANK_STUDY,
    check_bandit_claim,
    check_rank_claim,
)
from gbuq_core.experiments.soft_trees.experiment import bandit_csv, rank_csv, tuning_csv
from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings, method_missing
from gbuq_core.experiments.soft_trees.rank import (
    FULL,
    RankRun,
    RankSettings,
    describe_rank,
    estimate_rank_seconds,
    plan_rank,
    run_rank,
    why_no_rank,
)
from gbuq_core.experiments.soft_trees.tuning import (
    TuningRun,
    describe_tuning,
    estimate_tuning_seconds,
    plan_tuning,
    run_tuning,
    why_no_tuning,
)
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import live_knob
from gbuq_core.knobs import narrow
from gbuq_core.presentation import digits, markdown_table, seconds_text
from gbuq_core.settings import from_values
from pages._ui.canvas import canvas
from pages._ui.claims import draw_claims
from pages._ui.controls import draw_fold, draw_knob
from pages._ui.curves import show_curves
from pages._ui.jobs_glue import Answer, Request, cost_line, show_progress, start_again
from pages._ui.notices import show_notice
from pages._ui.soft_trees.controls import (
    COMPARISONS,
    EXPLORING,
    FOREIGN,
    MOMENT,
    PLAY,
    POLICY,
    RANKS,
    STATE,
    TUNING,
    bandit_of,
    rank_data_of,
    take_knobs,
    tuned_method_of,
)
from pages._ui.url_state import read_again

_WANTED = "_soft_trees_wanted:"  # the settings that a panel was last asked about, by slot
TUNE, BANDIT, RANK = COMPARISONS
_SHOWN = 6  # tuned settings of the table
_ABOUT_TUNING = (
    "The page holds out a fifth of the rows and trains on the others with 24 settings. Which has "
    "the highest **validation ELBO**, the paper's criterion? The log density of the held-out rows "
    "does not count how far the posterior moves away from the prior, unlike the ELBO."
)
_NO_FIT = "A model that cannot be trained cannot be tuned. The reason is below the picture."
_NO_TREE = "Choose VST or VSGBM in All settings: only soft trees are tuned here."
_ABOUT_BANDIT = (
    "Each of five arms pays in its own part of [-1, 1]. **Thompson sampling** draws one function "
    "for each arm and pulls the arm with the highest value. A model that is certain too early "
    "stops exploring. SGLB, XBART and VST, with the page's depth and rank, are retrained every 50 "
    "steps. **Random** pulls by chance, **Greedy VST** the highest mean. Each policy plays twice."
)
ABOUT_STEPS = (
    "**Step by step.** A context comes (the vertical line), and the policy draws one function for "
    "each arm. The arm whose function is highest there is pulled. Faint dots are earlier rewards, "
    "the diamond is this one. Play it: when does each arm find its bump?"
)
_ABOUT_RANK = (
    "How well does knowledge uncertainty separate foreign rows from held-out rows (AUROC, figure "
    "3 of the paper)? VST has depth 2 and the page's leaves, sharpness and prior, and five seeds "
    "for each rank. Rank 0 is mean field. On the moons, the highest rank is the full rank."
)


class Comparison(NamedTuple):
    """One comparison: its present settings, cost, refusal, and how it is run and drawn."""

    slot: str
    label: str
    settings: Any
    estimate: float
    refusal: str
    make: Callable[[Any, object], Any]
    draw: Callable[[Any, Any], None]


def panels_of(
    values: SimpleNamespace, settings: SoftTreesSettings
) -> tuple[Comparison, Comparison, Comparison]:
    """All comparisons with today's settings."""
    return _tuning_panel(values, settings), *_others(values, settings)


def _tuning_panel(values: SimpleNamespace, settings: SoftTreesSettings) -> Comparison:
    method = tuned_method_of(values)
    if method is None:
        return Comparison(TUNE, "Tuning", None, 0.0, _NO_TREE, tune, draw_tuning)
    plan = plan_tuning(settings, method)
    cost = estimate_tuning_seconds(plan)
    refusal = _NO_FIT if why_no_tuning(plan) else ""  # the picture says why
    return Comparison(TUNE, "Tuning", plan, cost, refusal, tune, draw_tuning)


def _others(values: SimpleNamespace, settings: SoftTreesSettings) -> tuple[Comparison, Comparison]:
    played = bandit_of(values)
    built_in = ("random", "greedy")
    available = tuple(p for p in played.policies if p in built_in or not method_missing(p))
    played = replace(played, policies=available)
    cost, refusal = 0.0, ""
    try:
        cost = sum(estimate_bandit_seconds(plan_bandit(played, p)) for p in played.policies)
    except GbuqError as error:
        refusal = str(error)
    moons = rank_data_of(values) == "moons3"  # few parameters: full rank is cheap
    ranked = RankSettings(
        data=rank_data_of(values),
        ranks=(*RankSettings().ranks, FULL) if moons else RankSettings().ranks,
        seed=settings.seed,
        leaf=settings.leaf,
        beta=settings.beta,
        prior_scale=settings.prior_scale,
    )
    why = why_no_rank(ranked)
    return (
        Comparison(BANDIT, "Bandit", played, cost, refusal, play, partial(draw_bandit, values)),
        Comparison(
            RANK, "Ranks", ranked if why else plan_rank(ranked),
            0.0 if why else estimate_rank_seconds(ranked), why, compare_ranks, draw_ranks,
        ),
    )  # fmt: skip


def tune(plan: SoftTreesSettings, job: object) -> TuningRun:
    """Try the grid; the runner calls this in another thread."""
    return run_tuning(plan)


def play(settings: BanditSettings, job: object) -> tuple[BanditRun, ...]:
    """Let all policies play; the runner calls this in another thread."""
    return run_policies(settings)


def compare_ranks(settings: RankSettings, job: object) -> RankRun:
    """Fit every rank; the runner calls this in another thread."""
    return run_rank(settings)


def panel_requests(values: SimpleNamespace, settings: SoftTreesSettings) -> list[Request]:
    """The comparisons that the reader asked for; later settings leave them as they are."""
    panels = panels_of(values, settings)
    wanted = ((one, st.session_state.get(_WANTED + one.slot)) for one in panels)
    return [
        Request(one.slot, (one.slot, asked), partial(one.make, asked), one.label, one.estimate)
        for one, asked in wanted
        if asked is not None
    ]


@st.fragment
def draw_panels(values: SimpleNamespace, answers: Sequence[Answer], alone: bool) -> None:
    """Tuning, the bandit and the ranks; ``alone``: nothing else on the page shows its progress."""
    values = read_again(STATE, values)
    panels = panels_of(values, from_values(SoftTreesSettings, vars(values)))
    found = {answer.slot: answer for answer in answers}
    running = [answer for answer in answers if answer.state == "running"] if alone else []
    for one, opened, about, knob in (
        (panels[0], TUNING, _ABOUT_TUNING, None),
        (panels[1], EXPLORING, _ABOUT_BANDIT, PLAY),
        (panels[2], RANKS, _ABOUT_RANK, FOREIGN),
    ):
        section = draw_fold(opened, [knob] if knob else [])
        if section is not None:
            with section:
                st.markdown(about)
                _draw_panel(one, knob, found.get(one.slot))
                if running and running[0].slot == one.slot:  # one bar each, one Cancel for both
                    show_progress(running)


def _draw_panel(one: Comparison, knob: Any, answer: Answer | None) -> None:
    current = answer is not None and answer.request.key[1] == one.settings
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"{one.slot}-choice"):
        if knob is not None:
            with st.container(width=320):
                draw_knob(knob)
        if answer is None or not current or answer.state in ("failed", "cancelled"):
            asked = st.button(
                f"Run, about {seconds_text(one.estimate)}",
                key=f"_{one.slot}-run",
                on_click=_want,
                args=(one.slot, one.settings),
                disabled=bool(one.refusal),
            )
            if asked:  # the page asks for jobs, not the fragment that this is drawn in
                st.rerun()
    if one.refusal:
        show_notice(one.refusal, one.slot)
    if answer is None:
        return
    if answer.state == "cancelled" and current:
        st.text("Cancelled.")
    if answer.error:
        show_notice(answer.error, one.slot, tone="error")
    elif answer.result is not None:
        if not (current and answer.fresh):
            st.caption("This result is for the previous settings.")
        one.draw(answer.result, answer.request.key[1] if answer.fresh else None)
        st.caption(f"{cost_line(answer).replace('Fitted', 'Computed')}.")


def draw_tuning(run: TuningRun, settings: SoftTreesSettings | None) -> None:
    """The best settings, in words and as a table; a button takes over the first."""
    st.text(describe_tuning(run), width="stretch")
    head = ("Depth", "Sharpness", "Prior std", "Learning rate", "Validation ELBO", "Log density")
    rows = [
        (
            f"{one.depth}",
            *(f"{value:g}" for value in one[1:4]),
            *(digits(value) for value in one[4:]),
        )
        for one in run.tried[:_SHOWN]
    ]
    with st.container(key="table-tuning"):
        st.markdown(markdown_table([head, *rows], "r"))
    st.caption(
        f"The {len(rows)} of {len(run.tried)} settings with the highest ELBO. ELBO and density are "
        "in nats per row."
    )
    with st.container(horizontal=True, key="soft-trees-tuned"):
        if st.button(
            "Use the first setting",
            key="_soft_trees_tuned",
            on_click=take_knobs,
            args=(run.tried[0],),
        ):
            st.rerun()  # the page asks for fits, not the fragment that this is drawn in
        _offer("All settings (CSV)", "tuning.csv", partial(tuning_csv, run))


def draw_bandit(
    values: SimpleNamespace, runs: tuple[BanditRun, ...], settings: BanditSettings | None
) -> None:
    """Cumulative regret of the policies, with the result in words, over seeds, step by step."""
    canvas(regret_sheet(runs), key=BANDIT)
    st.text(describe_bandit(runs), width="stretch")
    claim = check_bandit_claim(runs)
    if claim is not None:
        draw_claims([claim], settings and BANDIT_STUDY, settings, columns=1, place=BANDIT)
    st.markdown(ABOUT_STEPS)
    show_curves(bandit_figure_of(values, runs), "soft-trees-bandit-steps")
    _offer("Steps (CSV)", "bandit.csv", partial(bandit_csv, runs))


def bandit_played(answers: Sequence[Answer]) -> tuple[BanditRun, ...]:
    """The bandit's runs, once it was played."""
    found = (answer.result for answer in answers if answer.slot == BANDIT)
    return next((runs for runs in found if runs is not None), ())


def bandit_figure_of(values: SimpleNamespace, runs: tuple[BanditRun, ...]) -> Curves:
    """The bandit step by step, at the policy and step of the knobs."""
    steps, labels = runs[0].trace.steps, tuple(run.label for run in runs)
    policy = values.bandit_policy if values.bandit_policy in labels else labels[-1]
    near = min(steps.tolist(), key=lambda step: abs(step - values.bandit_at))
    return bandit_figure(
        runs,
        live_knob(narrow(POLICY, choices=labels), policy),
        live_knob(narrow(MOMENT, choices=tuple(steps.tolist())), near),
    )


def draw_ranks(run: RankRun, settings: RankSettings | None) -> None:
    """AUROC against rank, with the result in words and the paper's statement."""
    show_curves(rank_figure(run), RANK)
    st.text(describe_rank(run), width="stretch")
    claims = [check_rank_claim(run)]
    draw_claims(claims, settings and RANK_STUDY, settings, columns=1, place=RANK)
    _offer("AUROC by rank and seed (CSV)", "ranks.csv", partial(rank_csv, run))


def _offer(label: str, name: str, write: Callable[[], str]) -> None:
    """A table to download, made when its button is pressed."""
    st.download_button(
        label, data=write, file_name=name, mime="text/csv",
        key=f"_download:soft:{name}", on_click="ignore",
    )  # fmt: skip


def _want(slot: str, settings: Any) -> None:
    st.session_state[_WANTED + slot] = settings
    start_again(slot)
