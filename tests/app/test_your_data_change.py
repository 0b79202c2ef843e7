"""Your data: what would have to be different in a row for its model to be sure."""

import re
import time

from gbuq_core.jobs import RUNNER, tick
from gbuq_core.lenses import changing
from gbuq_core.lenses.lens import CHANGE
from tests.app.your_data_page import csv_of, numbers, open_at_once, open_page, says, settle, texts


def found(at):
    """The page once all jobs have ended, also those that begin when another one has."""
    while RUNNER._live:
        settle(at)
    return settle(at)


def answer_of(at):
    sentences = [text for text in texts(at) if "of the rows stay below" in text]
    assert len(sentences) <= 1
    return sentences[0] if sentences else ""


def test_it_is_asked_for_and_answered_in_words():
    at = open_page(row="1")
    assert not answer_of(at)
    assert not any(slider.key == "level" for slider in at.slider)
    at.segmented_control(key="lens").set_value(CHANGE).run()
    found(at)
    assert not at.exception
    before = answer_of(at)
    assert re.search(r"If .+ were .+ instead of .+, total uncertainty would be", before)
    at.slider(key="level").set_value(5).run()
    found(at)
    assert answer_of(at) != before
    assert "that 5 % of the rows stay below" in answer_of(at)
    at.slider(key="level").set_value(40).run()
    found(at)
    changed = re.findall(r"(?:If|and) (.+?) were", answer_of(at).split(", total")[0])
    assert changed
    at.multiselect(key="fixed").set_value(changed).run()
    found(at)
    assert not at.exception
    assert not any(f"{name} were" in answer_of(at) for name in changed)


def test_the_uncertainty_is_the_one_that_rows_are_ranked_by():
    at = found(open_page(lens=CHANGE, rank="knowledge"))
    assert "knowledge uncertainty" in answer_of(at)
    at = found(open_page(lens=CHANGE, rank="error"))
    assert "total uncertainty" in answer_of(at)


def test_a_row_that_is_sure_enough_and_one_that_cannot_be():
    at = found(open_page(numbers(200), lens=CHANGE, least="true", level="95"))
    assert says(at, "already at or below")
    at = found(
        open_page(csv_of(x=[0.0, 1.0] * 40, y=[float(k % 7) for k in range(80)]), lens=CHANGE)
    )
    assert not at.exception
    assert says(at, "changes reaches") or answer_of(at)


def test_it_answers_for_other_engines():
    at = found(open_page(lens=CHANGE, engine="CatBoost"))
    assert answer_of(at)
    assert not at.exception


def test_a_long_search_is_beside_the_page_and_can_be_cancelled(monkeypatch):
    open_page()  # the table is trained before
    calls = []

    def slow(scored, *asked):
        calls.append(asked)
        while True:
            tick(0.0)  # ends here when it is cancelled

    monkeypatch.setattr(changing, "change_row", slow)
    at = open_at_once(lens=CHANGE, level="35")  # which no other test asks for
    assert any(button.key == "_jobs_cancel-change" for button in at.button)
    assert any(calls or time.sleep(0.05) for _ in range(600))  # a busy machine begins it late
    at.button(key="_jobs_cancel-change").click().run()
    assert says(at, "No change was found")
    assert not at.exception
    assert len(calls) == 1


def test_a_link_that_asks_for_what_is_not_there_is_told():
    at = open_page(level="500", fixed="height", lens="Smallest change")
    assert not at.exception
    for part in ("As sure as", "height", "Smallest change"):
        assert says(at, part), part
    settle(at)
    assert not RUNNER.busy
