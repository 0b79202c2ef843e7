"""The Scoreboard's picture: ranks, numbers beside the paper's, who differs, score against time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite, isnan
from typing import NamedTuple

import numpy as np

from gbuq_core.errors import GbuqError, InvalidData
from gbuq_core.experiments.scoreboard.bars import Bar, bar_rows
from gbuq_core.experiments.scoreboard.board import Table
from gbuq_core.experiments.scoreboard.charts import (
    beside_figure,
    clickable,
    front_figure,
    groups_figure,
    ranks_figure,
)
from gbuq_core.experiments.scoreboard.fronts import Front, find_front
from gbuq_core.experiments.scoreboard.numbers import (
    BoardNumber,
    describe_groups,
    describe_numbers,
    few_names,
    find_number,
    number_rows,
)
from gbuq_core.experiments.scoreboard.plan import (
    APART,
    BESIDE,
    RANKS,
    TIME,
    BoardSettings,
    Filtered,
    filter_table,
)
from gbuq_core.experiments.scoreboard.ranking import Ranking, rank_methods
from gbuq_core.experiments.scoreboard.saved_charts import (
    beside_curves,
    front_curves,
    groups_curves,
    ranks_sheet,
)
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.vega import Spec
from gbuq_core.presentation import counted, seconds_text

_MOST_PANELS = 6
_NOT_YET = (
    "None of our numbers for this choice is computed yet. Choose another paper or metric, or run "
    "the command of a cell below."
)


class BoardChart(NamedTuple):
    """One chart with its heading, the same in words, and what draws it for a saved page."""

    title: str
    spec: Spec
    words: str
    saved: Callable[[], PanelSheet | Curves]


class BoardPicture(NamedTuple):
    """The charts of a view, and what is said below them; ``refusal`` stands in their place."""

    charts: tuple[BoardChart, ...]
    caption: str
    refusal: str = ""

    @property
    def words(self) -> str:
        """The picture in words."""
        return self.refusal or "\n\n".join(chart.words for chart in self.charts)


# What a click on a number opens: a text, or nothing.
NameCell = Callable[[str, str], str | None]


def board_picture(
    table: Table, settings: BoardSettings, name_cell: NameCell, dark: bool = False
) -> BoardPicture:
    """The charts of the settings' view."""
    try:
        return _MAKE[settings.view](table, settings, filter_table(table, settings), name_cell, dark)
    except GbuqError as error:
        return BoardPicture((), "", str(error))


def board_sections(
    table: Table, picture: BoardPicture, numbers: list[BoardNumber], score: str,
    bars: tuple[Bar, ...], code: str,
) -> list[Section]:  # fmt: skip
    """A page to take away: the charts, every number, the figures to reach, and the code."""
    sections = [Section(heading=f"{table.paper}: {score}", text=picture.caption or picture.refusal)]
    for chart in picture.charts:
        drawn = chart.saved()
        curves, sheet = (drawn, None) if isinstance(drawn, Curves) else (None, drawn)
        sections.append(
            Section(heading=chart.title, curves=curves, sheet=sheet, caption=chart.words)
        )
    return [
        *sections,
        Section(table=number_rows(numbers), caption=table.words),
        Section(heading="Figures to reach", table=bar_rows(bars)),
        Section(heading="Python", code=code),
    ]


def _ranks(
    table: Table, settings: BoardSettings, left: Filtered, name_cell: NameCell, dark: bool
) -> BoardPicture:
    ranking = _ranking(table, left)
    # Methods that lack a set follow without ranks.
    ranked = {method.key for method in ranking.methods}
    rest = [table.find_method(key) for key in left.methods if key not in ranked]
    sets, methods = ranking.sets, (*ranking.methods, *rest)
    ranks = np.pad(ranking.ranks, ((0, len(rest)), (0, 0)), constant_values=np.nan)
    of_rest = [
        [find_number(table, entry.key, method.key, left.score.key).ours for entry in sets]
        for method in rest
    ]
    means = np.vstack([ranking.means, *of_rest])
    what = [method.label for method in methods], [entry.label for entry in sets], ranks
    spec = clickable(
        ranks_figure(*what, means, left.score.label),
        [name_cell(entry.key, method.key) for method in methods for entry in sets],
    )
    sentences = [f"Rank 1 is the best {left.score.label}. Point at a cell for its mean."]
    if rest:
        sentences.append("Hatched: not ranked, because the method is not computed on every set.")
    words = " ".join([ranking.words, *ranking.left_out])
    saved = partial(ranks_sheet, *what, left.score.label, words)
    sentences += _slow(left, settings)
    return BoardPicture((BoardChart("", spec, words, saved),), " ".join(sentences))


