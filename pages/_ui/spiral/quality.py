"""How good knowledge uncertainty is for what it costs: a job that a button starts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.spiral.charts import MEASURES, describe_quality, quality_figure
from gbuq_core.experiments.spiral.plan import (
    METHODS,
    SpiralSettings,
    estimate_spiral_seconds,
    why_not,
)
from gbuq_core.experiments.spiral.quality import (
    QualityPoint,
    quality_against_compute,
    quality_plans,
)
from gbuq_core.figures.theme import METHOD_STYLES, plot_config
from gbuq_core.presentation import digits, markdown_table, seconds_text
from pages._ui.controls import draw_fold
from pages._ui.experiment import Now
from pages._ui.jobs_glue import Answer, Request, cost_line, show_progress, start_again
from pages._ui.notices import show_notice
from pages._ui.spiral.controls import COMPUTE_OPEN

_WANTED = "_spiral_quality"  # the settings that were last asked about
SLOT = "quality"


def compute(settings: SpiralSettings, job: object) -> tuple[QualityPoint, ...]:
    """Fit what is compared; the runner calls this in another thread."""
    return quality_against_compute(settings)


def quality_request(values: SimpleNamespace) -> list[Request]:
    """The comparison that the reader asked for, if any; later settings leave it as it is."""
    settings: SpiralSettings | None = st.session_state.get(_WANTED)
    if settings is None or not values.compute:
        return []
    key, make = ("spiral-quality", _key(settings)), partial(compute, settings)
    return [Request(SLOT, key, make, "Comparison", _estimate(settings))]


def compare_compute(now: Now) -> None:
    """The panel: what it would cost, the button, the figure and its numbers."""
    section = draw_fold(COMPUTE_OPEN)
    if section is not None:
        with section:
            _compare(now.settings, now.beside, now.alone)


def _compare(settings: SpiralSettings, answers: Sequence[Answer], alone: bool) -> None:
    st.markdown(
        "This compares independent ensembles of 3, 5, 10 and 30 models with one long model of each "
        "kind, at the settings above. How similar is each map of knowledge uncertainty to "
        "the map of 20 other independent models? Does it find the cells far from the data?"
    )
    answer = answers[0] if answers else None
    current = answer is not None and answer.request.key[1] == _key(settings)
    if answer is None or not current or answer.state in ("failed", "cancelled"):
        refusal = _refusal(settings)
        if refusal:
            st.text(refusal)
        st.button(
            f"Compare, about {seconds_text(_estimate(settings))}",
            key="_spiral_compare",
            on_click=_want,
            args=(settings,),
            disabled=bool(refusal),
        )
    if answer is None:
        return
    if answer.state == "cancelled":
        if current:
            st.text("Cancelled.")
    elif alone:
        show_progress([answer])
    if answer.error:
        show_notice(answer.error, SLOT, tone="error")
    elif answer.result is not None:
        _draw(answer, current)


def _draw(answer: Answer, current: bool) -> None:
    points: tuple[QualityPoint, ...] = answer.result
    if not (current and answer.fresh):
        st.caption("Still the previous settings.")
    words = describe_quality(points)
    for place, measure in zip(st.columns(2, gap="large"), MEASURES, strict=True):
        config = plot_config(f"spiral-{measure}")
        figure = quality_figure(points, measure)
        place.plotly_chart(figure, key=f"spiral-{measure}", config=config, alt=words)
    with st.container(key="table-quality"):
        st.markdown(_table(points))
    st.caption(
        f"{cost_line(answer)}. Likeness is the rank correlation with the map of the 20 models, "
        "which the ensemble of 30 contains. Seconds are training time on one core. Effective is "
        "how many independent members would be worth as much."
    )


def _table(points: Sequence[QualityPoint]) -> str:
    """A Markdown table with a line for each ensemble."""
    heads = ("Ensemble", "Seconds", "Likeness", "AUROC", "Mean KU", "Effective")
    rows: list[tuple[str, ...]] = [heads]
    for point in points:
        label = METHOD_STYLES[point.method].label
        name = f"{point.n_models} x {label}" if point.n_models > 1 else label
        numbers = (
            point.core_seconds,
            point.rank_correlation,
            point.auroc_far,
            point.knowledge,
            point.effective,
        )
        rows.append((name, *map(digits, numbers)))
    return markdown_table(rows)


def _estimate(settings: SpiralSettings) -> float:
    return sum(estimate_spiral_seconds(plan) for plan in quality_plans(settings))


def _refusal(settings: SpiralSettings) -> str:
    """Why these settings cannot be compared; empty if they can."""
    problems = {plan.method: why_not(plan, settings) for plan in quality_plans(settings)}
    return next((f"{METHODS[m].label}: {text}" for m, text in problems.items() if text), "")


def _key(settings: SpiralSettings) -> tuple[object, ...]:
    return quality_plans(settings), settings.step, settings.start, settings.burn_in


def _want(settings: SpiralSettings) -> None:
    st.session_state[_WANTED] = settings
    start_again(SLOT)
