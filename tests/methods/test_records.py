"""Every record of a method: it names a class that takes what the record says, and is light."""

import ast
import inspect
import sys
from pathlib import Path

import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.figures.colour import HEX
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.knobs import problem_with
from gbuq_core.methods import (
    METHODS,
    TASKS,
    Builder,
    Method,
    declare_method,
    find_methods,
)
from gbuq_core.methods import record as record_module

SHARED = ("n_jobs", "random_state", "levels")  # arguments that most estimators take
ROOM = Path(record_module.__file__).parent
BUILDERS = [(key, task) for key, each in METHODS.items() for task in each.builders]


def takes_arguments(key, task):
    builder = METHODS[key].builder(task)
    own = inspect.signature(builder.load()).parameters
    if not builder.within:
        return own
    inner = inspect.signature(builder.fixed["estimator"].load()).parameters
    return {**{name: inner[name] for name in builder.within}, **own}


@pytest.mark.parametrize(("key", "task"), BUILDERS)
def test_a_class_takes_what_its_record_says(key, task):
    method, builder = METHODS[key], METHODS[key].builder(task)
    arguments = takes_arguments(key, task)
    assert set(builder.fixed) | set(builder.at_most) <= set(arguments)
    assert {name for name in SHARED if name in arguments} == set(builder.takes)
    if task != "ensemble" and key != "catboost":
        assert {knob.key for knob in method.knobs} <= set(arguments)
        assert not {knob.key for knob in method.knobs} & set(builder.fixed)


@pytest.mark.parametrize("key", METHODS)
def test_a_knob_starts_at_the_default_of_the_class(key):
    method = METHODS[key]
    arguments = takes_arguments(key, method.tasks[0])
    for knob in method.knobs:
        assert not problem_with(knob, knob.default), knob.key
        default = arguments[knob.key].default
        # None: the ensemble takes the rate and the subsample that suit its method.
        assert default == knob.default or default is None, knob.key


@pytest.mark.parametrize("key", METHODS)
def test_an_estimator_is_made_with_its_knobs(key):
    method = METHODS[key]
    if method.missing():
        pytest.skip(method.missing())
    for task in method.tasks:
        builder = method.builder(task)
        values = {knob.key: knob.default for knob in method.knobs}
        if key == "catboost" and task == "classification":
            values = {"n_trees": 40}
        values |= {name: 1 for name in builder.takes if name != "levels"}
        made = method.make(task, **values)
        for name, value in values.items():
            assert getattr(made.estimator if name in builder.within else made, name) == value
        for name, value in builder.fixed.items():
            assert isinstance(value, (Builder, tuple)) or getattr(made, name) == value


def test_a_method_is_told_by_its_key_its_label_and_its_look():
    records = METHODS.values()
    assert all(key == method.key for key, method in METHODS.items())
    assert len({method.label for method in records}) == len(METHODS)
    assert len({(method.colour, method.dash) for method in records}) == len(METHODS)
    assert all(HEX.fullmatch(method.colour) for method in records)


def test_a_record_says_what_it_is():
    for method in METHODS.values():
        assert method.about.endswith("."), method.key
        assert method.paper, method.key
        assert method.tasks, method.key
        assert method.yields, method.key
        assert bool(method.classes_yield) == ("classification" in method.tasks), method.key
        assert (method.most_rows is None) == (method.rows_reason == "")
        assert all(form in METHODS for form in method.forms)
        assert len({knob.key for knob in method.knobs}) == len(method.knobs)


def test_every_style_is_a_record_s():
    assert {key: tuple(style) for key, style in METHOD_STYLES.items()} == {
        key: (method.label, method.colour, method.dash) for key, method in METHODS.items()
    }


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_records_import_nothing_heavy(path):
    light = ("gbuq_core.methods", "gbuq_core.knobs", "gbuq_core.errors", "gbuq_core.validation")
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            ours = name.startswith(light)
            assert ours or name.split(".")[0] in sys.stdlib_module_names, name


@pytest.mark.parametrize("key", METHODS)
def test_gaps_are_told_as_the_estimator_tells_them(key):
    method = METHODS[key]
    if method.missing():
        pytest.skip(method.missing())
    tags = method.make(method.tasks[0]).__sklearn_tags__()
    assert tags.input_tags.allow_nan == (not method.complete)


def test_memory_grows_with_the_pairs_of_rows_where_they_are_kept():
    by_pairs = {key for key, method in METHODS.items() if method.fit_bytes(10_000, 1) > 1e9}
    assert by_pairs == {"gp"}


def test_what_a_method_cannot_do_is_one_sentence():
    for wrong, text in [
        (lambda: METHODS["gp"].make("classification"), "does regression, not classification"),
        (lambda: METHODS["sglb"].make(depth=40), "depth must be a whole number from 1 to 12"),
        (lambda: METHODS["sglb"].make(truncation_step=5), "knob must be one of"),
        (lambda: METHODS["sglb"].knob("colour"), "knob must be one of"),
    ]:
        with pytest.raises(InvalidParameter, match=rf"^[^\n]*{text}[^\n]*\.$"):
            wrong()
    assert METHODS["gp"].why_not(5000) == ""
    assert METHODS["gp"].why_not(5001).endswith("grows with the cube of the rows.")
    assert "cannot read missing values" in METHODS["gp"].why_not(50, gaps=True)
    assert METHODS["virtual_sglb"].why_not(10**6, gaps=True) == ""


def made_up(**changes):
    given = {
        "key": "made_up",
        "label": "Made up",
        "about": "It predicts the mean.",
        "paper": "None",
        "colour": "#123456",
        "builders": {"regression": Builder(of="no_such_package:Nothing")},
        "yields": ("total",),
        "packages": ("no_such_package",),
    }
    return Method(**{**given, **changes})


def test_a_package_that_is_missing_is_one_sentence():
    with pytest.raises(InvalidParameter, match="install the package no_such_package"):
        made_up().make()


@pytest.mark.parametrize(
    "changes",
    [{"key": "sglb"}, {"label": "SGLB"}, {"colour": "#0072b2"}],
    ids=["key", "label", "look"],
)
def test_a_method_is_declared_once(changes):
    with pytest.raises(InvalidParameter, match=r"already|would look like"):
        declare_method(made_up(**changes))
    assert "made_up" not in METHODS


def test_finding_methods():
    assert {each.key for each in find_methods("classification")} >= {"sglb", "vrf", "macau_linear"}
    assert "macau" not in {each.key for each in find_methods()}
    methods = find_methods("regression", yields=("knowledge", "functions"))
    assert [each.key for each in methods] == ["vst", "vsgbm", "xbart", "gp"]
    with pytest.raises(InvalidParameter):
        find_methods("clustering")
    assert set(TASKS) == {task for each in METHODS.values() for task in each.tasks}
