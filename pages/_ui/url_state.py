"""One page's state in the address bar, in its controls and in the session: three views of it.

A page declares its knobs and presets once in a `PageState`; `open_page` returns their values.

What holds for every page:

- A parameter that is out of range, of the wrong type or unknown gives a sentence under the title
  and is never silently dropped. It is shown as plain text.
- Defaults are not written to the URL; widgets write their own changes (``bind="query-params"``),
  so a link restores the page in a fresh private window, and Back and Forward work.
- Streamlit keeps a bound value under its key when the reader goes to another page. Two pages may
  both have ``trees`` with different ranges, so what belongs to a page is put back by `open_page`.
- ``change_next(STATE, trees=500)`` sets values from a callback, for the run that follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.pages_manager import PagesManager

from gbuq_core.figures.canvas.live import MAP
from gbuq_core.knobs import Knob, number_text, problem_with
from pages._ui import present
from pages._ui.address import (
    forget_untold,
    fragment_runs,
    put,
    put_again,
    put_together,
    went_back,
    write_out,
    write_picture_knobs,
)
from pages._ui.back_steps import complete_address
from pages._ui.controls import draw_knob, draw_knobs, is_shown
from pages._ui.knobs import Preset, Reading, link_texts, query_string, quoted, read_knob, why_not
from pages._ui.notices import show_notice

# Session keys, declared once. The first names the page that the session shows now.
_PAGE_NOW = "_page_now"
_RESTORED, _VALUES, _NOTICES, _PENDING = "_restored:", "_values:", "_notices:", "_pending:"
_PRESENT_KEPT = "_present_kept"  # on the way from another page, whose address does not say so
_PRESENT_ON = "_present_on"  # the page for which present mode was read from the address

_UNKNOWN_SHOWN = 3
_LONG_TEXT = 80  # characters: a value of so many is cut in a sentence


class PageState(NamedTuple):
    """The knobs and presets of one page.

    ``later`` names parameters that are declared only after something is loaded (columns of a
    table); until then they are not called unknown. ``opening`` are the values of a bare address,
    where they differ from the defaults, which a link means by what it leaves out. Such a page
    writes the first of these knobs into every address that would be bare. ``picture`` are the
    keys of the elements that present mode shows (without any, all of the page), and ``story`` is
    what its arrow keys step through. ``follow`` names knobs whose choices another knob decides: a
    value that no longer fits is told of when a link brought it, not when the reader moved that one.
    """

    key: str
    knobs: tuple[Knob, ...]
    presets: tuple[Preset, ...] = ()
    later: tuple[str, ...] = ()
    opening: Mapping[str, Any] = MappingProxyType({})
    picture: tuple[str, ...] = ()
    story: tuple[present.Step, ...] = ()
    follow: tuple[str, ...] = ()


class ControlPlaces(NamedTuple):
    """Where in the page its controls stand: a few at the picture, the others in a fold."""

    first: DeltaGenerator
    keys: Sequence[str]  # of the knobs that stand in `first`
    others: DeltaGenerator | None  # None: they are not drawn


class LinkNotices(NamedTuple):
    """What was wrong with the link, kept until a control moves away from ``seen_with``."""

    problems: dict[str, str]  # by knob, whose parameter they name
    unknown: tuple[str, ...]
    seen_with: dict[str, Any] | None


def open_page(page: PageState, places: ControlPlaces | None = None) -> SimpleNamespace:
    """Restore the page's state, draw its controls and return its values as attributes.

    Call it once a run, right below the title: sentences about a bad link appear there, and without
    ``places`` the controls, too.
    """
    through_the_app()
    if st.session_state.get(_PAGE_NOW) != page.key:
        st.session_state[_PAGE_NOW] = page.key
        st.session_state[_RESTORED + page.key] = frozenset()
        st.session_state.pop(_NOTICES + page.key, None)
        forget_untold()
    _refuse_bad_parameters(page)
    _restore_present(page)
    bare = not _linked(page)
    if bare and page.opening and went_back():
        # A widget would take its default, now that the address says nothing: in the next run not.
        step = st.session_state.get(_PENDING + page.key, {})
        _ask_for(page, {**_opened(page), **step})
        st.rerun()
    if went_back():
        forget_untold()  # the address is what the reader asks for, also where it says less
    held = {knob.key: _held(knob) for knob in page.knobs}
    asked = st.session_state.get(_PENDING + page.key, {})  # they are put below
    drawn = [
        knob
        for knob in page.knobs
        if knob.group != "picture" and knob.key not in asked and is_shown(knob, held)
    ]
    put_again(drawn, tells=not (bare and page.opening))
    _restore(page)
    if went_back():
        _follow_address(page)
    _apply_pending(page)
    write_picture_knobs((*page.knobs, present.present_knob(page.story)))
    place = st.container()
    before = {knob.key: _held(knob) for knob in page.knobs}
    if places is not None:
        values = _draw_in_places(page, before, places)
    else:
        values = draw_knobs(page.knobs, before, headings=False)
    values = _checked(page, values)
    st.session_state[_VALUES + page.key] = values
    with place:
        _draw_present(page, values)
        _show_notices(page, values)
    if page.opening:
        _complete_address(page, values, bare)
    return SimpleNamespace(**values)


def _complete_address(page: PageState, values: Mapping[str, Any], bare: bool) -> None:
    """Write the first knob of `opening` into an address that is bare, or would be."""
    needed = bare or not _linked(page)
    if needed:
        knob = _first_opened(page)
        write_out(knob, values[knob.key])
    names = [knob.key for knob in page.knobs]
    complete_address(link_query(page, values) if needed else "", names)


def _linked(page: PageState) -> bool:
    """Whether the address names one of the page's knobs."""
    return any(knob.key in st.query_params for knob in page.knobs)


