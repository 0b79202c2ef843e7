"""Links, presets and page changes, through pages that exist only for this test."""

from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementTree

from gbuq_core.knobs import problem_with
from gbuq_core.study.beyond import BEYOND
from gbuq_core.study.gaussians import GAUSSIANS
from gbuq_core.study.heart import HEART
from gbuq_core.study.heteroscedastic import HETEROSCEDASTIC
from gbuq_core.study.novelty import NOVELTY
from gbuq_core.study.soft_trees import SOFT_TREES
from gbuq_core.study.spiral import SPIRAL
from gbuq_core.study.two_clocks import TWO_CLOCKS
from pages._ui.home.controls import STATE as HOME
from pages._ui.neighbours.controls import STATE as NEIGHBOURS
from pages._ui.study import state_of
from pages._ui.your_data.state import page_state

_STUDIES = (HEART, BEYOND, GAUSSIANS, HETEROSCEDASTIC, NOVELTY, TWO_CLOCKS, SPIRAL, SOFT_TREES)
STORIES = {
    state.key: state
    for state in (
        *map(state_of, _STUDIES),
        NEIGHBOURS,
        page_state([], "", 0),
    )
}
PAGES = {**STORIES, "home": HOME}
APPS = Path(__file__).parent / "apps"
APP = str(Path(__file__).resolve().parents[2] / "app.py")


def open_app(**query):
    at = AppTest.from_file(str(APPS / "two_pages.py"), default_timeout=30)
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


def shown_values(at):
    text = next(t.value for t in at.text if t.value.startswith("values "))
    return dict(eval(text.removeprefix("values "), {"__builtins__": {}}))


def shown_link(at):
    text = next(t.value for t in at.text if t.value.startswith("link ["))
    return text.removeprefix("link [").removesuffix("]")


def notices(at):
    return [t.value for t in at.text if not t.value.startswith(("values ", "link ["))]


def test_a_bare_address_gives_the_defaults_and_no_notice():
    at = open_app()
    assert not at.exception
    assert notices(at) == []
    values = shown_values(at)
    assert (values["rows"], values["methods"], values["trees"]) == (100, ("SGB",), 100)
    assert dict(at.query_params) == {}
    assert shown_link(at) == ""


def test_a_link_restores_every_kind_of_knob():
    query = {
        "rows": "300",
        "methods": ["SGLB", "vRF"],
        "method": "virtual SGLB",
        "trees": "500",
        "rate": "0.25",
        "noise": "10",
        "seed": "7",
        "step": "20",
        "cells": "3,40",
        "log": "true",
        "level": "0.5",
        "map": "SGB: data",
    }
    at = open_app(**query)
    assert not at.exception
    assert notices(at) == []
    assert shown_values(at) == {
        "rows": 300,
        "methods": ("SGLB", "vRF"),
        "method": "virtual SGLB",
        "trees": 500,
        "rate": 0.25,
        "noise": 10.0,
        "seed": 7,
        "step": 20,
        "cells": "3,40",
        "log": True,
        "level": 0.5,
        "map": "SGB: data",
    }
    given = {name: text if isinstance(text, list) else [text] for name, text in query.items()}
    assert parse_qs(shown_link(at).removeprefix("?")) == given


@pytest.mark.parametrize(
    ("name", "text", "used"),
    [
        ("rows", "31", "100 is used"),
        ("methods", ["SGB", "SGLB", "vRF"], "SGB is used"),
        ("method", "<b>x</b>", "SGB is used"),
        ("trees", "5000", "100 is used"),
        ("trees", "-1", "100 is used"),
        ("trees", "many", "100 is used"),
        ("trees", "nan", "100 is used"),
        ("trees", "", "100 is used"),
        ("trees", "12.7", "100 is used"),
        ("trees", ["3", "4"], "100 is used"),
        ("rate", "inf", "0.1 is used"),
        ("seed", "1e999", "0 is used"),
        ("cells", "drop table", "nothing is used"),
        ("log", "maybe", "false is used"),
    ],
)
def test_a_bad_parameter_is_named_and_what_is_used_is_said(name, text, used):
    at = open_app(**{name: text})
    assert not at.exception
    (sentence,) = notices(at)
    assert sentence.startswith(name)
    assert used in sentence


