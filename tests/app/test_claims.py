"""Statements on a page, and ten seeds that nobody waits for."""

from streamlit.testing.v1 import AppTest

from pages._ui import claims, jobs_glue


def page():
    """One statement about the seed itself: it holds from seed 7 on."""
    from gbuq_core.experiments.claims import Threshold, judged
    from gbuq_core.experiments.seeds import SeedStudy
    from pages._ui.claims import draw_claims
    from tests.seed_parts import Small

    def check(run):
        level = Threshold("level", 7.0, 4.0)
        return (judged("It is large.", "it is.", run.seed, level, key="a:b"),)

    study = SeedStudy(
        name="made up", fit=lambda settings: settings, claims=check,
        sizes=Small(trees=100),
    )  # fmt: skip
    settings = Small(seed=8, trees=400)
    draw_claims(check(settings), study, settings, columns=1)


def html_of(at):
    return [block.proto.body for block in at.get("html")]


def test_seeds_wait_for_a_still_page():
    at = AppTest.from_function(page).run()
    assert html_of(at) == []
    assert "It is. Holds if the level is at least 7, partly from 4." in [
        c.value for c in at.caption
    ]
    at.run()  # another run of the page is no reason to start
    assert any("in a moment" in caption.value for caption in at.caption)
    assert not at.exception


def test_a_server_may_wait_until_it_is_asked_for_seeds(monkeypatch):
    monkeypatch.setattr(claims, "_STARTS", False)
    at = AppTest.from_function(page).run()
    assert any("waits until it is asked" in caption.value for caption in at.caption)
    at.button(key="_seeds_ask").click().run()
    assert any("in a moment" in caption.value for caption in at.caption)
    assert not at.exception


def test_seeds_are_counted_with_a_dot_each(monkeypatch):
    started = jobs_glue.ask_beside
    monkeypatch.setattr(claims, "ask_beside", lambda request, start, background: started(request))
    at = AppTest.from_function(page).run()
    for _ in range(100):
        if html_of(at):
            break
        at.run()
    (place,) = html_of(at)
    assert place.count('role="img"') == 10
    assert 'title="Seed 9: holds, level 9"' in place
    heads = [each.value for each in at.markdown]
    # One seed holds; the verdict is that of all.
    assert heads == ["**Holds in 3 of 10 seeds, partly in 3 (quicker settings).** It is large."]
    assert any(caption.value.startswith("This seed: it is.") for caption in at.caption)
    (caption_text,) = (caption.value for caption in at.caption if "Each dot" in caption.value)
    assert "trees 200 instead of 400" in caption_text
    at.button(key="_seeds_whole").click().run()  # these settings, however long they take
    for _ in range(100):
        if html_of(at):
            break
        at.run()
    assert at.markdown[0].value == "**Holds in 3 of 10 seeds, partly in 3.** It is large."
    assert not [button for button in at.button if button.key == "_seeds_whole"]
