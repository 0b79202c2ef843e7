"""The Scoreboard's picture: ranks, numbers beside the paper's, who differs, score against time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import streamlit as st

from gbuq_core.errors import GbuqError, InvalidData
from gbuq_core.experiments.scoreboard.board import Table
from gbuq_core.experiments.scoreboard.fronts import Front, find_front
from gbuq_core.experiments.scoreboard.ranking import Ranking, rank_methods
from gbuq_core.experiments.scoreboard.words import describe_groups
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.scoreboard import (
    PICKED,
    Dot,
    TimedDot,
    beside_figure,
    clickable,
    front_figure,
    groups_figure,
    ranks_figure,
)
from gbuq_core.figures.scoreboard_saved import (
    beside_curves,
    front_curves,
    groups_curves,
    ranks_sheet,
)
from gbuq_core.figures.vega import Spec
from gbuq_core.presentation import counted, seconds_text, short
from pages._ui.controls import draw_knob
from pages._ui.export import is_dark
from pages._ui.notices import show_notice
from pages._ui.scoreboard.controls import (
    APART,
    BESIDE,
    BUDGET,
    CELL,
    PICTURE,
    RANKS,
    TIME,
    VIEW,
    Opened,
    Shown,
    cell_label,
    names_in_a_row,
)

_MOST_PANELS = 6
_BUDGET_WIDTH = 190  # pixels
_NOT_YET = (
    "None of our numbers for this choice is computed yet. Choose another paper or metric, or run "
    "the command of a cell below."
)


class Panel(NamedTuple):
    """One chart with its heading, the same in words, and what draws it for a saved page."""

    title: str
    spec: Spec
    words: str
    saved: Callable[[], PanelSheet | Curves]


class Picture(NamedTuple):
    """The charts of a view, and what is said below them; ``refusal`` stands in their place."""

    panels: tuple[Panel, ...]
    caption: str
    refusal: str = ""

    @property
    def words(self) -> str:
        """All of it, for who cannot see the charts."""
        return "\n".join(panel.words for panel in self.panels) or self.refusal


def draw_bar() -> None:
    """The picture's own bar: which picture, and at how much time."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="board-bar"):
        st.segmented_control(
            VIEW.label, VIEW.choices, default=VIEW.default, required=True, key=VIEW.key,
            bind="query-params", label_visibility="collapsed",
        )  # fmt: skip
        with st.container(width=_BUDGET_WIDTH, key="board-budget"):
            draw_knob(BUDGET)


def draw_picture(opened: Opened, found: Picture, cell: str) -> None:
    """Draw the charts, side by side where there are several; a click opens a cell."""
    with st.container(key=PICTURE):
        if found.refusal:
            show_notice(found.refusal, "scoreboard")
            return
        columns = st.columns(2) if len(found.panels) > 1 else [st.container()]
        for number, panel in enumerate(found.panels):
            key = f"board-chart-{number}"
            with columns[number % len(columns)]:
                if panel.title:
                    st.markdown(f"**{panel.title}**")
                if "params" not in panel.spec:
                    st.vega_lite_chart(panel.spec, key=key, alt=panel.words)
                    continue
                st.vega_lite_chart(
                    panel.spec, key=key, alt=panel.words, selection_mode=PICKED,
                    on_select=partial(_open_cell, key, tuple(opened.cells)),
                )  # fmt: skip
    clicked = any("params" in panel.spec for panel in found.panels)
    how = f" A click opens a cell with its command: now [{cell}](#{CELL})." if clicked else ""
    st.caption(f"{found.caption}{how}")


def _open_cell(key: str, cells: Sequence[str]) -> None:
    """Open the cell that was clicked: a chart's callback."""
    state = st.session_state.get(key)
    picked = state["selection"].get(PICKED) if state else None
    cell = picked[0].get("cell") if isinstance(picked, list) and picked else None
    if cell in cells:  # the browser is the user's
        st.session_state["cell"] = cell


def picture_of(opened: Opened, shown: Shown, values: SimpleNamespace) -> Picture:
    """The charts for the controls' values."""
    try:
        return _MAKE[values.view](opened, shown, values)
    except GbuqError as error:
        return Picture((), "", str(error))


