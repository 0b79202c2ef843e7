"""What a picture with knobs of its own needs from its page: them, and the members once a fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import streamlit as st

from gbuq_core.figures.canvas.live import EVERY as EVERY_KEY
from gbuq_core.figures.canvas.live import FRAME_SCALES, MAP, Live, encode_members, members_digest
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.canvas.renderer import members_source, near_source
from gbuq_core.figures.handles import LiveKnob, live_knob
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.knobs import Knob, number_text
from pages._ui.controls import is_shown
from pages._ui.kept import kept
from pages._ui.url_state import PageState

COLOURS = Knob(
    "colours",
    "Colours span",
    "choice",
    FRAME_SCALES[0],
    choices=FRAME_SCALES,
    group="picture",
    brief="Colours",
    help="All frames: a colour means the same value in the whole run. This frame: each frame uses "
    "all colours.",
)
EVERY = Knob(
    EVERY_KEY,
    "All maps",
    "switch",
    False,
    group="picture",
    help="Shows every map at once, instead of the truth and one map.",
)
FOCUS = Knob(
    "focus",
    "Only where rows are",
    "switch",
    False,
    group="picture",
    brief="Only rows",
    help="Shows the part of the maps that holds the training rows.",
)

_MEMBERS = st.components.v2.component("gbuq_members", js=members_source(), isolate_styles=True)
_TABLES = st.components.v2.component("gbuq_near", js=near_source(), isolate_styles=True)


_FIRST = "automatic"


def map_knob(names: Iterable[str]) -> Knob:
    """Which map stands beside the truth, where there is no room for all: one of these names.

    >>> map_knob(["SGLB: data"]).choices
    ('automatic', 'SGLB: data')
    """
    return Knob(
        MAP,
        "Map",
        "choice",
        _FIRST,
        choices=(_FIRST, *names),
        group="picture",
        help="The map beside the truth.",
    )


def names_of_kinds(labels: Iterable[str]) -> tuple[str, ...]:
    """The maps of methods: a total, data and knowledge uncertainty each.

    >>> names_of_kinds(["SGLB"])
    ('SGLB: total', 'SGLB: data', 'SGLB: knowledge')
    """
    return tuple(f"{label}: {kind}" for label in labels for kind in UNCERTAINTY_KINDS)


def live_map(knob: Knob, value: Any) -> LiveKnob:
    """A knob of `map_knob`; the bar does not show it, since the titles above the maps turn it."""
    return live_knob(knob, value)._replace(needs={knob.key: ()})


def live_knobs(page: PageState, values: SimpleNamespace) -> list[LiveKnob]:
    """The knobs that the picture's bar shows with these values, under their brief names.

    >>> flag = Knob("flag", "Flag", "ladder", 0, choices=(0, 5), unit="%", group="picture")
    >>> page = PageState("page", (flag, Knob("seed", "Seed", "integer", 0, 0, 9)))
    >>> live_knobs(page, SimpleNamespace(flag=5))[0].texts
    ('0 %', '5 %')
    """
    given = vars(values)
    pictured = {knob.key: knob for knob in page.knobs if knob.group == "picture"}
    shown = []
    for knob in pictured.values():
        # What needs another knob of the bar comes and goes in the browser.
        other = pictured.get(knob.needs[0]) if knob.needs else None
        if not is_shown(replace(knob, needs=None) if other else knob, given):
            continue
        shares = [f"{number_text(v)} %" for v in knob.choices] if knob.unit == "%" else ()
        value = _on_step(knob, given.get(knob.key, knob.default))
        if knob.key == MAP:
            shown.append(live_map(knob, value))
            continue
        own = live_knob(knob, value, label=knob.brief or knob.label, texts=shares)
        own = own._replace(help=f"{knob.label}. {knob.help}" if knob.help else knob.label)
        if knob.needs and other:
            at = live_knob(other, other.default)
            places = [v if at.kind == "switch" else at.choices.index(v) for v in knob.needs[1]]
            own = own._replace(needs={other.key: tuple(places)})
        shown.append(own)
    return shown


def turning(sheet: PanelSheet, page: PageState, values: SimpleNamespace) -> PanelSheet:
    """The sheet, which shows a map that a knob changes when that knob is taken."""
    maps = next((knob.choices[1:] for knob in page.knobs if knob.key == MAP), ())
    turns = {}
    for knob in page.knobs:
        methods = None if knob.methods is None else knob.methods(vars(values))
        if methods is not None or knob.kinds:
            pairs = [(name, name.rpartition(": ")) for name in maps]
            turns[knob.key] = [
                name
                for name, (method, _, kind) in pairs
                if (methods is None or method in methods) and (not knob.kinds or kind in knob.kinds)
            ]
    return replace(sheet, turns={key: names for key, names in turns.items() if names})


def _on_step(knob: Knob, value: Any) -> Any:
    """A number of a link may be off its step by rounding."""
    if knob.kind != "number" or not knob.step:
        return value
    low = knob.low or 0.0
    return round(low + round((value - low) / knob.step) * knob.step, 12)


def send_members(live: Live | None, name: str) -> None:
    """Send the members of a picture; the browser gets them again only after a new fit.

    Draw it after everything else: the picture itself does not wait for them.
    """
    if live is None or not live.ensembles:
        return
    digest = members_digest(live)
    data = kept(f"{name}-members", [], digest, lambda: encode_members(live))
    with st.container(key=f"unseen-{name}-members"):
        _MEMBERS(key=f"{name}-members", data=data)


def send_tables(page: str, tables: Mapping[str, bytes]) -> None:
    """Send what a picture finds neighbours with; the picture does not wait for it, either."""
    for name, data in tables.items():
        with st.container(key=f"unseen-{page}-{name}"):
            _TABLES(key=f"{page}-{name}", data=data)