def test_a_notice_names_the_parameter_and_the_control():
    (sentence,) = notices(open_app(rate="7"))
    assert sentence == (
        'rate must be a number from 0.01 to 1 in steps of 0.01, but the link says "7"; '
        '0.1 is used for "Learning rate".'
    )


@pytest.mark.parametrize(
    ("query", "name", "value", "text"),
    [
        ({"noise": "3"}, "noise", 3.0, "3"),
        ({"noise": "3.0"}, "noise", 3.0, "3"),
        ({"noise": "0.30"}, "noise", 0.3, "0.3"),
        ({"rows": "3e2"}, "rows", 300, "300"),
        ({"method": "Virtual sglb"}, "method", "virtual SGLB", "virtual SGLB"),
        ({"methods": ["SGLB", "sglb"]}, "methods", ("SGLB",), "SGLB"),
    ],
)
def test_another_spelling_is_read_and_kept_as_the_widget_writes_it(query, name, value, text):
    at = open_app(**query)
    assert not at.exception
    assert notices(at) == []
    assert shown_values(at)[name] == value
    # In the address too: a reload is the same page.
    assert at.query_params[name] in (text, [text])
    assert shown_values(at.run())[name] == value


def test_back_to_another_spelling_is_answered_in_a_sentence():
    at = open_app()
    at.query_params["noise"] = "3.0"
    (sentence,) = notices(at.run())
    assert sentence == 'noise is written "3" in links; 1 is used for "Noise".'


def test_steps_of_a_ladder_are_shown_without_needless_decimals():
    assert open_app().select_slider(key="noise").options == ["0", "0.3", "1", "3", "10"]


def test_unknown_parameters_are_named_and_leave_the_address():
    at = open_app(**{"<img src=x>": "1", "trees": "7"})
    assert "<img src=x>" in notices(at)[0]
    assert dict(at.query_params) == {"trees": "7"}
    assert shown_values(at)["trees"] == 7


def test_a_notice_stays_until_a_control_moves():
    at = open_app(trees="5000")
    assert notices(at)
    assert notices(at.run())
    assert notices(at.slider(key="trees").set_value(300).run()) == []


def test_presets_and_reset_set_every_knob():
    at = open_app(rate="0.5")
    at.button(key="_preset:left:Paper settings").click().run()
    values = shown_values(at)
    assert (values["trees"], values["method"], values["rate"]) == (1000, "virtual SGLB", 0.1)
    at.button(key="_preset:left:Reset").click().run()
    assert shown_link(at) == ""
    assert at.button(key="_preset:left:Reset").disabled


@pytest.mark.parametrize(("preset", "step"), [("Paper settings", 80), ("Reset", 50)])
def test_presets_win_over_what_a_link_says_of_hidden_knobs(preset, step):
    at = open_app(step="20", rate="0.5")
    assert "step" not in [s.key for s in at.slider]
    at.button(key=f"_preset:left:{preset}").click().run()
    assert not at.exception
    values = shown_values(at)
    assert (values["step"], values["rate"]) == (step, 0.1)
    assert ("step" in parse_qs(shown_link(at).removeprefix("?"))) == (step != 50)
    assert "20" not in at.query_params.values()
    at.radio(key="method").set_value("virtual SGLB").run()
    assert at.slider(key="step").value == step


def test_a_knob_of_the_picture_has_no_widget_and_keeps_its_parameter():
    at = open_app(level="0.5", log="true")
    assert (shown_values(at)["level"], "".join(at.query_params["level"])) == (0.5, "0.5")
    at.session_state["level"] = 0.8  # as the picture's bar tells it
    at.run()
    assert (shown_values(at)["level"], "".join(at.query_params["level"])) == (0.8, "0.8")
    at.session_state["level"] = 0.9
    assert "level" not in at.run().query_params
    at.session_state["level"] = 0.5
    at.run().button(key="_preset:left:Reset").click().run()
    assert (shown_values(at)["level"], shown_link(at)) == (0.9, "")
    assert "level" not in at.query_params


