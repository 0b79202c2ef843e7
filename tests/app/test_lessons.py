"""Learn through AppTest: cards, steps, links into the pages, bad links."""

from dataclasses import is_dataclass
from types import SimpleNamespace
from urllib.parse import parse_qs

import pytest
from lesson_parts import computed

from demos import load_lessons
from demos.teaching import TEACHING
from gbuq_core.jobs import JobRunner
from gbuq_core.settings import from_values
from gbuq_core.study.study import study_of
from pages._ui import jobs_glue
from pages._ui.knobs import read_knob
from pages._ui.lessons import step as step_of_page
from pages._ui.lessons.links import OPENERS
from pages._ui.neighbours import controls as neighbours_controls
from pages._ui.study import state_of
from pages._ui.your_data import controls as your_data_controls
from pages._ui.your_data.training import cut_of, plan_of
from tests.app.linked import link_of
from tests.app.opening import open_link
from tests.app.waiting import run_when_done
from tests.figure_readers import decode_sheet

HEART = load_lessons()[0]
CONTROLS = {
    **{
        name: SimpleNamespace(STATE=state_of(study_of(name)))
        for name in (
            *("heart", "beyond", "heteroscedastic", "novelty", "two_clocks", "spiral"),
            *("soft_trees", "gaussians"),
        )
    },
    "neighbours": neighbours_controls,
    "your_data": your_data_controls,
}


def open_lessons(**query):
    return settle(open_link("lessons", query or {"lesson": "Heart"}))


def folded(at):
    """What waits for an answer; the export is always there."""
    return [box.label for box in at.expander if box.label != "Export"]


def steps(at):
    """How many steps are answered."""
    return next(
        p.proto.popover.label for p in at.get("popover") if "Steps" in p.proto.popover.label
    )


def choose(at, name):
    """Go to the cards and open another lesson there."""
    button(at, None, "All lessons").click().run()
    at.query_params["lesson"] = name
    return settle(at.run())


def settle(at):
    """Run again once the step is computed."""
    return run_when_done(at)


def figures(at):
    """What is drawn from a step's numbers; another component only scrolls."""
    return [part.proto for part in at.get("bidi_component") if "_lesson_top" not in part.proto.id]


def digest(at):
    return decode_sheet(figures(at)[0].bytes).header["digest"]


def button(at, key, label=None):
    return next(b for b in at.button if b.key == key and label in (None, b.label))


def texts_of(at):
    return [m.value for m in at.markdown]


def test_a_step_asks_first_keeps_the_answer_and_compares_it():
    at = open_lessons()
    step = HEART.steps[0]
    shown = computed("heart", step.title)
    assert at.title[0].value == HEART.title
    assert at.header[0].value == f"1. {step.title}"
    assert {shown.text, f"**{step.question}**"} <= set(texts_of(at))
    assert not {shown.answer, *shown.more} & set(texts_of(at))  # nothing before the guess
    assert not folded(at)
    assert study_of("heart").python(step.preset).strip() in [c.value for c in at.code]
    options = [b.label for b in at.button if (b.key or "").startswith("_option:")]
    assert tuple(options) == step.ask
    settle(button(at, "_option:1:1").click().run())
    assert at.query_params["answers"] == "b"
    assert '**Not quite.** It is "Data". You chose "Knowledge".' in texts_of(at)
    assert {shown.answer, *shown.more} <= set(texts_of(at))
    settle(button(at, "_next").click().run())
    assert steps(at) == "Steps (1 of 8 answered)"
    settle(button(at, "_option:2:2").click().run())
    assert at.query_params["answers"] == "b.c"
    settle(button(at, "_back").click().run())
    settle(button(at, "_again:1").click().run())
    assert at.query_params["answers"] == ".c"
    assert not folded(at)
    # Another lesson begins without answers, and this one goes on where it was left.
    choose(at, "25 Gaussians")
    assert "answers" not in at.query_params
    choose(at, "Heart")
    assert at.query_params["answers"] == ".c"


def test_a_brushed_answer_of_a_link_is_compared_and_a_bad_one_is_said():
    at = open_lessons(lesson="Two clocks", answers="60-100.z")
    assert [t.value for t in at.text] == [
        'answers says "z" for step 2, which is not an answer to it; it is asked again.'
    ]
    (compared,) = [text for text in texts_of(at) if "share" in text]
    assert compared.startswith("**Partly.** Your range and the true one share ")
    assert steps(at) == "Steps (1 of 5 answered)"
    at = open_lessons(answers="<b>")
    assert at.text[0].value.startswith("answers must be")


def test_a_teachers_page_tells_every_step_and_opens_one():
    at = open_lessons(lesson="Heart", teacher="true")
    record = TEACHING["heart"]
    words = " ".join(texts_of(at))
    assert f"About {record.minutes} minutes" in words
    assert all(notes.ask in words and notes.wrong in words for notes in record.steps)
    assert [h.value for h in at.subheader][-1].startswith("8. How much is unknown")
    settle(button(at, "_open:2").click().run())
    assert at.header[0].value.startswith("2. ")
    assert "teacher" not in at.query_params


