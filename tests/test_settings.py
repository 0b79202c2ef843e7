"""The engine of settings records: what follows from a field that experiments do not ask for."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.settings import (
    Codec,
    arguments,
    check,
    differences,
    from_values,
    knobs_of,
    plan_of,
    setting,
    sliders,
    to_values,
)

LABELS = {"SGLB": "sglb", "SGB": "sgb"}
GUIDE = Path(__file__).parents[1] / "docs" / "code.md"


def read_marks(text):
    return tuple(map(int, text.split()))


def write_marks(marks):
    return " ".join(map(str, marks))


@dataclass(frozen=True, kw_only=True)
class Wave:
    methods: tuple[str, ...] = setting(("sglb",), "Methods", named=LABELS, most=2, each=True)
    rows: int = setting(400, "Training rows", choices=(100, 400), group="data", shrink=(1.0, 100))
    rate: float = setting(
        0.1, of="sglb.learning_rate", arg="learning_rate", choices=(0.1, 0.2),
        uses=lambda settings: settings.methods[0] == "sglb",
    )  # fmt: skip
    noise: bool | None = setting(
        None, "Noise", named={"automatic": None, "on": True}, arg="leaf_noise"
    )
    marks: tuple[int, ...] = setting(
        (),
        "Marks",
        codec=Codec(lambda text: tuple(map(int, text.split())), lambda x: " ".join(map(str, x))),
    )
    log: bool = setting(True, "Logarithmic", group="picture")
    reach: int = setting(9, "Reach", low=1, high=30, step=2, limits=(0, 99), group="page")
    judged: int = setting(50, "Test rows", group="page", offered=False)
    unknown: str = "no knob"


def test_each_field_becomes_the_knob_that_its_value_asks_for():
    kinds = {knob.key: knob.kind for knob in knobs_of(Wave)}
    assert kinds == {
        "methods": "choices",
        "rows": "ladder",
        "rate": "ladder",
        "noise": "choice",
        "marks": "text",
        "log": "switch",
        "reach": "integer",
    }
    assert sliders(Wave) == ("rows", "rate")
    assert Wave().unknown == "no knob"


def test_words_of_links_and_values_are_each_others_inverse():
    settings = Wave(methods=("sgb", "sglb"), noise=True, marks=(3, 7))
    values = to_values(settings)
    assert (values["methods"], values["noise"], values["marks"]) == (("SGB", "SGLB"), "on", "3 7")
    assert from_values(Wave, values) == settings


def test_a_plan_holds_what_its_method_uses_and_nothing_of_the_view():
    settings = Wave(methods=("sglb", "sgb"), rate=0.2, log=False)
    assert plan_of(settings, "sgb") == Wave(methods=("sgb",))
    assert plan_of(settings, "sglb") == Wave(methods=("sglb",), rate=0.2)
    assert arguments(plan_of(settings, "sglb")) == {"learning_rate": 0.2}  # automatic is left out
    assert arguments(plan_of(settings, "sgb")) == {}
    with pytest.raises(InvalidParameter, match="method must be"):
        plan_of(settings, "lightgbm")


def test_a_plan_of_several_methods_holds_what_any_of_them_uses_and_what_else_is_asked_for():
    settings = Wave(methods=("sgb", "sglb"), rate=0.2, log=False, judged=7)
    assert plan_of(settings, also=("judged",)) == Wave(methods=("sgb", "sglb"), rate=0.2, judged=7)
    assert plan_of(Wave(methods=("sgb",), rate=0.2)) == Wave(methods=("sgb",))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"reach": 100}, "reach must be a whole number at least 0 and at most 99; got 100."),
        ({"rate": 2.0}, "rate must be a number greater than 0 and at most 1; got 2.0."),
        ({"rows": 200}, "rows must be one of 100, 400; got 200."),
        ({"methods": ("gp",)}, "methods must be one of 'sglb', 'sgb'; got 'gp'."),
        ({"methods": ("sgb", "sgb")}, "methods must be at most 2 of SGLB, SGB; got "),
        ({"noise": 3}, "noise must be one of None, True; got 3."),
        ({"log": 1}, "log must be true or false; got 1."),
    ],
)
def test_an_impossible_value_is_refused_and_steps_of_sliders_are_not_asked_for(wrong, sentence):
    check(Wave(reach=98, rate=0.15))
    with pytest.raises(InvalidParameter) as refused:
        check(Wave(**wrong))
    assert str(refused.value).startswith(sentence)


def test_a_knob_is_shown_while_a_chosen_method_uses_it():
    (rate,) = (knob for knob in knobs_of(Wave) if knob.key == "rate")
    assert rate.when(to_values(Wave(methods=("sgb", "sglb"))))
    assert not rate.when(to_values(Wave(methods=("sgb",))))


def test_differences_are_written_for_people():
    sentences = differences(Wave(rows=100, noise=True), Wave())
    assert sentences == ("training rows 100 instead of 400", "noise on instead of automatic")
    here = differences(Wave(judged=7), Wave(), "{} {} (there {})")
    assert here == ("test rows 7 (there 50)",)


def test_a_value_that_the_record_does_not_know_is_refused():
    @dataclass(frozen=True, kw_only=True)
    class Deep:
        depth: int = setting(6, of="sglb.depth", high=99)

    with pytest.raises(InvalidParameter, match="depth must be a whole number from 1 to"):
        knobs_of(Deep)


def test_the_guides_example_says_what_follows():
    code = GUIDE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    *given, knobs, plan, arguments, fewer, link = code.strip().splitlines()
    names = {}
    exec(compile("\n".join(given), "code.md", "exec"), names)
    assert eval(knobs, names) == ["rows", "trees", "start"]
    assert eval(plan, names)
    assert eval(arguments, names) == {"n_trees": 300}
    assert eval(fewer, names) == 200
    assert eval(link, names) == {"rows": 800, "trees": 300, "start": 0.2}
