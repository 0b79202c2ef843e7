"""Soft trees' picture: one panel per method, with functions drawn from its fit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.soft_trees.data import (
    OWN,
    check_points,
    encode_points,
)
from gbuq_core.experiments.soft_trees.experiment import SOFT_TREES
from gbuq_core.experiments.soft_trees.fit import (
    SoftTreesRun,
    data_of,
    moments_by_draws,
)
from gbuq_core.experiments.soft_trees.opening import is_first
from gbuq_core.experiments.soft_trees.picture import (
    LINES,
    LinesPanel,
    counts_ahead,
    functions_figure,
)
from gbuq_core.experiments.soft_trees.plan import (
    SoftTreesSettings,
)
from gbuq_core.experiments.soft_trees.scores import score_soft_trees
from gbuq_core.experiments.soft_trees.trials import TRIALS
from gbuq_core.figures.curves import Curves
from gbuq_core.settings import from_values, sliders, to_values
from pages._ui.controls import draw_knob
from pages._ui.curves import Carry, Placed, show_curves
from pages._ui.jobs_glue import Answer, Request, ask, show_progress
from pages._ui.kept import keep_only, kept
from pages._ui.live import live_knobs
from pages._ui.live_sliders import LIVE_SECONDS, carried, carry, follow
from pages._ui.notices import show_notice
from pages._ui.side_by_side import (
    Shown,
    list_costs,
    plan_requests,
    rows_of_picture,
    say_what_is_missing,
    view_answers,
)
from pages._ui.soft_trees.controls import (
    KNOBS,
    REFUSED,
    STATE,
    clear_points,
    place,
)

_BAR = ("show", "shown", "draws", "focus", "every")
_FIRST = SoftTreesSettings().methods
_HEIGHT = 370
_AHEAD = "soft-trees-ahead:"  # what is kept of each method
_SCORES = "soft-trees-score:"


def fit_requests(values: SimpleNamespace, settings: SoftTreesSettings) -> list[Request]:
    """The fits; stored ones draw the first functions only, and have no tree to look into."""
    return plan_requests(SOFT_TREES, settings, values.inside or not is_first(settings))


def soft_trees_run(settings: SoftTreesSettings, shown: Sequence[Shown]) -> SoftTreesRun:
    """What belongs to these settings, scored: without methods whose fit is still on its way."""
    fresh = [one for one in shown if one.fresh]
    fits = tuple(one.fit for one in fresh if one.fit is not None)
    views = tuple(one.view for one in fresh if one.view is not None)
    settings = replace(settings, methods=tuple(fit.method for fit in fits), draw=0, tree=1)
    run = SoftTreesRun(settings, data_of(settings), fits, views)
    keep_only(_SCORES, {_SCORES + fit.method for fit in fits})
    scores = [
        kept(
            _SCORES + fit.method, [fit, view], None,
            lambda fit=fit, view=view: score_soft_trees(fit, view, settings),
        )
        for fit, view in zip(fits, views, strict=True)
    ]  # fmt: skip
    return run._replace(scores=tuple(scores))


def draw_picture(
    values: SimpleNamespace, settings: SoftTreesSettings, shown: Sequence[Shown]
) -> None:
    """The panels, and the reader's own points as text."""
    figure = _opened(values, settings, shown)
    follow(STATE, values, (*sliders(SoftTreesSettings), "draw_seed"), partial(_draw_panels, figure))
    if settings.data == OWN:
        _draw_points(settings)


def say_state(
    settings: SoftTreesSettings, shown: Sequence[Shown], others: Sequence[Answer]
) -> None:
    """Below the picture, so that it does not move: what is missing, and what is on its way."""
    answers = [one.answer for one in shown]
    with st.container(key="soft-trees-progress"):
        if refused := st.session_state.pop(REFUSED, ""):  # a click that could not be
            show_notice(refused, "soft-trees")
        say_what_is_missing(SOFT_TREES, settings, shown)
        if not all(answer.state == "done" for answer in answers):
            # A comparison that was cancelled has its own button to start it again.
            show_progress([*answers, *(one for one in others if one.state != "cancelled")])


