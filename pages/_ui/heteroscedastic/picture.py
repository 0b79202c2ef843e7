"""Heteroscedastic's picture: one panel per method, with its prediction and a score below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import streamlit as st

from gbuq_core.experiments.heteroscedastic.data import HeteroscedasticData, data_of, shown_range
from gbuq_core.experiments.heteroscedastic.fit import (
    HeteroscedasticView,
    fit_heteroscedastic,
    level_intervals,
    view_heteroscedastic,
)
from gbuq_core.experiments.heteroscedastic.models import estimate_heteroscedastic_seconds
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    METHODS,
    PARTS,
    SCORES,
    SUPPORT,
    HeteroscedasticSettings,
    plan_heteroscedastic,
    why_not,
)
from gbuq_core.experiments.heteroscedastic.words import describe_data
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import live_knob
from gbuq_core.figures.heteroscedastic.picture import heteroscedastic_figure
from gbuq_core.figures.heteroscedastic.scene import (
    USUAL,
    Bar,
    Belief,
    Ends,
    Ground,
    Judged,
    Look,
    Widths,
    pending,
)
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import short
from pages._ui.curves import show_curves
from pages._ui.heteroscedastic.controls import CONFORMAL, FOCUS, LEVEL, SHOWN, settings_of
from pages._ui.heteroscedastic.scorecard import measure_slots
from pages._ui.jobs_glue import ask
from pages._ui.live_sliders import LIVE_SECONDS
from pages._ui.notices import show_notice
from pages._ui.side_by_side import Shown, SideBySide, say_problems

_STALE = "previous settings"
_STATES = {"cancelled": "cancelled", "failed": "no result"}  # of a panel without a prediction


PAGE = SideBySide(
    name="heteroscedastic",
    methods=METHODS,
    plan=plan_heteroscedastic,
    why_not=why_not,
    estimate=estimate_heteroscedastic_seconds,
    fit=fit_heteroscedastic,
    view=view_heteroscedastic,
    depends=lambda _, given: (shown_range(given), given.conformal, given.level, given.tail),
)


def draw_picture(figure: Curves, values: SimpleNamespace, moving: bool) -> bool:
    """The panels, alone while a slider is on its way; whether they are of these values."""
    fresh = True
    if moving:
        settings = settings_of(values)
        answers = ask(PAGE.requests(settings), LIVE_SECONDS, others=measure_slots())
        figure = figure_of(values, settings, PAGE.views(settings, answers))
        fresh = all(answer.fresh or bool(answer.error) for answer in answers)
    show_curves(figure, "heteroscedastic-panels")
    return fresh


def say_what_is_missing(
    settings: HeteroscedasticSettings, shown: Sequence[Shown], refusals: Sequence[str]
) -> None:
    """Below the panels: methods without a prediction, and why."""
    if refusals:
        show_notice(list(refusals), "heteroscedastic")
    say_problems(shown)
    if not settings.methods:
        st.text("Choose a method on the left to see its prediction.")


def figure_of(
    values: SimpleNamespace, settings: HeteroscedasticSettings, shown: Sequence[Shown]
) -> Curves:
    """The picture for today's rows; until one method is trained on them, the previous picture."""
    data = data_of(settings)
    if shown and not any(_belongs(one, settings) for one in shown):
        old = next((one.fit for one in shown if one.fit is not None), None)
        if old is not None:
            rows, slope, seed = old.plan[1:4]
            data = old.data
            settings = replace(settings, rows=rows, noise_slope=slope, seed=seed)
    beliefs = [_belief(one, settings) for one in shown]
    look = Look(
        settings.bands,
        _n_std(settings.level),
        _percent(settings.level),
        values.log,
        values.own_scale,
        values.focus,
    )
    ground = ground_of(data, settings)
    words = " ".join([describe_data(settings), *(_say(one, ground) for one in beliefs)])
    return heteroscedastic_figure(ground, beliefs, look, alt=words, bar=bar_of(values))


def bar_of(values: SimpleNamespace) -> Bar:
    """The knobs above the panels, which the browser works out while they are moved."""
    knobs = tuple(
        live_knob(knob, getattr(values, knob.key), label=label, texts=texts)
        for knob, label, texts in (
            (LEVEL, "Level", [_percent(level) for level in LEVELS]),
            *((knob, "", ()) for knob in SHOWN),
            (CONFORMAL, "", ()),
            (FOCUS, "", ()),
        )
    )
    return Bar(
        knobs,
        {knob.key: knob.value for knob in knobs},
        tuple(map(_n_std, LEVELS)),
        tuple(map(_percent, LEVELS)),
    )


def _n_std(level: float) -> float:
    return NormalDist().inv_cdf(0.5 + level / 2.0)


def _percent(level: float) -> str:
    return f"{100 * level:g} %"


