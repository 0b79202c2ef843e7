"""What follows from a settings record, asked of every page that has one."""

from dataclasses import replace
from itertools import product

import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.knobs import problem_with, refusal_of
from gbuq_core.settings import (
    _each_of,
    _settings_of,
    from_values,
    knobs_of,
    plan_of,
    to_values,
)
from gbuq_core.study.beyond import BEYOND, BeyondSettings
from gbuq_core.study.gaussians import GAUSSIANS
from gbuq_core.study.gaussians_race import GaussiansSettings
from gbuq_core.study.heart import HEART, HeartSettings
from gbuq_core.study.heteroscedastic import HETEROSCEDASTIC, HeteroscedasticSettings
from gbuq_core.study.neighbours_fit import NeighboursSettings
from gbuq_core.study.novelty import NOVELTY
from gbuq_core.study.novelty_maps import NoveltySettings
from gbuq_core.study.soft_trees import SOFT_TREES, SoftTreesSettings
from gbuq_core.study.spiral import SPIRAL, SpiralSettings
from gbuq_core.study.two_clocks import TWO_CLOCKS
from gbuq_core.study.two_clocks_fit import TwoClocksSettings
from gbuq_core.study.wave import WaveSettings
from pages._ui.home.controls import STATE as HOME
from pages._ui.knobs import query_of, read_knob, why_not
from pages._ui.neighbours.controls import STATE as NEIGHBOURS
from pages._ui.study import state_of
from tests.app.experiment_page import SMALL
from tests.app.linked import values_of_link
from tests.app.opening import open_link

PAGES = {
    "gaussians": (state_of(GAUSSIANS), GaussiansSettings),
    "heart": (state_of(HEART), HeartSettings),
    "home": (HOME, WaveSettings),
    "heteroscedastic": (state_of(HETEROSCEDASTIC), HeteroscedasticSettings),
    "neighbours": (NEIGHBOURS, NeighboursSettings),
    "spiral": (state_of(SPIRAL), SpiralSettings),
    "novelty": (state_of(NOVELTY), NoveltySettings),
    "two_clocks": (state_of(TWO_CLOCKS), TwoClocksSettings),
    "beyond": (state_of(BEYOND), BeyondSettings),
    "soft_trees": (state_of(SOFT_TREES), SoftTreesSettings),
}
EACH_PAGE = pytest.mark.parametrize(("state", "kind"), PAGES.values(), ids=PAGES)
BAD = ("<b>x</b>", "nan", "1e9", "-1.5", "[x](javascript:0)", "x" * 300)


def moved(knob):
    """Another value that the knob may have."""
    match knob.kind:
        case "switch":
            return not knob.default
        case "choices":
            return tuple(choice for choice in knob.choices if choice not in knob.default)[:1]
        case "choice" | "ladder":
            return next(choice for choice in reversed(knob.choices) if choice != knob.default)
        case "range":
            return (int(knob.low), int(knob.low))
        case "text":
            return knob.default
        case _:
            end = knob.high if knob.high != knob.default else knob.low
            return int(end) if knob.kind == "integer" else float(end)


@EACH_PAGE
def test_the_page_offers_each_knob_and_its_default_is_possible(state, kind):
    assert set(knobs_of(kind)) <= set(state.knobs)
    assert [knob.key for knob in knobs_of(kind) if problem_with(knob, knob.default)] == []
    assert from_values(kind, {}) == kind()
    for preset in state.presets:
        for knob in knobs_of(kind):
            assert not problem_with(knob, preset.values.get(knob.key, knob.default)), knob.key


@EACH_PAGE
def test_a_link_restores_all_settings_and_a_default_needs_none(state, kind):
    assert query_of(kind()) == ""
    other = from_values(kind, {knob.key: moved(knob) for knob in knobs_of(kind)})
    assert other != kind()
    assert from_values(kind, vars(values_of_link(state, query_of(other)))) == other
    assert from_values(kind, to_values(other)) == other


@EACH_PAGE
def test_a_bad_parameter_is_refused_in_a_sentence(state, kind):
    for knob, text in product(state.knobs, BAD):
        reading = read_knob(knob, [text])
        problem = reading.problem
        if not problem:  # texts, and places below 0
            assert knob.kind in ("text", "number")
            assert not problem_with(knob, reading.value)
            continue
        assert problem.startswith(refusal_of(knob, text) or f"{knob.key} must be "), text
        assert reading.value is None


@EACH_PAGE
def test_a_knob_of_the_picture_refits_nothing(state, kind):
    fitted = {name for name, _, knob in _settings_of(kind) if knob.fitted}
    for knob in knobs_of(kind):
        if knob.key in fitted:
            assert knob.group in ("data", "method", "knobs", "page")
            continue
        after = from_values(kind, {knob.key: moved(knob)})
        for method in getattr(kind(), _each_of(kind), ("",)):
            assert plan_of(after, method) == plan_of(kind(), method)


@EACH_PAGE
def test_an_unknown_method_is_refused(state, kind):
    if name := _each_of(kind):
        with pytest.raises(InvalidParameter, match=f"{name[:-1]} must be one of"):
            plan_of(replace(kind(), **{name: ()}), "lightgbmm")


@pytest.mark.parametrize("page", PAGES)
def test_the_page_says_what_a_link_and_a_box_got_wrong(page):
    """A text that is no value is said while it stands in its box, where a page has one."""
    knobs = knobs_of(PAGES[page][1])
    key = next(knob.key for knob in knobs if knob.kind != "text" and knob.key != "data")
    small = {**SMALL.get(page, {}), **({"data": "Own points"} if page == "soft_trees" else {})}
    at = open_link(page, {**small, key: "<b>x</b>", "colour": "<img src=x>"})
    assert not at.exception
    notices = [text.value for text in at.text]
    assert any(text.startswith(f"{key} must be") for text in notices)
    assert any(text.endswith('ignores them: "colour".') for text in notices)
    assert "<" not in str(dict(at.query_params))
    boxes = {box.key for box in at.text_input}
    texts = [knob for knob in knobs if knob.key in boxes]
    assert texts or page not in ("heart", "soft_trees", "novelty")
    for knob in texts:
        at.text_input(key=knob.key).set_value("\u20ac 1").run()
        assert not at.exception
        assert [text.value for text in at.text].count(why_not(knob, "\u20ac 1")) == 1