def _ranks(opened: Opened, shown: Shown, values: SimpleNamespace) -> Picture:
    ranking = _ranking(opened.table, shown)
    sets = [one.key for one in ranking.sets]
    # Methods that lack a set follow without ranks.
    ranked = {method.key for method in ranking.methods}
    rest = [key for key in shown.methods if key not in ranked]
    ranks = np.pad(ranking.ranks, ((0, len(rest)), (0, 0)), constant_values=np.nan)
    means = np.vstack(
        [ranking.means, *([_means(opened.table, one, sets, shown.score.key)] for one in rest)]
    )
    labels = [opened.table.find_method(key).label for key in rest]
    lines = [*(method.label for method in ranking.methods), *labels]
    columns = [one.label for one in ranking.sets]
    spec = ranks_figure(lines, columns, ranks, means, shown.score.label)
    methods = [*(method.key for method in ranking.methods), *rest]
    spec = clickable(spec, [cell_label(opened, one, key) for key in methods for one in sets])
    told = [f"Rank 1 is the best {shown.score.label}. Point at a cell for its mean."]
    if rest:
        told.append("Hatched: not ranked, because the method is not computed on every set.")
    words = " ".join([ranking.words, *ranking.left_out])
    saved = partial(ranks_sheet, lines, columns, ranks, shown.score.label, words)
    return Picture((Panel("", spec, words, saved),), " ".join([*told, *_slow(shown, values)]))


def _means(table: Table, method: str, sets: Sequence[str], score: str) -> list[float]:
    found = [table.ours(one, method, score) for one in sets]
    return [math.nan if each is None else each.mean for each in found]


def _apart(opened: Opened, shown: Shown, values: SimpleNamespace) -> Picture:
    ranking = _ranking(opened.table, shown)
    at = {method.key: place for place, method in enumerate(ranking.methods)}
    what = (
        [method.label for method in ranking.methods],
        [method.record for method in ranking.methods],
        ranking.mean_ranks,
        [[at[key] for key in group] for group in ranking.groups],
        ranking.critical_difference,
    )
    words = " ".join([describe_groups(ranking), *ranking.left_out])
    panel = Panel("", groups_figure(*what, is_dark()), words, partial(groups_curves, *what, words))
    told = [
        "The dot is a method's mean rank. A thick bar on the right joins methods that are not told "
        "apart: their mean ranks differ by less than Nemenyi's critical difference at 5 %.",
        *_left_out(ranking, shown, values),
    ]
    return Picture((panel,), " ".join(told))


def _ranking(table: Table, shown: Shown) -> Ranking:
    if not any(shown.score.key in each.scores for each in table.results):
        raise InvalidData(_NOT_YET)
    return rank_methods(table, shown.score.key, shown.methods, _counting(table, shown))


def _counting(table: Table, shown: Shown) -> tuple[str, ...] | None:
    """The named set; None lets those count that at least half of the methods have."""
    return shown.sets if len(shown.sets) < len(table.sets_with(shown.score.key)) else None


def _left_out(ranking: Ranking, shown: Shown, values: SimpleNamespace) -> list[str]:
    told = list(ranking.left_out[:3])
    if len(ranking.left_out) > len(told):
        told.append(f"{len(ranking.left_out) - len(told)} more are left out for such reasons.")
    return told + _slow(shown, values)


def _slow(shown: Shown, values: SimpleNamespace) -> list[str]:
    if not shown.slow:
        return []
    verbs = ("takes", "is") if shown.slow == 1 else ("take", "are")
    return [
        f"{counted(shown.slow, 'method')} {verbs[0]} longer than {seconds_text(values.budget)} and "
        f"{verbs[1]} left out."
    ]


