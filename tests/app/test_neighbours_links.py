"""What Neighbours reads from a link, writes into one, and gives away."""

from dataclasses import replace
from html import escape
from types import SimpleNamespace

import pytest

from gbuq_core.experiments.neighbours.export import neighbours_code
from gbuq_core.experiments.neighbours.plan import NeighboursSettings
from gbuq_core.knobs import problem_with
from pages._ui.neighbours.controls import STATE, looks_of, query_of, settings_of
from pages._ui.neighbours.export import _html
from pages._ui.neighbours.picture import find
from tests.app.linked import values_of_link
from tests.app.neighbours_page import SETTINGS, curves, open_neighbours, words

BAD = {
    "data": "<b>x</b>",
    "rows": "7",
    "noise": "-1",
    "seed": "1.5",
    "library": "[x](javascript:0)",
    "trees": "1e9",
    "leaves": "nan",
    "depth": "many",
    "rate": "inf",
    "k": "1",
    "tau": "0",
    "order": "middle",
    "map": "nothing",
    "calibrate": "perhaps",
    "scoring": "rmse",
    "family": "cauchy",
    "compare": "everything",
    "x": "1e999",
    "wave_x": "-1",
    "x1": "nan",
    "x2": "2",
    "diabetes_row": "0",
    "wine_row": "37",
    "diabetes_by": "<img src=x>",
    "wine_by": "age",
    "scales": "80",
    "scales_of": "cells",
}


def test_bad_parameters_are_said_and_the_defaults_used():
    assert BAD.keys() == {knob.key for knob in STATE.knobs}
    at = open_neighbours(small=False, **BAD, what="1")
    said = "\n".join(words(at))
    for knob in STATE.knobs:
        assert f"{knob.key} must be" in said
    assert '"what"' in said
    assert curves(at, "neighbours")
    values = SimpleNamespace(**{knob.key: knob.default for knob in STATE.knobs})
    assert settings_of(values) == NeighboursSettings(point=(7.0,))


@pytest.mark.parametrize(
    "settings",
    [
        NeighboursSettings(point=(3.25,), k=31, tau=10, order="last", calibrate=False),
        NeighboursSettings(data="ripples", rows=400, noise=0.5, seed=4, point=(0.25, -0.5)),
        NeighboursSettings(data="wine", library="catboost", depth=6, chosen=11, family="kde"),
        NeighboursSettings(
            data="diabetes", trees=500, rate=0.03, leaves=31, scoring="crps", chosen=0,
            family="best", baselines=("knn", "ibug_cbu"),
        ),
    ],
)  # fmt: skip
def test_a_link_of_settings_says_them_back(settings):
    assert settings_of(values_of_link(STATE, query_of(settings))) == settings


def test_every_default_lies_in_its_knobs_range():
    for knob in STATE.knobs:
        assert not problem_with(knob, knob.default), knob.key


@pytest.mark.parametrize("preset", STATE.presets, ids=lambda preset: preset.name)
def test_presets_are_values_that_knobs_can_have(preset):
    knobs = {knob.key: knob for knob in STATE.knobs}
    for key, value in preset.values.items():
        assert not problem_with(knobs[key], value)


def test_a_link_restores_what_is_looked_at():
    at = open_neighbours(x="3.25", scales=["60", "90"])
    assert at.number_input(key="x").value == 3.25
    assert at.slider(key="scales").value == (60, 90)
    link = next(code.value for code in at.code if "scales=60&scales=90" in code.value)
    values = values_of_link(STATE, link.split("?")[1])
    assert looks_of(values, "heteroscedastic").point == (3.25,)
    python = neighbours_code(replace(SETTINGS, point=(3.25,))).strip()
    assert python in [code.value for code in at.code]


@pytest.mark.parametrize("data", ["Growing noise", "Ripples", "Wine: alcohol"])
def test_the_page_to_take_away_holds_picture_numbers_and_code(data):
    at = open_neighbours(data=data, scales=["50", "100"])
    values = values_of_link(STATE, "rows=200&trees=20&k=15")
    values.data, values.scales = data, (50, 100)
    last = at.session_state["_jobs_last"]["neighbours"]
    found = find(values, SimpleNamespace(result=last.result))
    page = _html(found).decode()
    assert escape(found.words.split(":")[0].split(" of ")[0]) in page
    assert "IBUGRegressor(" in page
    assert "<td>" in page
    assert page.count("<h2>") >= 5
