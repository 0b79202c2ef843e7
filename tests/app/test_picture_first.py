"""The picture is drawn before what is folded."""

from pages._ui.neighbours import picture as neighbours_ui
from pages._ui.neighbours import scorecard
from tests.app.neighbours_page import curves, move, open_neighbours


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