def test_next_back_and_the_contents_turn_the_steps():
    at = open_lessons()
    assert button(at, "_back").disabled
    first = digest(at)
    settle(button(at, "_option:1:1").click().run())
    assert digest(at) != first
    settle(button(at, "_next").click().run())
    settle(button(at, "_next").click().run())
    assert at.header[0].value.startswith("3. ")
    settle(button(at, "_back").click().run())
    assert at.header[0].value.startswith("2. ")
    settle(button(at, f"_part:{len(HEART.steps)}").click().run())
    assert at.header[0].value.startswith(f"{len(HEART.steps)}. ")
    assert button(at, "_next").disabled


def test_a_link_opens_its_step():
    at = open_lessons(part="4", lesson="Heart")
    assert at.header[0].value == f"4. {HEART.steps[3].title}"
    assert [t.value for t in at.text] == []


@pytest.fixture
def quick_steps(monkeypatch):
    """Steps show the first one of Heart: what each computes is looked at in tests/demos."""
    shown = computed("heart", HEART.steps[0].title)
    monkeypatch.setattr(step_of_page, "in_thread", lambda work: lambda job: shown)
    monkeypatch.setattr(jobs_glue, "RUNNER", JobRunner())


@pytest.mark.usefixtures("quick_steps")
def test_a_bare_address_shows_every_lesson_as_a_card_and_a_card_opens_it():
    at = open_link("lessons", {})
    assert not at.exception
    titles = [OPENERS[lesson.page].entry.title for lesson in load_lessons()]
    assert [link.proto.label.strip("*") for link in at.get("page_link")] == titles
    assert {lesson.title for lesson in load_lessons()} < {text.value for text in at.text}
    at = settle(open_link("lessons", {"lesson": "25 Gaussians"}))  # as the card's link does
    assert at.title[0].value == load_lessons()[1].title
    assert link_of(at) == "lesson=25+Gaussians"
    button(at, None, "All lessons").click().run()
    assert "lesson" not in at.query_params
    assert len(at.get("page_link")) == len(titles)


def test_what_is_asked_about_is_hidden_until_the_guess():
    at = open_lessons(lesson="Heart")
    shown = [panel["title"] for panel in decode_sheet(figures(at)[0].bytes).header["panels"]]
    assert shown == ["True noise"]
    settle(button(at, "_option:1:0").click().run())
    shown = [panel["title"] for panel in decode_sheet(figures(at)[0].bytes).header["panels"]]
    assert "SGLB: knowledge" in shown


@pytest.mark.usefixtures("quick_steps")
@pytest.mark.parametrize("lesson", load_lessons(), ids=lambda lesson: lesson.name)
def test_links_may_say_the_modules_name_and_then_say_the_pages(lesson):
    """The page rewrites the older name and runs anew, as if the link had said the page's name."""
    at = open_lessons(lesson=lesson.name, part="2")
    assert at.title[0].value == lesson.title
    assert at.header[0].value.startswith("2. ")
    assert [t.value for t in at.text] == []
    assert at.query_params["lesson"] == OPENERS[lesson.page].entry.title


@pytest.mark.parametrize(
    ("name", "text"),
    [("part", "0"), ("part", "99"), ("part", "x"), ("lesson", "<b>"), ("lesson", "HEARTS")],
)
def test_a_bad_parameter_is_said_and_the_first_step_shown(name, text):
    at = open_link("lessons", {name: text})
    at = settle(at) if name == "part" else at
    assert any(t.value.startswith(f"{name} must be") for t in at.text)
    assert name == "lesson" or at.header[0].value.startswith("1. ")


@pytest.mark.usefixtures("quick_steps")
def test_a_step_that_only_other_lessons_have_is_said_and_the_last_one_shown():
    at = open_lessons(lesson="Soft trees", part="8")
    notice = 'in this lesson, but the link says "8"; 6 is used for "Step".'
    assert [t.value.endswith(notice) for t in at.text] == [True]
    assert at.header[0].value.startswith("6. ")
    assert link_of(at) == "lesson=Soft+trees&part=6"


@pytest.mark.parametrize("lesson", load_lessons(), ids=lambda lesson: lesson.name)
def test_each_step_links_to_its_own_settings(lesson):
    controls = CONTROLS[lesson.page]
    for step in lesson.steps:
        query = OPENERS[lesson.page].query(step.preset)
        of_page = controls.KNOBS if lesson.name == "your_data" else controls.STATE.knobs
        values = {knob.key: knob.default for knob in of_page}
        knobs = {knob.key: knob for knob in of_page}
        for name, texts in parse_qs(query, keep_blank_values=True).items():
            values[name] = read_knob(knobs[name], texts).value
        namespace = SimpleNamespace(**values)
        if is_dataclass(step.preset):
            assert from_values(type(step.preset), values) == step.preset
            continue
        if lesson.name == "your_data":  # its settings are a recipe, whose plan says how to train
            recipe = step.preset.settings
            assert (namespace.table, namespace.section) == (recipe.source, step.preset.section)
            assert plan_of(namespace) == recipe.plan
            assert cut_of(recipe.plan, namespace) == recipe.cut
            assert namespace.conformal == recipe.conformal
            continue
        assert controls.settings_of(namespace) == step.preset.settings
        if hasattr(step.preset, "view"):
            assert controls.view_of(namespace) == step.preset.view
