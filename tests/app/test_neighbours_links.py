"""What Neighbours reads from a link, writes into one, and gives away."""

from dataclasses import replace
from html import escape
from types import SimpleNamespace

import pytest

from gbuq_core.experiments.experiment import account_html
from gbuq_core.experiments.neighbours.experiment import NEIGHBOURS
from gbuq_core.experiments.neighbours.export import neighbours_code, neighbours_sections
from gbuq_core.experiments.neighbours.plan import NeighboursSettings
from gbuq_core.experiments.neighbours.scores import score_neighbours
from gbuq_core.experiments.neighbours.words import title_of
from gbuq_core.settings import from_values
from pages._ui.live import live_knobs
from pages._ui.neighbours.controls import STATE
from pages._ui.neighbours.picture import find
from tests.app.linked import link_of, values_of_link
from tests.app.neighbours_page import SETTINGS, open_neighbours


def test_a_link_restores_what_is_looked_at():
    at = open_neighbours(x="3.25", scales=["60", "90"])
    assert at.number_input(key="x").value == 3.25
    assert at.slider(key="scales").value == (60, 90)
    values = values_of_link(STATE, link_of(at))
    settings = from_values(NeighboursSettings, vars(values))
    assert settings == replace(SETTINGS, x=3.25, scales=(60, 90))
    python = neighbours_code(settings).strip()
    assert python in [code.value for code in at.code]


@pytest.mark.parametrize("data", ["Growing noise", "Ripples", "Wine: alcohol"])
def test_the_page_to_take_away_holds_picture_numbers_and_code(data):
    at = open_neighbours(data=data, scales=["50", "100"])
    values = values_of_link(STATE, "rows=200&trees=20&k=15")
    values.data, values.scales = data, (50, 100)
    last = at.session_state["_jobs_last"]["neighbours"]
    run = find(values, SimpleNamespace(result=last.result))
    scored = run._replace(scores=score_neighbours(run.fit, run.search, run.view, {}))
    sections = neighbours_sections(scored, live_knobs(STATE, values))
    page = account_html(NEIGHBOURS, scored, sections).decode()
    assert escape(title_of(run)) in page
    assert "IBUGRegressor(" in page
    assert "<td>" in page
    assert page.count("<h2>") >= 5