def _opened(
    values: SimpleNamespace,
    settings: SoftTreesSettings,
    shown: Sequence[Shown],
    ahead: bool = True,
) -> Curves:
    """One method, large, until the reader asks for all, or for some by name."""
    every = values.every or settings.methods != _FIRST
    own = settings.data == OWN
    figure = figure_of(
        settings, shown if every else shown[:1], own, values.focus, ahead, values.every
    )
    return figure if every and len(settings.methods) != 1 else figure.quiet


def _draw_panels(figure: Curves, values: SimpleNamespace, moving: bool) -> bool:
    """The panels, alone while something is dragged; whether they are of these values."""
    done = True
    if moving:
        settings = from_values(SoftTreesSettings, vars(values))
        answers = ask(
            fit_requests(values, settings), LIVE_SECONDS, others=[trial.name for trial in TRIALS]
        )
        shown = view_answers(SOFT_TREES, settings, answers)
        figure = _opened(values, settings, shown, ahead=False)
        done = all(one.fresh or one.problem for one in shown)
    if "place" in figure.spec:
        points = Carry(carried(STATE), not done, _carry_points)
        show_curves(figure, "soft-trees-functions", on_place=place, carry=points)
    else:
        show_curves(figure, "soft-trees-functions")
    return done


def _carry_points(seq: int, points: Placed) -> None:
    with suppress(GbuqError):
        carry(STATE, seq, points=encode_points(check_points(points)))


def figure_of(
    settings: SoftTreesSettings,
    shown: Sequence[Shown],
    own: bool = False,
    focus: bool = False,
    ahead: bool = True,
    every: bool = False,
) -> Curves:
    """The picture for today's rows; until one method is trained on them, the previous picture.

    ``ahead`` says whether other settings of its own knobs are worked out, too.
    """
    settings, seen = rows_of_picture(settings, shown, _rows_of)
    behind = counts_ahead(settings) if ahead else ()
    values = SimpleNamespace(**to_values(settings), focus=focus, every=every)
    keep_only(_AHEAD, {_AHEAD + one.answer.slot for one in shown})
    return functions_figure(
        data_of(settings),
        [_panel(*both, settings, behind) for both in seen],
        settings,
        place=own and settings.data == OWN,
        focus=focus,
        height=_HEIGHT,
        knobs=[knob for knob in live_knobs(STATE, values) if knob.key in _BAR],
    )


def _panel(
    one: Shown, note: str, settings: SoftTreesSettings, behind: tuple[int, ...]
) -> LinesPanel:
    method = one.answer.slot
    if one.view is None or not behind or (one.fit.opening is not None and not one.answer.fresh):
        return LinesPanel(method, one.view, note)
    more, moments = kept(
        _AHEAD + method, [one.fit], (behind, settings.draw_seed),
        lambda: moments_by_draws(one.fit, settings, behind),
    )  # fmt: skip
    return LinesPanel(method, one.view, note, more[: LINES[-1]], moments)


def _rows_of(plan: SoftTreesSettings) -> tuple[object, ...]:
    """What a picture's rows depend on; own points move, their board does not."""
    return (OWN,) if plan.data == OWN else (plan.data, plan.rows, plan.noise, plan.seed)


def _draw_points(settings: SoftTreesSettings) -> None:
    """The points as text, for the keyboard and for other programs."""
    n = len(settings.points)
    with st.container(horizontal=True, vertical_alignment="center", key="soft-trees-points"):
        st.caption(f"{n} point{'s' if n != 1 else ''}.", width="content")
        st.button("Clear", key="_soft_trees_clear", on_click=clear_points, disabled=not n)
        with st.popover("As text"):
            draw_knob(KNOBS["points"])


def costs_of(settings: SoftTreesSettings, shown: Sequence[Shown]) -> list[str]:
    """What the fits took, and what slow methods would take that are not chosen."""
    notes = [note for one in shown if one.view is not None for note in one.view.notes]
    own = "The controls above the picture and under View update it without retraining."
    return [*list_costs(SOFT_TREES, settings, shown), *dict.fromkeys(notes), own]
