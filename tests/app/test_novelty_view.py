"""What a knob of the Novelty maps page leaves alone, and what nobody sees."""

import re

from gbuq_core.experiments.novelty import experiment
from gbuq_core.experiments.novelty.edits import edit_of
from pages._ui import style
from pages._ui.novelty import edits as novelty_edits
from tests.app.experiment_page import move, open_page, settle
from tests.app.novelty_page import ERASED, LEFT


def test_knobs_of_the_view_check_no_claim_again(monkeypatch):
    at = open_page("novelty")
    checked = []
    own = experiment.check_novelty_claims
    monkeypatch.setattr(
        experiment,
        "check_novelty_claims",
        lambda *given: checked.append(given) or own(*given),
    )
    held = "The checks use z-scores that keep rising and the distance to 10 rows, whatever"
    assert not any(held in caption.value for caption in at.caption)
    assert any("The paper uses other data" in caption.value for caption in at.caption)
    for key, value in (("tail", "clipped, as the authors'"), ("neighbours", 2)):
        settle(move(at, key, value))
    assert any(held in caption.value for caption in at.caption)
    assert checked == []
    settle(move(at, "seed", 4))
    assert len(checked) == 1


def test_the_edits_are_no_control_that_anybody_sees():
    at = open_page("novelty", edits=ERASED)
    (settings,) = (fold for fold in at.expander if fold.label == "All settings")
    assert "edits" not in [box.key for box in settings.text_input]
    assert re.search(r"^\.st-key-novelty-unseen, [^{]*{\s*display: none;\s*}$", style._CSS, re.M)


def test_a_lasso_points_to_its_question_once():
    at = open_page("novelty")
    edit = edit_of("flip", LEFT)
    at.session_state[novelty_edits._WAITING] = at.session_state[novelty_edits._TOLD] = edit
    at.run()
    assert [toast.value for toast in at.toast] == [
        "Predict what will happen first: the questions are below the maps."
    ]
    assert not at.run().toast
