"""What a knob of the Novelty maps page leaves alone."""

from gbuq_core.study import novelty
from tests.app.experiment_page import move, open_page, settle


def test_knobs_of_the_view_check_no_claim_again(monkeypatch):
    at = open_page("novelty")
    checked = []
    own = novelty.one_ellipse
    monkeypatch.setattr(novelty, "one_ellipse", lambda view: checked.append(view) or own(view))
    held = "The checks use z-scores that keep rising and the distance to 10 rows, whatever"
    assert not any(held in caption.value for caption in at.caption)
    assert any("The paper uses other data" in caption.value for caption in at.caption)
    for key, value in (("tail", "clipped, as the authors'"), ("neighbours", 2)):
        settle(move(at, key, value))
    assert any(held in caption.value for caption in at.caption)
    assert checked == []
    settle(move(at, "seed", 4))
    assert len(checked) == 1