def _draw_in_places(
    page: PageState, before: Mapping[str, Any], places: ControlPlaces
) -> dict[str, Any]:
    values = dict(before)
    with places.first:
        for knob in page.knobs:
            if knob.key in places.keys and is_shown(knob, values):
                values[knob.key] = draw_knob(knob)
    if places.others is None:
        return values
    with places.others:
        _draw_presets(page, before)
        return draw_knobs([knob for knob in page.knobs if knob.key not in places.keys], values)


def preview(knob: Knob, page: str = "", bare: Any = None) -> Any:
    """The value that a knob will have, before the page's controls are drawn.

    One control may decide what the others offer. ``page`` is the key of the page whose presets and
    steps change the knob, and ``bare`` what an address without any parameter means on arrival.
    """
    asked = st.session_state.get(_PENDING + page, {})
    if knob.key in asked:
        return asked[knob.key]
    if knob.key in st.session_state and not went_back():
        return _held(knob)
    arrives = st.session_state.get(_PAGE_NOW) != page
    if bare is not None and arrives and not {*st.query_params} - {present.KEY}:
        return bare
    texts = st.query_params.get_all(knob.key)
    reading = read_knob(knob, texts) if texts else None
    return knob.default if reading is None or reading.problem else reading.value


def read_again(page: PageState, values: SimpleNamespace) -> SimpleNamespace:
    """The values in a fragment that draws the controls of group "page" or "picture" by itself.

    When only the fragment runs, `open_page` does not, and what it returned is older than they are.
    """
    write_picture_knobs(page.knobs)
    own = {knob.key: _held(knob) for knob in page.knobs if knob.group in ("page", "picture")}
    fresh = _checked(page, {**vars(values), **own}, tells=fragment_runs())
    st.session_state[_VALUES + page.key] = fresh
    return SimpleNamespace(**fresh)


def change_next(page: PageState, **values: Any) -> None:
    """Set knobs in the run that follows: in a button's callback."""
    knobs = {knob.key: knob for knob in page.knobs}
    for key, value in values.items():
        if key not in knobs or problem_with(knobs[key], value):
            raise ValueError(f"{key} of page {page.key} cannot be {value!r}")
    st.session_state[_PENDING + page.key] = {
        **st.session_state.get(_PENDING + page.key, {}),
        **values,
    }


def run_page(page: PageState, values: SimpleNamespace) -> NoReturn:
    """Run the page again with what a callback has set: in a fragment without those controls.

    A value that is set from code reaches its control and the address only in the run that draws
    the control. ``values`` are those that the page was drawn with.
    """
    held = {knob.key: _held(knob) for knob in page.knobs}
    before = vars(values)
    st.session_state[_PENDING + page.key] = {
        key: value for key, value in held.items() if key in before and before[key] != value
    }
    st.rerun()
    raise AssertionError("st.rerun returned")