def _apart(
    table: Table, settings: BoardSettings, left: Filtered, name_cell: NameCell, dark: bool
) -> BoardPicture:
    ranking = _ranking(table, left)
    words = " ".join([describe_groups(ranking), *ranking.left_out])
    chart = BoardChart(
        "", groups_figure(ranking, dark), words, partial(groups_curves, ranking, words)
    )
    sentences = [
        "The dot is a method's mean rank. A thick bar on the right joins methods that are not told "
        "apart: their mean ranks differ by less than Nemenyi's critical difference at 5 %.",
        *ranking.left_out[:3],
    ]
    if len(ranking.left_out) > 3:
        sentences.append(f"{len(ranking.left_out) - 3} more are left out for such reasons.")
    return BoardPicture((chart,), " ".join([*sentences, *_slow(left, settings)]))


def _ranking(table: Table, left: Filtered) -> Ranking:
    score = left.score.key
    if not any(score in each.scores for each in table.results):
        raise InvalidData(_NOT_YET)
    # Named sets count; without a name those that at least half of the methods have.
    sets = left.sets if len(left.sets) < len(table.sets_with(score)) else None
    return rank_methods(table, score, left.methods, sets)


def _slow(left: Filtered, settings: BoardSettings) -> list[str]:
    if not left.slow:
        return []
    verbs = ("takes", "is") if left.slow == 1 else ("take", "are")
    return [
        f"{counted(left.slow, 'method')} {verbs[0]} longer than {seconds_text(settings.budget)} "
        f"and {verbs[1]} left out."
    ]


def _beside(
    table: Table, settings: BoardSettings, left: Filtered, name_cell: NameCell, dark: bool
) -> BoardPicture:
    label, charts = left.score.label, []
    for key in left.sets[:_MOST_PANELS]:
        every = (find_number(table, key, method, left.score.key) for method in left.methods)
        numbers = [each for each in every if not (isnan(each.ours) and isnan(each.theirs))]
        if not numbers:
            continue
        cells = [
            name_cell(key, number.method.key)
            for number in numbers
            for value in (number.ours, number.theirs)
            if isfinite(value)
        ]
        words = describe_numbers(numbers, label)
        spec = clickable(beside_figure(numbers, label, dark), cells)
        saved = partial(beside_curves, numbers, label, words)
        charts.append(BoardChart(numbers[0].set.label, spec, words, saved))
    if not charts:
        return BoardPicture((), "", _NOT_YET)
    missing = _missing(table, left)
    sentences = ["Bars are two standard errors on each side.", table.error_words]
    if missing:
        sentences.append(f"Not computed yet: {few_names(missing, 6)}.")
    return BoardPicture(tuple(charts), " ".join(filter(None, sentences)))


def _missing(table: Table, left: Filtered) -> list[str]:
    """Published numbers that have none of ours beside them."""
    return [
        f"{table.find_method(method).label} on {table.find_set(key).label}"
        for key, method, score in table.published
        if score == left.score.key
        and key in left.sets
        and method in left.methods
        and table.ours(key, method, score) is None
    ]


def _time(
    table: Table, settings: BoardSettings, left: Filtered, name_cell: NameCell, dark: bool
) -> BoardPicture:
    # All methods are drawn: the budget is a line, and the best one on its left is named.
    fronts = [
        find_front(table, left.score.key, key, settings.methods) for key in left.sets[:_MOST_PANELS]
    ]
    charts = tuple(
        front_chart(table, front, settings.budget, name_cell, dark)
        for front in fronts
        if front.points
    )
    if not charts:
        return BoardPicture((), "", _NOT_YET)
    better = "higher" if left.score.higher else "lower"
    return BoardPicture(
        charts,
        f"The line joins the best method for each time; {better} is better. Seconds are those of "
        "one core for the median split. Bars are two standard errors on each side.",
    )


def front_chart(
    table: Table, front: Front, budget: float, name_cell: NameCell, dark: bool = False
) -> BoardChart:
    """A set's score against time; the best method within a budget is named."""
    title, words = table.find_set(front.set).label, front.words
    if budget:
        best = front.within(budget)
        rate = (
            f"none takes {seconds_text(budget)} or less"
            if best is None
            else f"{best.method.label} is best within {seconds_text(budget)}"
        )
        title, words = f"{title}: {rate}", f"{words} Of all methods, {rate}."
    spec = clickable(
        front_figure(front, budget or None, dark),
        [name_cell(front.set, point.method.key) for point in front.points],
    )
    return BoardChart(title, spec, words, partial(front_curves, front, words, budget or None))


_Make = Callable[[Table, BoardSettings, Filtered, NameCell, bool], BoardPicture]
_MAKE: Mapping[str, _Make] = {RANKS: _ranks, BESIDE: _beside, APART: _apart, TIME: _time}
