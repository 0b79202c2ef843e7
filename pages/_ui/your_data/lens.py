"""Any lens on the page: its question, knobs, progress and answer, from its record alone.

What a lens draws beyond its sections, such as handles or buttons, is a function of a `Drawing`,
which `explore.py` or `row.py` names beside the lens's key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.figures.standalone import Section
from gbuq_core.lenses.judged import repaired_by
from gbuq_core.lenses.lens import File, Lens, Seen
from gbuq_core.lenses.register import LENSES
from gbuq_core.tables import can_weigh, why_no_shift, with_intervals
from pages._ui.controls import draw_knob, is_shown
from pages._ui.curves import show_curves
from pages._ui.export import Download
from pages._ui.jobs_glue import Answer, Request, ask_beside, show_progress
from pages._ui.kept import is_remembered, remember
from pages._ui.url_state import PageState
from pages._ui.your_data.training import Trained, View, own_key

_SHADED = "background-color: rgba(213, 94, 0, 0.22); font-weight: 700"
_CELL_PIXELS, _LETTER_PIXELS = 24, 8
_MOST_LINES = 20  # of a table that does not scroll
_NUMBERED, _NUMBER = {"No.", "Rank", "Row", "Rows"}, re.compile(r"[0-9][0-9,]{0,14}")
_MARKUP = re.compile(r"([\\`*_\[\]<>$~|#])")


def plain(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", text)


class Drawing(NamedTuple):
    """A lens with its answer, and all that is around it on the page."""

    lens: Lens
    page: PageState
    values: SimpleNamespace
    trained: Trained
    view: View
    seen: Seen
    answer: Any
    name: Hashable  # all that the answer depends on


Part = Callable[[Drawing], None]


def draw_lenses(
    place: str,
    page: PageState,
    values: SimpleNamespace,
    trained: Trained,
    view: View,
    row: int = 0,
    parts: Mapping[str, Part] | None = None,
) -> None:
    """Draw the lenses of a section or tab; ``parts`` draw those that are more than sections."""
    seen = Seen(view.scored, trained.opened.table, values, row)
    shown = [lens for lens in LENSES.values() if lens.place == place and lens.concerns(seen)]
    while shown:
        n = 2 if [lens.half for lens in shown[:2]] == [True, True] else 1
        columns = st.columns(2, gap="large") if n == 2 else [st.container()]
        for lens, column in zip(shown[:n], columns, strict=True):
            with column, st.container(key=f"lens-{lens.key}"):
                part = (parts or {}).get(lens.key, draw_answer)
                _draw_lens(lens, page, values, trained, view, row, part)
        del shown[:n]


def _draw_lens(
    lens: Lens,
    page: PageState,
    values: SimpleNamespace,
    trained: Trained,
    view: View,
    row: int,
    part: Part,
) -> None:
    seen, name = _look(lens, values, trained, view, row)
    if heading := lens.heading(seen):
        st.markdown(f"**{heading}**", help=lens.meaning or None)
    if refusal := lens.refuse(seen):
        st.text(refusal, width="stretch")
        return
    _draw_knobs(lens, page, seen)
    if words := remember((name, _chosen(values, _own(lens))), lens.waits, seen):
        st.text(words, width="stretch")
        return
    answer = ask_lens(lens, values, trained, view, row)
    show_answer_or_progress(answer)
    if answer.fresh:
        part(Drawing(lens, page, values, trained, view, seen, answer.result, name))


def ask_lens(
    lens: Lens,
    values: SimpleNamespace,
    trained: Trained,
    view: View,
    row: int = 0,
    start: bool = True,
) -> Answer:
    """The answer of a lens: at once, or of a job where that takes long.

    Its ``result`` is that of these very choices, or None. Without ``start``, nothing is worked out.
    """
    seen, name = _look(lens, values, trained, view, row)
    key: tuple[Hashable, ...] = ("your data", lens.key, *name)
    request = Request(
        lens.key,
        key,
        lambda job: lens.compute(seen),
        lens.waiting.working,
        method=lens.key,
        cancelled=lens.waiting.cancelled,
        failed=lens.waiting.failed,
    )
    if not lens.beside(seen):
        if not start and not is_remembered(name, lens.compute):
            return Answer(lens.key, request, "waiting", None, False, None, "", None)
        try:
            result = remember(name, lens.compute, seen)
        except GbuqError as error:
            return Answer(lens.key, request, "failed", None, False, None, str(error), None)
        return Answer(lens.key, request, "done", result, True, None, "", None)
    if trained.opened.is_upload or trained.wanted.second:  # nobody else's
        request = request._replace(key=own_key(key))
    return only_fresh(ask_beside(request, start))


def only_fresh(answer: Answer) -> Answer:
    """The answer without a result of other choices."""
    return answer if answer.fresh else answer._replace(result=None)


def show_answer_or_progress(answer: Answer) -> None:
    """In the place of a result: why there is none, how far it is, or that it was cancelled."""
    if answer.error:
        st.text(answer.error, width="stretch")
    elif not answer.fresh:
        show_progress([answer], f"-{answer.slot}")


def lens_files(
    values: SimpleNamespace, trained: Trained, view: View, row: int = 0
) -> tuple[Download, ...]:
    """The files of the lenses whose answers are there."""
    files: list[File] = []
    for lens in LENSES.values():
        seen, _ = _look(lens, values, trained, view, row)
        if lens.file is not None and lens.concerns(seen) and not lens.refuse(seen):
            answer = ask_lens(lens, values, trained, view, row, start=False)
            files += [lens.file(seen, answer.result)] if answer.fresh else []
    return tuple(Download(*file) for file in files)


def made_results(values: SimpleNamespace, trained: Trained, view: View) -> dict[str, Any]:
    """What the report takes from the page: nothing is worked out for it here."""
    answers = {
        lens.key: ask_lens(lens, values, trained, view, start=False)
        for lens in LENSES.values()
        if lens.report == "if made"
    }
    return {key: answer.result for key, answer in answers.items() if answer.fresh}


def with_levels(view: View, trained: Trained, values: SimpleNamespace) -> View:
    """The view whose table has the intervals that the reader chose."""
    scored = view.scored
    if scored.training.target.classes:
        return view
    level, by = values.within / 100.0, repaired_by(scored, trained.opened.table, values)
    shift = None
    if values.weighted and by is None and not why_no_shift(scored):
        weights = ask_lens(LENSES["shift"], values, trained, view).result
        shift = weights if weights is not None and can_weigh(weights) else None
    conformal = values.conformal or by is not None or shift is not None
    if by is None and shift is None and (level, conformal) == (scored.level, scored.conformal):
        return view
    digest = f"{view.digest}-{values.within}-{conformal}-{by and by.column}-{shift is not None}"
    chosen = (scored, level, conformal, None, by, shift)
    return View(remember(digest, with_intervals, *chosen, most=4), digest)


def _look(
    lens: Lens, values: SimpleNamespace, trained: Trained, view: View, row: int
) -> tuple[Seen, tuple[Hashable, ...]]:
    """What a lens looks at, and a name of all that its result depends on."""
    if lens.depends == "levels":
        view = with_levels(view, trained, values)
    wanted = trained.wanted
    of: Hashable = view.digest
    if lens.depends == "fit":
        of = wanted
    elif lens.depends == "files":  # no knob of the model, but the groups, which stay together
        is_known = view.scored.unfamiliarity is not None
        of = (
            wanted.table,
            wanted.edits,
            wanted.target,
            wanted.task,
            wanted.second,
            wanted.plan.seed,
            wanted.groups,
            is_known,
        )
    scored = trained.scored if lens.depends == "fit" else view.scored
    seen = Seen(scored, trained.opened.table, values, row)
    return seen, (of, lens.of(seen) if lens.of_row else None, _chosen(values, lens.asks))


def _chosen(values: SimpleNamespace, keys: Sequence[str]) -> tuple[Hashable, ...]:
    chosen = (getattr(values, key, None) for key in keys)
    return tuple(tuple(value) if isinstance(value, list) else value for value in chosen)


def _own(lens: Lens) -> list[str]:
    return [knob.key for knob in lens.knobs]


def _draw_knobs(lens: Lens, page: PageState, seen: Seen) -> None:
    known = {knob.key: knob for knob in page.knobs}  # with the columns of the table
    without = lens.without(seen)
    shown = [
        known[knob.key]
        for knob in lens.knobs
        if knob.key in known and knob.key not in without and is_shown(knob, vars(seen.values))
    ]
    for knob, column in zip(shown, st.columns(len(shown)) if shown else [], strict=True):
        with column:
            draw_knob(knob)


def draw_answer(drawing: Drawing) -> None:
    """The sections of an answer."""
    lens, seen = drawing.lens, drawing.seen
    chosen = _chosen(drawing.values, [*_own(lens), *lens.shows])
    name = drawing.name, drawing.view.digest, seen.row, chosen
    try:
        sections = remember(name, lens.sections, seen, drawing.answer)
    except GbuqError as error:
        st.text(str(error), width="stretch")
        return
    for number, section in enumerate(sections):
        draw_section(section, f"{lens.key}-{number}", lens.heading(seen))


def draw_section(section: Section, key: str, alt: str) -> None:
    """A picture with words beside it, a table and a caption; nothing in them is read as markup."""
    texts = [section.text] if isinstance(section.text, str) else section.text
    picture, words = st.container(), st.container()
    if section.curves is not None and texts:
        picture, words = st.columns([0.56, 0.44], gap="large")
    with picture:
        if section.curves is not None:
            show_curves(section.curves, key=f"{key}-picture")
    with words:
        for text in texts:
            st.text(text, width="stretch")
    if section.table:
        _draw_table(section, f"{key}-table", alt)
    if section.caption:
        st.caption(plain(section.caption))


def _draw_table(section: Section, key: str, alt: str) -> None:
    """Cells as they are written; row numbers and counts are sorted as numbers."""
    heads, *lines = section.table
    cells, config = {}, {}
    for number, head in enumerate(heads):
        column = [line[number] for line in lines]
        first = not number  # where a phone shows it
        if head in _NUMBERED and all(_NUMBER.fullmatch(cell) for cell in column):
            cells[f"c{number}"] = [int(cell.replace(",", "")) for cell in column]
            config[f"c{number}"] = st.column_config.NumberColumn(head, pinned=first, format="%d")
        else:
            cells[f"c{number}"] = column
            config[f"c{number}"] = st.column_config.TextColumn(head, pinned=first)
    frame = pd.DataFrame(cells)
    marks = [
        [_SHADED if (row, column) in section.shaded else "" for column in range(len(heads))]
        for row in range(1, len(section.table))
    ]
    styles = pd.DataFrame(marks, columns=frame.columns)
    shown: Any = frame
    if styles.any(axis=None):  # whose columns do not fit themselves
        shown = frame.style.apply(lambda _: styles, axis=None)
        longest = max(len(line[0]) for line in section.table)
        config["c0"] |= {"width": _CELL_PIXELS + _LETTER_PIXELS * longest}
    height = "content" if len(lines) <= _MOST_LINES else "auto"
    st.dataframe(shown, hide_index=True, column_config=config, height=height, key=key, alt=alt)
