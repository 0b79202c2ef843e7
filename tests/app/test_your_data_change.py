"""Your data: what would have to be different in a row for its model to be sure."""

import re
import time

from gbuq_core.jobs import RUNNER, tick
from gbuq_core.lenses import changing
from tests.app.your_data_page import csv_of, numbers, open_at_once, open_page, says, settle, texts


def answer_of(at):
    sentences = [text for text in texts(at) if "of the rows stay below" in text]
    assert len(sentences) <= 1
    return sentences[0] if sentences else ""


def test_it_is_asked_for_and_answered_in_words():
    at = open_page(row="1")
    assert not answer_of(at)
    assert not any(slider.key == "level" for slider in at.slider)
    at.segmented_control(key="lens").set_value("Smallest change").run()
    assert not at.exception
    before = answer_of(at)
    assert re.search(r"If .+ were .+ instead of .+, total uncertainty would be", before)
    at.slider(key="level").set_value(5).run()
    assert answer_of(at) != before
    assert "that 5 % of the rows stay below" in answer_of(at)
    at.slider(key="level").set_value(40).run()
    changed = re.findall(r"(?:If|and) (.+?) were", answer_of(at))
    assert changed
    at.multiselect(key="fixed").set_value(changed).run()
    assert not at.exception
    assert not any(f"{name} were" in answer_of(at) for name in changed)


def test_the_uncertainty_is_the_one_that_rows_are_ranked_by():
    at = open_page(change="true", rank="knowledge")
    assert "knowledge uncertainty" in answer_of(at)
    at = open_page(change="true", rank="error")
    assert "total uncertainty" in answer_of(at)


def test_a_row_that_is_sure_enough_and_one_that_cannot_be():
    at = open_page(numbers(200), change="true", least="true", level="95")
    assert says(at, "already at or below")
    at = open_page(csv_of(x=[0.0, 1.0] * 40, y=[float(k % 7) for k in range(80)]), change="true")
    assert not at.exception
    assert says(at, "No change of one or two values reaches") or answer_of(at)


def test_other_engines_are_refused_in_a_sentence():
    at = open_page(change="true", engine="CatBoost")
    assert says(at, "gbuq's own boosted ensembles")
    assert not at.exception


def test_a_long_search_is_beside_the_page_and_can_be_cancelled(monkeypatch):
    open_page()  # the table is trained before
    calls = []

    def slow(scored, *asked):
        calls.append(asked)
        while True:
            tick(0.0)  # ends here when it is cancelled

    monkeypatch.setattr(changing, "estimate_change", lambda scored: 60.0)
    monkeypatch.setattr(changing, "change_row", slow)
    at = open_at_once(change="true", level="35")  # which no other test asks for
    assert any(button.key == "_jobs_cancel-change" for button in at.button)
    assert any(calls or time.sleep(0.05) for _ in range(600))  # a busy machine begins it late
    at.button(key="_jobs_cancel-change").click().run()
    assert says(at, "No change was found")
    assert not at.exception
    assert len(calls) == 1


def test_a_link_that_asks_for_what_is_not_there_is_told():
    at = open_page(level="500", fixed="height", change="maybe")
    assert not at.exception
    for part in ("As sure as", "height", "change"):
        assert says(at, part), part
    settle(at)
    assert not RUNNER.busy
