"""The picture is drawn before all that waits: scores, and controls whose values are known."""

from types import SimpleNamespace

import pytest

from pages._ui import address, picture_first
from pages._ui.neighbours import picture as neighbours_ui
from pages._ui.neighbours import scorecard
from tests.app.neighbours_page import curves, move, open_neighbours


@pytest.fixture
def context(monkeypatch):
    """A run of the page, by the reader's own doing or by the browser's Back."""
    run = SimpleNamespace(is_history_navigation=False)
    monkeypatch.setattr(address, "get_script_run_ctx", lambda: run)
    monkeypatch.setattr(picture_first.st, "session_state", {})
    return run


def test_the_picture_waits_for_controls_that_have_never_been_drawn(context):
    assert not picture_first.comes_first("spiral")
    picture_first.controls_stand("spiral")
    assert picture_first.comes_first("spiral")
    assert not picture_first.comes_first("heart")
    picture_first.reader_came("spiral")
    assert not picture_first.comes_first("spiral")


def test_going_back_reads_the_address_which_controls_do(context):
    picture_first.controls_stand("spiral")
    context.is_history_navigation = True
    assert not picture_first.comes_first("spiral")


def test_a_page_draws_its_picture_before_what_is_folded_and_draws_the_same(monkeypatch):
    order = []

    def noted(name, do):
        return lambda *given, **named: (order.append(name), do(*given, **named))[1]

    # The page imports it by name, anew in each run.
    for ui, name in ((neighbours_ui, "draw_picture"), (scorecard, "draw_scores")):
        monkeypatch.setattr(ui, name, noted(name, getattr(ui, name)))
    at = open_neighbours()
    assert order[:2] == ["draw_picture", "draw_scores"]
    order.clear()
    move(at, "k", 20)
    assert order == ["draw_picture", "draw_scores"]
    later = curves(at, "neighbours")
    afresh = open_neighbours(k="20")
    assert curves(afresh, "neighbours") == later
    stand, wanted = (
        [part.key for part in (*page.select_slider, *page.selectbox)] for page in (at, afresh)
    )
    assert stand == wanted
    assert "rows" in stand