def presented(at):
    """The step that the address names, the sentence beside it, and two knobs."""
    values = shown_values(at)
    notice = next((text for text in notices(at) if text.endswith(" of 3)")), "")
    return "".join(at.query_params.get("present", [])), notice, values["trees"], values["noise"]


def test_present_mode_steps_through_the_story_and_leaves():
    at = open_app(rate="0.5", trees="6")
    at.button(key="_present").click().run()
    assert presented(at) == ("1", "Your own settings. (1 of 3)", 6, 1.0)
    at.button(key="_present_next").click().run()
    assert presented(at) == ("2", "Six trees. (2 of 3)", 6, 1.0)
    at.button(key="_present_next").click().run()
    assert presented(at) == ("3", "Noise. (3 of 3)", 100, 10.0)  # what step 2 set is undone
    assert at.button(key="_present_next").disabled
    assert "".join(at.query_params["map"]) == "SGB: data"
    at.session_state["map"] = "SGB: knowledge"  # whoever turns to another map still sees the step
    at.run()
    assert "".join(at.query_params["map"]) == "SGB: knowledge"
    assert presented(at)[1] == "Noise. (3 of 3)"
    assert shown_values(at)["rate"] == 0.5  # no step names it
    at.button(key="_present_back").click().run()
    assert presented(at) == ("2", "Six trees. (2 of 3)", 6, 1.0)
    at.button(key="_present_leave").click().run()
    assert presented(at) == ("", "", 6, 1.0)
    assert at.button(key="_present")


def test_present_mode_stays_on_the_next_page_and_a_link_opens_its_step():
    at = open_app(present="3")
    assert presented(at) == ("3", "Noise. (3 of 3)", 100, 10.0)
    at.query_params.clear()  # as the browser does on the way to another page
    at.switch_page("right.py").run()
    assert "".join(at.query_params["present"]) == "1"
    at.button(key="_present_leave").click().run()
    assert "present" not in at.query_params
    # With other knobs in the link, their values count.
    assert presented(open_app(present="3", noise="0.3"))[1:] == (
        "Your own settings. (3 of 3)",
        100,
        0.3,
    )
    (sentence,) = notices(open_app(present="9"))
    assert sentence.startswith("present must be a whole number from 0 to 3")


@pytest.mark.parametrize("page", STORIES)
def test_each_step_of_a_story_sets_what_its_page_can_show(page):
    state = STORIES[page]
    knobs = {knob.key: knob for knob in state.knobs}
    assert state.picture
    assert 2 <= len(state.story) < 7
    for step in state.story:
        assert step.says.endswith((".", "?"))
        assert [key for key, value in step.values.items() if problem_with(knobs[key], value)] == []
    assert len({str(dict(step.values)) for step in state.story}) == len(state.story)


def test_a_preset_leaves_alone_what_it_keeps_and_reset_does_not():
    at = open_app(cells="3,40", rate="0.5")
    at.button(key="_preset:left:Paper settings").click().run()
    assert (shown_values(at)["cells"], shown_values(at)["rate"]) == ("3,40", 0.1)
    at.button(key="_preset:left:Reset").click().run()
    assert shown_values(at)["cells"] == ""


def test_a_preset_keeps_what_a_fragment_changed_after_its_button_was_drawn():
    at = open_app(cells="3,40")
    left = at.session_state["_values:left"]  # where a fragment that reads knobs again leaves them
    at.session_state["_values:left"] = {**left, "cells": "5,6"}
    at.button(key="_preset:left:Paper settings").click().run()
    assert shown_values(at)["cells"] == "5,6"


def test_all_can_be_chosen_at_once_only_where_all_may_be_chosen():
    assert open_app().multiselect(key="methods").proto.select_all == 0  # three, at most two


def test_a_page_can_set_its_own_knobs():
    at = open_app()
    next(b for b in at.button if b.label == "Six trees").click().run()
    assert not at.exception
    assert shown_values(at)["trees"] == 6
    assert shown_link(at) == "?trees=6"