def _say(one: Belief, ground: Ground) -> str:
    """A panel in a sentence: its score where rows are, and at both ends of the picture."""
    label = METHOD_STYLES[one.method].label
    if one.judged is None:
        return f"{label}: {one.note}."
    values = one.judged.values
    inside = values[ground.support]
    return (
        f"{label}: where there are rows, {one.judged.label} lies between {short(inside.min())} and "
        f"{short(inside.max())}. At the ends of the picture it is {short(values[0])} and "
        f"{short(values[-1])}. {USUAL} % of in-distribution rows lie below "
        f"{short(one.judged.usual)}."
    )


def ground_of(data: HeteroscedasticData, settings: HeteroscedasticSettings) -> Ground:
    """What all methods see, over the places of the picture."""
    low, high = shown_range(settings)
    at = (data.x >= low) & (data.x <= high)
    return Ground(
        data.x[at],
        data.support[at],
        data.true_mean[at],
        np.sqrt(data.true_variance[at]),
        data.X[:, 0],
        data.y,
        ((settings.left_from, SUPPORT[0]), (SUPPORT[1], settings.right_to)),
    )


def _belief(one: Shown, settings: HeteroscedasticSettings) -> Belief:
    view = one.view
    if view is None or not _belongs(one, settings):
        state = "no result" if one.problem else _STATES.get(one.answer.state, "training")
        return pending(one.answer.slot, state)
    std = view.factor * np.sqrt(np.stack([view.data, view.knowledge]))
    has_knowledge = "knowledge" in view.parts
    outer = _ends(view.lower, view.upper)
    return Belief(
        view.method,
        view.loc,
        std[0] if "data" in view.parts else None,
        std[1] if has_knowledge else None,
        # An interval that is all data uncertainty need not be that of a normal.
        _ends(view.inner_lower, view.inner_upper) if has_knowledge else outer,
        outer,
        _judged(view, settings.score),
        note_of(view, settings) if one.answer.fresh else _STALE,
        _widths(one, settings),
    )


def _widths(one: Shown, settings: HeteroscedasticSettings) -> Widths:
    """The bands of every level, with and without the conformal step."""
    view, found = one.view, level_intervals(one.fit, settings)
    notes = [note_of(view, replace(settings, conformal=False))]
    wrapped = replace(settings, conformal=True)
    notes += [note_of(replace(view, factor=factor), wrapped) for factor in found.factors]
    std = {part: np.sqrt(getattr(view, part)) if part in view.parts else None for part in PARTS}
    return Widths(
        np.sqrt(view.total), std["data"], std["knowledge"], found.factors, found.own,
        tuple(notes) if one.answer.fresh else (_STALE,) * len(notes),
    )  # fmt: skip


def _ends(lower: np.ndarray | None, upper: np.ndarray | None) -> Ends | None:
    return None if lower is None or upper is None else (lower, upper)


def note_of(view: HeteroscedasticView, settings: HeteroscedasticSettings) -> str:
    """Which part a method does not have, or the factor of its conformal step."""
    if not view.parts:
        return "predicts nothing"
    if settings.conformal and view.factor != 1.0:
        return f"\u00d7 {short(view.factor)}"
    return f"{view.parts[1]} only" if len(view.parts) == 2 else ""


def _judged(view: HeteroscedasticView, key: str) -> Judged | None:
    """The score that is chosen, or the one that the method has."""
    curve = view.curve(key) or view.curve("knowledge") or (view.curves or (None,))[-1]
    if curve is None:
        return None
    values, label = curve.values, label_of(curve.key)
    if curve.key in PARTS:
        values = np.sqrt(values)
    if curve.key != key:
        label += f"; no {SCORES[key].label.lower().removesuffix(' uncertainty')}"
    # Rows are uniform where they can lie, as the places of the picture are.
    return Judged(curve.key, label, values, float(np.quantile(values[view.support], USUAL / 100.0)))


def label_of(key: str) -> str:
    """A score's name with its unit, for a panel.

    >>> label_of("knowledge"), label_of("inference_novelty"), label_of("distance")
    ('knowledge, std', '|inference novelty|, z', 'distance')
    """
    if key in PARTS:
        return f"{key}, std"
    name = SCORES[key].label.lower()
    if key == "inference_novelty":
        return f"|{name}|, z"
    return f"{name}, z" if key.endswith("novelty") else name


def _belongs(one: Shown, settings: HeteroscedasticSettings) -> bool:
    """Whether a fit's rows are those of the picture."""
    if one.fit is None:
        return False
    plan = one.fit.plan
    wanted = (settings.rows, settings.noise_slope, settings.seed)
    return (plan.rows, plan.noise_slope, plan.seed) == wanted


def show_costs(settings: HeteroscedasticSettings, shown: Sequence[Shown]) -> None:
    """What the fits took, and what slow methods would take that are not chosen."""
    parts = PAGE.costs(settings, shown)
    parts.append(
        f"{USUAL} % of in-distribution rows score below the dotted line. The controls above the "
        "picture and under Foreign rows and View update it without retraining."
    )
    st.caption(" ".join(parts))