def _beside(opened: Opened, shown: Shown, values: SimpleNamespace) -> Picture:
    table, score = opened.table, shown.score
    panels = []
    for key in shown.sets[:_MOST_PANELS]:
        found = {one: _dot(table, key, one, score.key) for one in shown.methods}
        dots = [dot for dot in found.values() if dot is not None]
        cells = [
            cell_label(opened, key, one)
            for one, dot in found.items()
            for value in (() if dot is None else (dot.ours, dot.theirs))
            if math.isfinite(value)
        ]
        if dots:
            label = table.find_set(key).label
            words = _beside_words(label, dots, score.label)
            spec = clickable(beside_figure(dots, score.label, is_dark()), cells)
            saved = partial(beside_curves, dots, score.label, words)
            panels.append(Panel(label, spec, words, saved))
    if not panels:
        return Picture((), "", _NOT_YET)
    missing = _missing(table, shown)
    told = ["Bars are two standard errors on each side.", table.error_words]
    if missing:
        told.append(f"Not computed yet: {names_in_a_row(missing, 6)}.")
    return Picture(tuple(panels), " ".join(one for one in told if one))


def _dot(table: Table, set_key: str, method: str, score: str) -> Dot | None:
    ours, theirs = table.ours(set_key, method, score), table.published.get((set_key, method, score))
    if ours is None and theirs is None:
        return None
    beside = table.beside(set_key, method, score)
    one = table.find_method(method)
    return Dot(
        one.label,
        one.record,
        math.nan if ours is None else ours.mean,
        math.nan if ours is None else ours.error,
        math.nan if theirs is None else theirs.value,
        math.nan if theirs is None or theirs.error is None else theirs.error,
        "" if beside is None else beside.word,
    )


def _beside_words(label: str, dots: list[Dot], score: str) -> str:
    parts = []
    for dot in dots:
        ours = "not computed yet" if math.isnan(dot.ours) else short(dot.ours)
        theirs = "" if math.isnan(dot.theirs) else f", paper {short(dot.theirs)}"
        parts.append(f"{dot.label} {ours}{theirs}{f' ({dot.word})' if dot.word else ''}")
    return f"{score} on {label}: {'; '.join(parts)}."


def _missing(table: Table, shown: Shown) -> list[str]:
    """Published numbers that have none of ours beside them."""
    return [
        f"{table.find_method(method).label} on {table.find_set(one).label}"
        for one, method, score in table.published
        if score == shown.score.key
        and one in shown.sets
        and method in shown.methods
        and table.ours(one, method, score) is None
    ]


def _time(opened: Opened, shown: Shown, values: SimpleNamespace) -> Picture:
    table, score = opened.table, shown.score
    panels = []
    for key in shown.sets[:_MOST_PANELS]:
        # All methods are drawn: the budget is a line, and the best one on its left is named.
        everybody = [opened.methods[label].key for label in values.methods] or None
        front = find_front(table, score.key, key, everybody)
        if front.points:
            panels.append(_front_panel(opened, front, values.budget))
    if not panels:
        return Picture((), "", _NOT_YET)
    better = "higher" if score.higher else "lower"
    told = (
        f"The line joins the best method for each time; {better} is better. Seconds are those of "
        "one core for the median split. Bars are two standard errors on each side."
    )
    return Picture(tuple(panels), told)


def _front_panel(opened: Opened, front: Front, budget: float) -> Panel:
    label = opened.table.find_set(front.set).label
    dots = [
        TimedDot(point.method.label, point.method.record, point.seconds, point.score.mean,
                 point.score.error, point.on_front)
        for point in front.points
    ]  # fmt: skip
    title, words = label, front.words
    if budget:
        best = front.within(budget)
        said = (
            f"none takes {seconds_text(budget)} or less"
            if best is None
            else f"{best.method.label} is best within {seconds_text(budget)}"
        )
        title, words = f"{label}: {said}", f"{words} Of all methods, {said}."
    spec = front_figure(dots, front.score.label, budget or None, is_dark())
    cells = [cell_label(opened, front.set, point.method.key) for point in front.points]
    saved = partial(front_curves, dots, front.score.label, words, budget or None)
    return Panel(title, clickable(spec, cells), words, saved)


_MAKE: Mapping[str, Callable[[Opened, Shown, SimpleNamespace], Picture]] = {
    RANKS: _ranks,
    BESIDE: _beside,
    APART: _apart,
    TIME: _time,
}
