"""The picture is drawn before what is folded."""

from pages._ui import experiment
from tests.app.experiment_page import curves, move, open_page


def test_a_page_draws_its_picture_before_what_is_folded_and_draws_the_same(monkeypatch):
    order = []

    def noted(name, do):
        return lambda *given, **named: (order.append(name), do(*given, **named))[1]

    # The page and its picture find them by name in each run.
    for name in ("_draw_single", "ask_behind"):
        monkeypatch.setattr(experiment, name, noted(name, getattr(experiment, name)))
    at = open_page("neighbours")
    assert order[:2] == ["_draw_single", "ask_behind"]
    order.clear()
    move(at, "k", 20)
    assert order == ["_draw_single", "ask_behind"]
    later = curves(at, "neighbours")
    afresh = open_page("neighbours", k="20")
    assert curves(afresh, "neighbours") == later
    stand, wanted = (
        [part.key for part in (*page.select_slider, *page.selectbox)] for page in (at, afresh)
    )
    assert stand == wanted
    assert "rows" in stand
