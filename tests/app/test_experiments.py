"""What the page of every experiment does: its knobs, presets, files, and nothing to show."""

import csv
import io
import re
from html import unescape

import pytest

from gbuq_core.settings import from_values
from gbuq_core.study.gaussians_race import GaussiansSettings
from gbuq_core.study.heart import HeartSettings
from gbuq_core.study.heteroscedastic import CHOSEN, SCORES
from gbuq_core.study.heteroscedastic import PAPER as HETEROSCEDASTIC
from gbuq_core.study.soft_trees import PAPER, SoftTreesSettings
from gbuq_core.study.spiral import PAPER as SPIRAL
from pages._ui import skeleton
from tests.app.experiment_page import (
    FITS,
    SMALL,
    STATES,
    move,
    open_page,
    pictures,
    settle,
    words,
)
from tests.app.linked import link_of, values_of_link
from tests.app.novelty_page import ERASED

# What the page is opened with, and knobs that are turned one after the other.
VIEWS = {
    "heart": (
        {}, ("step", 20), ("start", 0.2), ("shown", "2"), ("unit", "variance"), ("log", False),
        ("scale", "own"),
    ),
    "spiral": (
        {"methods": ["virtual SGLB", "cSGLB"]}, ("step", 20), ("start", 0.2), ("burn_in", 2),
        ("points", "all maps"), ("flag", 20), ("log", False), ("scale", "own"), ("shown", "2"),
    ),
    "gaussians": (
        {"every": "true"}, ("shown", "counts"), ("scale", "own"), ("log", True), ("trail", False),
        ("outlines", True), ("charts", ["step sizes"]), ("samplers", ["SGLD"]),
    ),
    "heteroscedastic": (
        {}, ("show_total", True), ("show_data", False), ("show_knowledge", False), ("level", 0.5),
        ("own_scale", True), ("conformal", True), ("left_from", -4), ("right_to", 30),
        ("tail", "ends at 5.2"), *(("score", SCORES[key]) for key in CHOSEN[1:]),
        ("log", True), ("focus", True),
    ),
    "soft_trees": ({}, ("show", "bands"), ("shown", 5), ("draws", 50), ("draw_seed", 3)),
    "neighbours": (  # too few to be sure of: calibration widens the scale
        {"k": "3"}, ("calibrate", False), ("family", "Laplace"), ("k", "31"), ("tau", 10),
        ("order", "last"), ("x", 3.0), ("scales", (80, 100)),
    ),
    "novelty": (
        {"third": "true", "third_at": "4"}, ("third_at", 0.0), ("neighbours", 1),
        ("compared", ["Novelty", "Data uncertainty"]), ("show", "ranks among rows"),
        ("show", "own values"), ("log", True), ("tail", "clipped, as the authors'"), ("drawn", 1),
        ("column", 3.0), ("maps", ["Novelty", "Data uncertainty"]),
    ),
    "two_clocks": ({}, ("tails", "normal"), ("clocks", "100.5.plain")),
}  # fmt: skip
# Which plans use which knob is asked in tests/experiments and tests/study.
REFITTED = {
    "heart": (("trees", 50, 2), ("members", 5, 1), ("rate", 0.2, 2)),  # virtual: one model
    "spiral": (("noise", 0.2, 2), ("members", 4, 1), ("cycle", 50, 1)),
    "gaussians": (("seed", 3, 4), ("cycles", 10, 2), ("noise_nsgld", 2.0, 1)),
    "heteroscedastic": (("rows", 200, 1), ("noise_slope", 0.5, 1), ("trees", 10, 1)),
    "soft_trees": (("rows", 30, 1), ("depth", 1, 1)),
    "neighbours": (("leaves", 4, 1), ("library", "SGLB (one model)", 1)),
    "novelty": (("rows", 100, 2), ("leaf_model", "mean or share", 2), ("noise", 2, 2)),
    "two_clocks": (("data", "growing noise", 1), ("depth", 2, 1)),
    "beyond": (("edge", 5.0, 3), ("gap", 0.0, 3), ("noise", 0.5, 3)),
}


