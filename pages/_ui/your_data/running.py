"""Long training waits for a press of Run: what it trains, and what would be quicker."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.methods import METHODS
from gbuq_core.tables import Schema, Table, TrainingSize
from pages._ui.jobs_glue import Answer, Request, start_again, was_cancelled
from pages._ui.notices import show_notice
from pages._ui.url_state import PageState
from pages._ui.your_data.keeping import keep_bytes, kept_bytes
from pages._ui.your_data.source import Opened
from pages._ui.your_data.state import AUTOMATIC, VIRTUAL
from pages._ui.your_data.training import Wanted, plan_of, size_of

_PRESSED = "_data_run_pressed"  # what was started so, as digests
_PLACE = "run-pressed"  # the same beside the tab's files, for a reload
_MOST_KEPT = 64


class _Quicker(NamedTuple):
    """Other settings, what a button calls them, and how much work they are."""

    settings: dict[str, Any]
    label: str
    work: float


def wait_for_run(request: Request, wanted: Wanted, size: TrainingSize | None) -> Request:
    """The request as it is, or one that waits: a long fit not yet started, or cancelled."""
    if size is None or not size.waits:
        return request
    digest = _digest(wanted)
    if was_cancelled(request):
        _remember(_pressed() - {digest})
        start_again(request.slot)
    return request._replace(waits=digest not in _pressed())


def show_run(
    page: PageState,
    values: SimpleNamespace,
    answer: Answer,
    opened: Opened,
    schema: Schema,
    second: Table | None,
    size: TrainingSize | None,
) -> None:
    """In the place of progress: what is trained, Run, and a quicker choice."""
    if answer.state != "waiting" or size is None:
        return
    wanted: Wanted = answer.request.key[1]  # type: ignore[index]
    sentences = [
        f"Training takes long with these settings, so it waits for you to start it: {size.words}."
    ]
    if second is None:
        sentences.append(
            "The table appears once training is done. How unfamiliar the rows are is measured "
            "then, and you can cancel that."
        )
    quicker = _find_quicker(page, values, wanted, opened, schema, second, size)
    if quicker is not None:
        sentences.append(f"{quicker.label[:1].upper()}{quicker.label[1:]} would be quicker.")
    show_notice(sentences, "run")
    with st.container(horizontal=True, key="run"):
        st.button("Run", key="_run", type="primary", on_click=_press, args=(_digest(wanted),))
        if quicker is not None:
            st.button(
                f"Use {quicker.label}", key="_quicker", on_click=_choose, args=(quicker.settings,)
            )


def _find_quicker(
    page: PageState,
    values: SimpleNamespace,
    wanted: Wanted,
    opened: Opened,
    schema: Schema,
    second: Table | None,
    size: TrainingSize,
) -> _Quicker | None:
    """The first change that needs no press, or else the quickest; None if none saves a third."""
    changes: list[tuple[dict[str, Any], str]] = []
    if (trees_alone := wanted.plan.of_trees()) != wanted.plan:
        changes.append(({"method": METHODS[trees_alone.method].label}, "trees alone"))
    if wanted.plan.ensemble == "independent":
        changes.append(({"ensemble": VIRTUAL}, "truncations of one model"))
    trees = next(knob for knob in page.knobs if knob.key == "trees")
    numbers = (n for n in trees.choices if n != AUTOMATIC)
    fewer = sorted((n for n in numbers if n < wanted.plan.trees), reverse=True)
    changes += [({"trees": n}, f"{n:,} trees") for n in fewer]
    best: _Quicker | None = None
    for settings, label in changes:
        plan = plan_of(SimpleNamespace(**{**vars(values), **settings}))
        other = size_of(wanted._replace(plan=plan), opened, schema, second)
        if other is None:
            continue
        if best is None or other.work < best.work:
            best = _Quicker(settings, label, other.work)
        if not other.waits:
            break
    return best if best is not None and best.work < size.work / 1.5 else None


def _press(digest: str) -> None:
    """Start a long fit: a button's callback."""
    _remember(_pressed() | {digest})


def _choose(settings: dict[str, Any]) -> None:
    """Set other knobs: a button's callback."""
    st.session_state.update(settings)


def _digest(wanted: Wanted) -> str:
    return hashlib.sha256(repr(wanted).encode()).hexdigest()


def _pressed() -> frozenset[str]:
    """All that was started in this tab, also before it was loaded again."""
    own: frozenset[str] = st.session_state.get(_PRESSED, frozenset())
    return own | frozenset(kept_bytes(_PLACE).decode().split())


def _remember(digests: frozenset[str]) -> None:
    kept = frozenset(sorted(digests)[:_MOST_KEPT])
    st.session_state[_PRESSED] = kept
    keep_bytes(_PLACE, " ".join(kept).encode())