def test_a_typed_text_that_does_not_fit_is_said_and_not_used():
    at = open_app()
    at.text_input(key="cells").set_value("1,,2").run()
    assert shown_values(at)["cells"] == ""
    assert any(n.startswith("Cells must be numbers and commas") for n in notices(at))


def test_pages_with_the_same_parameter_do_not_leak_into_each_other():
    at = open_app(trees="700")
    at.query_params.clear()
    at.switch_page("right.py").run()
    assert not at.exception
    assert shown_values(at) == {"trees": 20}
    at.slider(key="trees").set_value(33).run()
    at.switch_page("left.py").run()
    assert shown_values(at)["trees"] == 700
    at.switch_page("right.py").run()
    assert shown_values(at) == {"trees": 33}


def run_with_unknown_choices(at, monkeypatch):
    """A run for which the browser sends choices that no knob has, as after an update."""
    usual = ElementTree.get_widget_states

    def unknown(tree):
        states = usual(tree)
        for state in states.widgets:
            if state.WhichOneof("value") == "string_value":
                state.string_value = "no such"
            elif state.WhichOneof("value") == "string_array_value":
                state.string_array_value.data[:] = ["no such"]
        return states

    with monkeypatch.context() as patch:
        patch.setattr(ElementTree, "get_widget_states", unknown)
        return at.run()


def test_a_choice_that_its_knob_does_not_know_gives_way_and_is_told_of(monkeypatch):
    at = run_with_unknown_choices(open_app(trees="300"), monkeypatch)
    assert not at.exception
    values = shown_values(at)
    assert (values["method"], values["methods"], values["trees"]) == ("SGB", ("SGB",), 300)
    sentence = next(text for text in notices(at) if text.startswith("Method must"))
    assert sentence == (
        'Method must be one of SGB, virtual SGLB; "no such" is not; SGB is used for "Method".'
    )
    assert sentence in notices(at.run())
    assert sentence not in notices(at.slider(key="trees").set_value(200).run())


@pytest.mark.parametrize("page", PAGES)
def test_values_that_no_knob_knows_reach_no_settings(page, monkeypatch):
    at = AppTest.from_file(APP, default_timeout=120)
    at.switch_page(f"pages/{page.replace('-', '_')}.py")
    if page == "your-data":
        at.query_params["table"] = "diabetes"  # without one it shows no choices
    for knob in PAGES[page].knobs:  # of another page: nobody needs to hear of them
        if knob.kind != "text":
            at.session_state[knob.key] = ["no such"] if knob.kind == "choices" else "no such"
    at.run()
    assert not at.exception
    assert not any("no such" in text.value for text in at.text)
    chosen = [*at.radio, *at.selectbox, *at.multiselect]
    run_with_unknown_choices(at, monkeypatch)
    assert not at.exception
    assert any("no such" in text.value for text in at.text) or not chosen


def test_a_hidden_knob_keeps_its_value():
    at = open_app(method="virtual SGLB", step="20")
    at.radio(key="method").set_value("SGB").run()
    assert "step" not in [s.key for s in at.slider]
    at.radio(key="method").set_value("virtual SGLB").run()
    assert shown_values(at)["step"] == 20


def test_a_box_of_whole_numbers_keeps_what_is_typed():
    at = open_app()
    at.number_input(key="seed").set_value(9).run()
    assert shown_values(at.run())["seed"] == 9
    at.button(key="_preset:left:Reset").click().run()
    assert shown_values(at)["seed"] == 0


@pytest.mark.parametrize(("typed", "kept"), [(12.7, 13), (12.5, 13), (12.2, 12)])
def test_a_box_of_whole_numbers_rounds_on_entry(typed, kept):
    at = open_app()
    at.number_input(key="seed").set_value(typed).run()
    assert notices(at) == []
    assert shown_values(at)["seed"] == kept
    assert at.number_input(key="seed").value == kept
    assert shown_link(at) == f"?seed={kept}"