@pytest.mark.parametrize("page", VIEWS)
def test_a_knob_of_the_view_changes_the_picture_and_fits_nothing(page):
    query, *turns = VIEWS[page]
    at = open_page(page, **query)
    fits = FITS[page]()
    for key, value in turns:
        before = pictures(at)
        move(at, key, value)
        assert not at.exception, key
        assert not at.get("progress"), key
        assert pictures(at) != before, key
        assert FITS[page]() == fits, key


@pytest.mark.parametrize("page", REFITTED)
def test_a_knob_of_the_fit_fits_only_what_depends_on_it(page):
    at = open_page(page)
    for key, value, most in REFITTED[page]:
        before, fits = pictures(at), FITS[page]()
        settle(move(at, key, value))
        assert pictures(at) != before, key
        assert 0 < FITS[page]() - fits <= most, key


@pytest.mark.parametrize(
    ("page", "knob", "parts"),
    [
        ("heart", "methods", ("Choose a method",)),
        ("spiral", "methods", ("Choose a method",)),
        ("gaussians", "samplers", ("Scores appear",)),
        ("heteroscedastic", "methods", ("Choose a method in All settings to see its prediction.",)),
        ("soft_trees", "methods", ("Choose a method", "Choose VST or VSGBM")),
        ("novelty", "maps", ("No map is chosen. Choose one under All settings.",)),
    ],
)
def test_where_nothing_is_chosen_the_page_says_what_to_do(page, knob, parts):
    at = open_page(page, **{knob: ""})
    for part in parts:
        assert any(part in text for text in words(at)), part


@pytest.mark.parametrize(
    ("page", "name", "settings"),
    [
        ("heart", "Paper settings", HeartSettings(methods=("sgb", "sglb", "virtual_sglb"))),
        ("spiral", "Paper settings", SPIRAL),
        ("gaussians", "Paper settings", GaussiansSettings(noise=0.4)),  # appendix B.1
        ("gaussians", "Stable steps", GaussiansSettings(rate_clr=0.05, alpha_max=5.0)),
        ("heteroscedastic", "Paper settings", HETEROSCEDASTIC),
        ("soft_trees", "Paper settings", PAPER),
        ("soft_trees", "Your points", SoftTreesSettings(data="own", beta=8.0, restarts=10)),
    ],
)
def test_a_preset_is_what_its_name_says(page, name, settings):
    (preset,) = (preset for preset in STATES[page].presets if preset.name == name)
    assert from_values(type(settings), preset.values) == settings


GIVEN = [
    *((page, {"seed": "3"}) for page in SMALL),
    ("neighbours", {"seed": "3", "data": "Ripples", "scales": ["50", "100"]}),
    ("neighbours", {"data": "Wine: alcohol", "scales": ["50", "100"]}),
    ("novelty", {"seed": "0", "edits": ERASED}),
]


@pytest.mark.parametrize(("page", "query"), GIVEN)
def test_the_code_the_files_and_the_words_are_of_the_link(page, query, monkeypatch):
    offered = {}
    draw = skeleton.show_exports

    def keep(key, code, downloads):
        offered.update({download.file_name: download.make for download in downloads})
        offered["code"] = code
        return draw(key, code, downloads)

    monkeypatch.setattr(skeleton, "show_exports", keep)
    at = open_page(page, **query)
    values = values_of_link(STATES[page], link_of(at))
    assert all(str(getattr(values, key)) == text for key, text in query.items() if key == "seed")
    code = offered.pop("code")
    assert code.strip() in [block.value for block in at.code]
    assert "seed" not in query or re.search(rf"(state|seed)\W+{query['seed']}\b", code)
    (name,) = (name for name in offered if name.endswith(".html"))
    html = unescape(offered.pop(name)().decode())
    assert words(at)[-1] in html  # the picture in words
    assert code.strip() in html
    assert html.count("<h2>") >= 3
    assert "http" not in html.split("<script")[0].replace("http-equiv", "")
    assert offered
    for make in offered.values():
        head, *lines = csv.reader(io.StringIO(make()))
        assert lines
        assert {len(line) for line in lines} == {len(head)}
