"""The pages of experiments as their tests see them: opened small, settled, moved and read."""

from gbuq_core.study.beyond import BEYOND
from gbuq_core.study.gaussians import GAUSSIANS
from gbuq_core.study.gaussians_race import count_runs
from gbuq_core.study.heart import HEART
from gbuq_core.study.heteroscedastic import HETEROSCEDASTIC
from gbuq_core.study.members import count_fits as study_fits
from gbuq_core.study.neighbours_fit import count_fits as neighbours_fits
from gbuq_core.study.novelty import NOVELTY
from gbuq_core.study.novelty_maps import count_fits as novelty_fits
from gbuq_core.study.soft_trees import SOFT_TREES
from gbuq_core.study.spiral import SPIRAL
from gbuq_core.study.two_clocks import TWO_CLOCKS
from gbuq_core.study.two_clocks_fit import count_fits as two_clocks_fits
from pages._ui.neighbours.controls import STATE as NEIGHBOURS
from pages._ui.study import state_of
from tests.app.drawn import curve_specs, sheets
from tests.app.opening import open_link, wait_for_warm_up
from tests.app.waiting import run_when_done

_STUDIES = (HEART, BEYOND, GAUSSIANS, HETEROSCEDASTIC, NOVELTY, TWO_CLOCKS, SPIRAL, SOFT_TREES)
STATES = {
    state.key: state
    for state in (
        *map(state_of, _STUDIES),
        NEIGHBOURS,
    )
}
SMALL = {
    "heart": {"rows": "30", "trees": "100", "members": "4", "step": "10"},
    "spiral": {
        "rows": "100", "members": "3", "trees": "50", "chain_trees": "100", "cycle": "20",
        "step": "10", "depth": "4",
    },
    "gaussians": {"steps": "2000"},
    "heteroscedastic": {
        "rows": "500", "trees": "20", "subsample": "0.2", "methods": "MACAU (basic)",
    },
    "soft_trees": {"rows": "50", "steps": "200", "depth": "2", "methods": "VST"},
    "neighbours": {"rows": "200", "trees": "20", "k": "15"},
    "novelty": {"rows": "200", "trees": "10"},
    "two_clocks": {"data": "wave", "rows": "100", "trees": "100", "members": "2"},
    "beyond": {"rows": "60"},
}  # fmt: skip
FITS = {
    "heart": study_fits,
    "spiral": study_fits,
    "gaussians": count_runs,
    "heteroscedastic": study_fits,
    "soft_trees": study_fits,
    "neighbours": neighbours_fits,
    "novelty": novelty_fits,
    "two_clocks": two_clocks_fits,
    "beyond": study_fits,
}
# How the picture in words begins; other texts are notes.
_PICTURES = ("81 cells", "Target: ", "Three arms")
_SILENT = ("gbuq_sliders", "gbuq_near")  # what watches sliders draws nothing, tables neither


def open_page(page, small=True, **query):
    at = open_link(page, {**(SMALL[page] if small else {}), **query})
    wait_for_warm_up()
    return settle(at)


def job_of(job):
    """The method that a job of Heart or Spiral trains."""
    return getattr(job.key[1], "method", "") if len(job.key) > 1 else ""


def settle(at):
    """Run again once nothing quick is being fitted."""
    return run_when_done(at, lambda job: job_of(job) != "catboost")


def move(at, key, value):
    """Turn a knob, also one of the picture's own bar, which is no widget."""
    kinds = (
        at.slider,
        at.select_slider,
        at.radio,
        at.toggle,
        at.multiselect,
        at.selectbox,
        at.number_input,
        at.text_input,
    )
    for kind in kinds:
        if key in [widget.key for widget in kind]:
            return kind(key=key).set_value(value).run()
    bars = [*curve_specs(at), *(sheet.header for sheet in sheets(at))]
    assert key in {knob["key"] for bar in bars for knob in bar.get("knobs", ())}, f"no widget {key}"
    at.session_state[key] = value
    return at.run()


def keys_of(at):
    """The keys of the widgets on a page."""
    kinds = (at.slider, at.select_slider, at.radio, at.toggle, at.multiselect, at.selectbox)
    return {widget.key for kind in kinds for widget in kind}


def sheet(at, which=0):
    """One of the page's sheets of maps: its name, or which one it is."""
    drawn = sheets(at)
    if isinstance(which, int):
        return drawn[which]
    return next(sheet for sheet in drawn if sheet.header["name"] == which)


def has_sheet(at, name):
    return name in [sheet.header["name"] for sheet in sheets(at)]


def curves(at, name):
    """The specification of the figure of curves with this name."""
    return next(spec for spec in curve_specs(at) if spec["name"] == name)


def titles(at, which=0):
    return [panel["title"] for panel in sheet(at, which).header["panels"]]


def values_of(at, title):
    return sheet(at).values[titles(at).index(title)]


def pictures(at):
    """All that is drawn, but not where the pictures' own knobs stand."""
    specs = [{key: spec[key] for key in spec if key != "knobs"} for spec in curve_specs(at)]
    return [*(sheet.header["digest"] for sheet in sheets(at)), *specs]


def drawn(at):
    """The bytes of everything that is drawn."""
    parts = [part.proto for part in at.get("bidi_component")]
    return [part.bytes for part in parts if part.component_name not in _SILENT]


def table(at, *starts):
    """The first table whose head begins like this."""
    return next(m.value for m in at.markdown if m.value.startswith(starts))


def words(at):
    return [text.value for text in at.text]


def notes(at):
    return [text for text in words(at) if not text.startswith(_PICTURES)]


def answers_of(at):
    """The sentences that a click gives more of."""
    return [popover.proto.popover.label for popover in at.get("popover")]
