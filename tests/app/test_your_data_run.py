"""The page "Your data": training that takes long waits for a press of Run."""

import time

from gbuq_core.jobs import current_job
from tests.app.your_data_page import drop, numbers, open_at_once, open_page, rows_of, says, settle


def button(at, label):
    return next((button for button in at.button if button.label == label), None)


def is_shown(at):
    """Whether a table was trained on and is drawn."""
    return any("Each dot is a row" in caption.value for caption in at.caption)


def endless(*args, **options):
    """A fit that ends when it is stopped."""
    while True:
        current_job().check()
        time.sleep(0.01)


def code_of(at):
    return next(code.value for code in at.code if "score_table" in code.value)


def test_long_training_waits_for_run_and_is_asked_about_once(monkeypatch):
    monkeypatch.setattr("gbuq_core.tables.settling.MOST_AT_ONCE", 0.0)
    at = drop(open_page(trees="2000", clocks="false"), numbers(n=57))
    assert not at.exception
    assert not is_shown(at)
    assert says(at, "so it waits for you to start it")
    assert says(at, "models of 2,000 trees on 46 rows")
    button(at, "Use 50 trees").click().run()
    assert not is_shown(at)
    button(at, "Run").click().run()
    settle(at)
    assert not at.exception
    assert len(rows_of(at)) == 57
    assert button(at, "Run") is None
    # A knob of the view asks nothing; one that trains asks, over the results before.
    at.radio(key="unit").set_value("variance").run()
    assert button(at, "Run") is None
    at.select_slider(key="trees").set_value(100).run()
    assert button(at, "Run") is not None
    assert says(at, "with the settings before your change.")
    at.select_slider(key="trees").set_value(50).run()  # pressed before
    settle(at)
    assert button(at, "Run") is None
    assert not says(at, "with the settings before your change.")
    # Cancel takes the press back.
    at.select_slider(key="trees").set_value(200).run()
    with monkeypatch.context() as patch:
        patch.setattr("pages._ui.your_data.training.score_table", endless)
        button(at, "Run").click().run()
        assert button(at, "Run") is None
        button(at, "Cancel").click().run()
        settle(at)
    assert button(at, "Run") is not None
    assert button(at, "Start again") is None
    assert not says(at, "Cancelled.")
    # Settings that are less work start at once.
    monkeypatch.setattr("gbuq_core.tables.settling.MOST_AT_ONCE", 1e99)
    settle(at.run())
    assert button(at, "Run") is None
    assert "n_trees=200" in code_of(at)


def test_trees_alone_are_offered_where_the_law_waits(monkeypatch):
    monkeypatch.setattr("gbuq_core.tables.settling.MOST_AT_ONCE", 6e7)
    at = drop(open_page(method="automatic"), numbers(n=57))
    assert not is_shown(at)
    button(at, "Use trees alone").click().run()
    settle(at)
    assert len(rows_of(at)) == 57
    assert at.selectbox(key="method").value == "SGLB"


def test_a_reload_does_not_ask_again(monkeypatch):
    monkeypatch.setattr("gbuq_core.tables.settling.MOST_AT_ONCE", 0.0)
    settings = {"table": "diabetes", "trees": "50", "depth": "1"}
    for presses in (1, 0):  # a reload is another session with the same token
        at = open_at_once(**settings)
        at.session_state["_data_token"] = "c" * 32
        at.run()
        if presses:
            assert not is_shown(at)
            button(at, "Run").click().run()
        settle(at)
        assert button(at, "Run") is None
        assert is_shown(at)
