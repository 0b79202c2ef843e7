"""The picture is drawn before the controls, but only where their values are known by then."""

from types import SimpleNamespace

import pytest

from pages._ui import address, picture_first, url_state
from pages._ui.neighbours import picture as neighbours_ui
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


def test_a_page_draws_its_picture_before_its_sidebar_and_draws_the_same(monkeypatch):
    order = []

    def noted(name, do):
        return lambda *given, **named: (order.append(name), do(*given, **named))[1]

    monkeypatch.setattr(url_state, "_draw_sidebar", noted("controls", url_state._draw_sidebar))
    # The page imports it by name, anew in each run.
    monkeypatch.setattr(neighbours_ui, "draw_picture", noted("picture", neighbours_ui.draw_picture))
    at = open_neighbours()
    assert order[:2] == ["controls", "picture"]
    order.clear()
    move(at, "k", 20)
    assert order == ["picture", "controls"]
    later = curves(at, "neighbours")
    afresh = open_neighbours(k="20")
    assert curves(afresh, "neighbours") == later
    stand, wanted = (
        [part.key for part in (*page.sidebar.select_slider, *page.sidebar.selectbox)]
        for page in (at, afresh)
    )
    assert stand == wanted
    assert "rows" in stand