def link_query(page: PageState, values: Mapping[str, Any]) -> str:
    """The part of a link after the question mark; never bare where that means other values."""
    query = query_string(page.knobs, values)
    if not query and page.opening:
        knob = _first_opened(page)
        query = urlencode([(knob.key, text) for text in link_texts(knob, knob.default)])
    return query


def _first_opened(page: PageState) -> Knob:
    return next(knob for knob in page.knobs if knob.key in page.opening)


def _opened(page: PageState) -> dict[str, Any]:
    """What a bare address means."""
    return {knob.key: page.opening.get(knob.key, knob.default) for knob in page.knobs}


def through_the_app() -> None:
    """Run a page inside app.py, also for the first visitor of a server, if a link led them here.

    Streamlit takes a folder ``pages`` for its older kind of navigation until `st.navigation` has
    been called once in the process, and runs the page's file alone.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()


def _refuse_bad_parameters(page: PageState) -> None:
    """Take what makes no sense out of the URL, remember the sentences, and start the run afresh.

    Only a run that never saw the bad text is safe: Streamlit seeds widgets from it in its own
    way (12.7 becomes 12, 1e999 raises). A parameter that a widget holds already (the reader went
    Back to a bad link) cannot be deleted; Streamlit ignores it and the sentence is still shown.
    """
    knobs = {knob.key: knob for knob in (*page.knobs, present.present_knob(page.story))}
    problems: dict[str, str] = {}
    unknown: list[str] = []
    respelled = False
    # Their widgets take what fits, and write it into the address.
    following = st.session_state[_RESTORED + page.key] & {*page.follow}
    for name in list(st.query_params):
        if name in following:
            continue
        if name in knobs:
            reading = read_knob(knobs[name], st.query_params.get_all(name))
            if reading.problem:
                problems[name] = reading.problem
            elif not _is_spelled(knobs[name], reading.value):
                try:
                    st.query_params[name] = link_texts(knobs[name], reading.value)
                    respelled = True
                except StreamlitAPIException:  # bound to a widget, which ignores the spelling
                    written = ", ".join(quoted(t) for t in link_texts(knobs[name], reading.value))
                    problems[name] = f"{name} is written {written} in links"
        elif name not in page.later:
            unknown.append(name)
    if not problems and not unknown:
        if respelled:
            st.rerun()
        return
    old = st.session_state.get(_NOTICES + page.key, LinkNotices({}, (), None))
    st.session_state[_NOTICES + page.key] = LinkNotices(
        {**old.problems, **problems}, (*old.unknown, *unknown), None
    )
    if _forget((*problems, *unknown)) or respelled:
        st.rerun()


def _forget(names: Iterable[str]) -> int:
    """Take parameters out of the address, but for those that widgets hold; how many left it."""
    gone = 0
    for name in names:
        if name not in st.query_params:
            continue
        try:
            del st.query_params[name]
        except StreamlitAPIException:  # bound to a widget, which writes it by itself
            continue
        gone += 1
    return gone


def _is_spelled(knob: Knob, value: Any) -> bool:
    """Whether the link writes a choice as its widget does, which knows no other spelling."""
    if knob.kind not in ("ladder", "choice", "choices"):
        return True
    return st.query_params.get_all(knob.key) == link_texts(knob, value)


def _restore(page: PageState) -> None:
    """Give each knob seen for the first time its value: the link's, the last one, the default.

    A link means the same for everybody: once it names one knob, the others start at their
    defaults instead of where this reader left them.
    """
    done = st.session_state.get(_RESTORED + page.key, frozenset())
    # Widgets find by themselves what the address says when the reader goes Back.
    without = {knob.key for knob in page.knobs if knob.group == "picture"} if went_back() else set()
    new = [knob for knob in page.knobs if knob.key not in done or knob.key in without]
    linked = _linked(page)
    before: Mapping[str, Any] = st.session_state.get(_VALUES + page.key, {})
    last = {} if linked else before
    # A link that named only what makes no sense was a link all the same.
    bare = not linked and not done and _NOTICES + page.key not in st.session_state
    if bare and page.opening:
        last = last or _opened(page)
        opened = [(knob, last[knob.key]) for knob in page.knobs if knob.key in page.opening]
        put_together(opened, tells=False)
    for knob in new:
        value = knob.default if knob.key in done else last.get(knob.key, knob.default)
        texts = st.query_params.get_all(knob.key)
        reading = read_knob(knob, texts) if texts else Reading(value, "")
        value = value if reading.problem else reading.value
        value = knob.default if problem_with(knob, value) else value
        if knob.key in st.session_state or value != knob.default:
            put(knob, value)
    st.session_state[_RESTORED + page.key] = done | {knob.key for knob in new}
    _reset_misfits(page, before)


def _restore_present(page: PageState) -> None:
    """Present mode as the address says it; it stays on when the reader goes to another page."""
    came, back = st.session_state.get(_PRESENT_ON) != page.key, went_back()
    if not came and not back:
        return
    st.session_state[_PRESENT_ON] = page.key
    texts = st.query_params.get_all(present.KEY)
    reading = read_knob(present.present_knob(page.story), texts) if texts else Reading(0, "")
    number = 0 if reading.problem else reading.value
    st.session_state.pop(_PRESENT_KEPT, None)
    if not texts and came and not back and st.session_state.get(present.KEY, 0):
        number = 1
        st.session_state[_PRESENT_KEPT] = True
        write_out(present.present_knob(page.story), number)
    st.session_state[present.KEY] = number
    # A link that names a step and no knob means the step's own values.
    if number > 1 and not any(knob.key in st.query_params for knob in page.knobs):
        wanted = present.values_at(page.story, number, _opened(page))
        st.session_state[_PENDING + page.key] = wanted


def _draw_present(page: PageState, values: Mapping[str, Any]) -> None:
    now = st.session_state.get(present.KEY, 0)
    wanted = present.values_at(page.story, now, _opened(page))
    # Whoever turns to another map still looks at the step's settings.
    on_story = all(same_value(values[key], value) for key, value in wanted.items() if key != MAP)

    def turn(number: int) -> None:
        steps = (
            {} if not now or not number else present.values_at(page.story, number, _opened(page))
        )
        st.session_state[_PENDING + page.key] = {**steps, present.KEY: number}

    present.draw_present(page.picture, page.story, on_story, turn)
    if now:
        kept = st.session_state.get(_PRESENT_KEPT, False)
        query = f"{present.KEY}={now}" if kept else ""
        complete_address(query, [present.KEY], "present-written")


def same_value(value: Any, other: Any) -> bool:
    """Whether two values of a knob are the same; those of several choices may be lists."""
    return tuple(value) == tuple(other) if isinstance(other, tuple | list) else value == other


def _follow_address(page: PageState) -> None:
    """After Back or Forward every knob has its value from the address.

    Streamlit gives each widget that value as it is drawn. What stands above the widget, such as
    the picture that a place is chosen in, would still be drawn for the value before.
    """
    for knob in page.knobs:
        texts = st.query_params.get_all(knob.key)
        reading = read_knob(knob, texts) if texts else Reading(knob.default, "")
        if not reading.problem and reading.value != _held(knob):
            put(knob, reading.value)


def _reset_misfits(page: PageState, before: Mapping[str, Any]) -> None:
    """Values that a knob cannot have go back to the default.

    A value of the run before that no longer fits (another table, other columns) does so in silence;
    one that a widget has brought is told of, until a control moves.
    """
    problems = {}
    for knob in page.knobs:
        value = _raw(knob)
        if knob.kind == "text" or not problem_with(knob, value):
            continue  # what the reader typed stays in its box, `_checked` speaks about it
        put(knob, knob.default)
        if not (knob.key in before and same_value(value, before[knob.key])):
            problems[knob.key] = why_not(knob, value).removesuffix(".")
    if problems:
        old = st.session_state.get(_NOTICES + page.key, LinkNotices({}, (), None))
        notices = LinkNotices({**old.problems, **problems}, old.unknown, None)
        st.session_state[_NOTICES + page.key] = notices


def _held(knob: Knob) -> Any:
    """The value in the session, or the default where the knob cannot have that value.

    Another page may have left it there, or another version of this one: settings are made of what
    they know. A text that makes no sense is told of by `_checked` first.
    """
    value = _raw(knob)
    return value if knob.kind == "text" or not problem_with(knob, value) else knob.default


def _raw(knob: Knob) -> Any:
    """The session's value in the knob's own type (boxes hold floats, lists are mutable)."""
    value = st.session_state.get(knob.key, knob.default)
    if isinstance(value, list):
        value = tuple(value)
    if knob.kind == "range" and isinstance(value, tuple):
        return tuple(int(e) if isinstance(e, float) and e.is_integer() else e for e in value)
    if knob.kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _apply_pending(page: PageState) -> None:
    """Give knobs the values that a preset or `change` asked for, against the link.

    A parameter of a knob that is not drawn is bound to no widget: it stays in the address, and
    would be read from there once the knob is drawn. It leaves before the values are put, in a run
    of its own, since Streamlit seeds widgets from the address that the run began with.
    """
    drawn = {knob.key for knob in page.knobs if knob.group != "picture"}
    if _forget(key for key in st.session_state.get(_PENDING + page.key, {}) if key in drawn):
        st.rerun()
    pending = st.session_state.pop(_PENDING + page.key, {})
    knobs = (*page.knobs, present.present_knob(page.story))
    put_together([(k, _fitting(page, k, pending[k.key])) for k in knobs if k.key in pending])


def _fitting(page: PageState, knob: Knob, value: Any) -> Any:
    """The value, but the default where a preset was drawn for the choices of another value."""
    return knob.default if knob.key in page.follow and problem_with(knob, value) else value


def _checked(page: PageState, values: dict[str, Any], tells: bool = True) -> dict[str, Any]:
    """Only values that their knobs can have; texts as typed are checked here."""
    for knob in page.knobs:
        if tells and problem_with(knob, _raw(knob)):
            show_notice(why_not(knob, _raw(knob)), f"knob-{knob.key}")
        if problem_with(knob, values[knob.key]):
            values[knob.key] = knob.default
    return values


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(number_text(v) for v in value) or "nothing"
    if isinstance(value, str) and len(value) > _LONG_TEXT:
        return quoted(value)
    return str(value).lower() if isinstance(value, bool) else number_text(value) or "nothing"


def _show_notices(page: PageState, values: dict[str, Any]) -> None:
    """Show what was wrong with the link until the reader moves a control."""
    notices = st.session_state.get(_NOTICES + page.key)
    if notices is None:
        return
    if notices.seen_with is None:
        notices = notices._replace(seen_with=dict(values))
        st.session_state[_NOTICES + page.key] = notices
    if notices.seen_with != values:
        del st.session_state[_NOTICES + page.key]
        return
    show_notice(_sentences(page, notices, values), "link")


def _sentences(page: PageState, notices: LinkNotices, values: Mapping[str, Any]) -> list[str]:
    """The parameter as the link names it, and the control as the page does."""
    labels = {knob.key: knob.label for knob in page.knobs}
    lines = []
    for key, problem in notices.problems.items():
        value = values.get(key)
        are = "are" if isinstance(value, tuple) and len(value) > 1 else "is"
        if key == present.KEY:
            lines.append(f"{problem}; the page is shown as it is.")
            continue
        lines.append(f'{problem}; {_shown(value)} {are} used for "{labels.get(key, key)}".')
    if notices.unknown:
        listed = ", ".join(quoted(name) for name in notices.unknown[:_UNKNOWN_SHOWN])
        more = len(notices.unknown) - _UNKNOWN_SHOWN
        listed += f" and {more} more" if more > 0 else ""
        lines.append(
            f"This page does not know these settings of the link and ignores them: {listed}."
        )
    return lines


def _draw_presets(page: PageState, values: Mapping[str, Any]) -> None:
    """Preset buttons and Reset in one row above the controls; the one in force is marked."""
    now = query_string(page.knobs, values)
    reset = Preset("Reset", page.opening, help="Set every control back to its default")
    with st.container(horizontal=True, key="presets", gap="small"):
        for preset in (*page.presets, reset):
            wanted = {
                knob.key: values[knob.key]
                if knob.key in preset.keeps
                else preset.values.get(knob.key, knob.default)
                for knob in page.knobs
            }
            active = query_string(page.knobs, wanted) == now
            st.button(
                preset.name,
                key=f"_preset:{page.key}:{preset.name}",
                help=preset.help or None,
                type="primary" if active and preset is not reset else "secondary",
                disabled=active and preset is reset,
                on_click=_ask_for_preset,
                args=(page, preset, wanted),
            )


def _ask_for_preset(page: PageState, preset: Preset, wanted: Mapping[str, Any]) -> None:
    """A fragment may have changed what the preset keeps after the button was drawn."""
    now = st.session_state.get(_VALUES + page.key, {})
    _ask_for(page, {**wanted, **{key: now[key] for key in preset.keeps if key in now}})


def _ask_for(page: PageState, wanted: Mapping[str, Any]) -> None:
    st.session_state[_PENDING + page.key] = dict(wanted)
