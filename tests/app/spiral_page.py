"""The Spiral page as its tests see it: opening it small, waiting for fits, reading its figures."""

from gbuq_core.experiments.spiral.plan import SpiralSettings
from pages._ui.spiral.controls import STATE
from tests.app.opening import open_link
from tests.app.waiting import run_when_done
from tests.figure_readers import decode_sheet

SMALL = {
    "rows": "100", "members": "3", "trees": "50", "chain_trees": "100", "cycle": "20",
    "step": "10", "depth": "4",
}  # fmt: skip
SETTINGS = SpiralSettings(
    methods=("sglb", "csglb"), rows=100, members=3, trees=50, chain_trees=100, cycle=20, step=10,
    depth=4,
)  # fmt: skip
ALL = {"methods": ["SGLB", "virtual SGLB", "cSGLB", "cbSGLB"]}


def open_spiral(small=True, **query):
    return settle(open_link("spiral", {**(SMALL if small else {}), **query}))


def settle(at):
    """Run again once nothing is being fitted."""
    return run_when_done(at, lambda at: at.get("bidi_component"))


def sheet(at, which=0):
    """The picture, the point's charts, the ray's."""
    return decode_sheet(at.get("bidi_component")[which].proto.bytes)


def titles(at):
    return [panel["title"] for panel in sheet(at).header["panels"]]


def values_of(at, title):
    return sheet(at).values[titles(at).index(title)]


def notes(at):
    return [t.value for t in at.text if not t.value.startswith("Three arms")]


def words(at):
    return [t.value for t in at.text]


def move(at, key, value):
    for kind in (at.slider, at.select_slider, at.radio, at.toggle, at.multiselect):
        if key in [widget.key for widget in kind]:
            return kind(key=key).set_value(value).run()
    assert key in {knob.key for knob in STATE.knobs if knob.group == "picture"}, f"no widget {key}"
    at.session_state[key] = value  # as the picture's own bar tells it
    return at.run()
