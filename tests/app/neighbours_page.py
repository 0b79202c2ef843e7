"""The Neighbours page as its tests see it: opening it small, waiting for fits, reading figures."""

from gbuq_core.experiments.neighbours.plan import NeighboursSettings
from tests.app.drawn import curve_specs, sheets
from tests.app.opening import open_link, wait_for_warm_up
from tests.app.waiting import run_when_done

SMALL = {"rows": "200", "trees": "20", "k": "15"}
SETTINGS = NeighboursSettings(rows=200, trees=20, k=15)


def open_neighbours(small=True, **query):
    at = open_link("neighbours", {**(SMALL if small else {}), **query})
    wait_for_warm_up()
    return settle(at)


def settle(at):
    """Run again once nothing is being fitted."""
    return run_when_done(at)


def curves(at, name):
    """The specification of the figure of curves with this name."""
    return next(spec for spec in curve_specs(at) if spec["name"] == name)


def sheet(at, name):
    """The sheet with this name."""
    return next(one for one in sheets(at) if one.header["name"] == name)


def drawn(at):
    """Everything that is drawn, to tell one picture from another."""
    parts = at.get("bidi_component")
    # What watches sliders draws nothing, and neither do the tables that pictures follow with.
    silent = ("gbuq_sliders", "gbuq_near")
    return [p.proto.bytes for p in parts if p.proto.component_name not in silent]


def table(at, start):
    return next(m.value for m in at.markdown if m.value.startswith(start))


def words(at):
    return [t.value for t in at.text]


def move(at, key, value):
    kinds = (
        at.slider, at.select_slider, at.radio, at.toggle, at.multiselect, at.selectbox,
        at.number_input,
    )  # fmt: skip
    for kind in kinds:
        if key in [widget.key for widget in kind]:
            return kind(key=key).set_value(value).run()
    bars = [*curve_specs(at), *(one.header for one in sheets(at))]
    if any(knob["key"] == key for spec in bars for knob in spec.get("knobs", ())):
        at.session_state[key] = value  # as the picture's bar tells it
        return at.run()
    raise AssertionError(f"no widget {key}")
