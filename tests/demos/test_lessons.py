"""Lessons: their form, their numbers, and one file that needs nothing else."""

import doctest
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from html import escape
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pytest
from lesson_parts import computed, with_computed_steps

import demos
from demos import NAMES, lesson, load_lessons, teaching
from demos.asking import Between, Brush, Brushed, Drawing, Largest, compare
from demos.lesson import ComputedStep, Lesson, Step, lesson_html, main
from demos.two_clocks import END, MAIN, _curves, _run, _score
from demos.your_data.steps import _top, two_kinds
from demos.your_data.tables import SEEDS, curves, detect, score_diabetes, split_errors
from gbuq_core.errors import InvalidParameter
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.panels import Panel, PanelSheet
from gbuq_core.settings import plan_of
from gbuq_core.study.heart import HEART
from gbuq_core.study.study import auroc_text
from tests.figure_readers import decode_sheet

ROOT = Path(__file__).resolve().parents[2]
STEPS = [(given, step) for given in load_lessons() for step in given.steps]


@pytest.mark.parametrize(
    "name",
    [each.name for each in walk_packages(demos.__path__, "demos.") if "__main" not in each.name],
)
def test_the_examples_in_the_docstrings_hold(name):
    assert doctest.testmod(import_module(name)).failed == 0


def test_every_lesson_has_a_teachers_page_and_at_least_one_brushes_and_one_draws():
    kinds = [type(step.ask) for _, step in STEPS]
    assert {tuple, Brush, Drawing} == set(kinds)
    assert set(teaching.TEACHING) == set(NAMES)
    for given in load_lessons():
        record = teaching.TEACHING[given.name]
        assert len(record.steps) == len(given.steps)
        assert all(notes.ask.endswith("?") or "? " in notes.ask for notes in record.steps)
        assert all(1 <= notes.minutes <= 5 for notes in record.steps)


def small_lesson(compute=None):
    shown = ComputedStep(
        "Look & see.",
        Largest((1.0, 2.0)),
        "It is <big>.",
        PanelSheet(panels=[Panel(title="A map", values=[[1.0, 2.0]])]),
        ["How it was <made>."],
    )
    step = Step("First", "What is it?", ("S & M", "Big"), None, compute or (lambda: shown))
    return Lesson("small", "A small lesson", "One step.", "heart", "Nobody (2026).", [step])


@pytest.mark.parametrize("given", load_lessons(), ids=lambda given: given.name)
def test_a_lesson_has_five_to_eight_steps_with_different_titles(given):
    assert 5 <= len(given.steps) <= 8
    assert len({step.title for step in given.steps}) == len(given.steps)
    assert all(step.question.endswith("?") for step in given.steps)


def seen_words(step, shown):
    """What a reader sees of a step, before the answer and after; the rest is folded."""
    options = step.ask if isinstance(step.ask, tuple) else ()
    texts = [step.title, shown.text, step.question, *options, "Right.", shown.answer]
    return len(" ".join(texts).split())


def other_numbers_give_other_verdicts(ask, right):
    """Each option is right for some numbers; a range or a curve is close only to itself."""
    if isinstance(right, Largest):
        n = len(right.values)
        made = [Largest(tuple(np.eye(n)[i])) for i in range(n)]
    elif isinstance(right, Between):
        ends = [-np.inf, *right.cuts, np.inf]
        assert right.cuts == tuple(sorted(right.cuts))
        made = [
            Between(max(low, min(high - 1e-6, 1e9)), right.cuts)
            for low, high in zip([-1e9, *right.cuts], ends[1:], strict=True)
        ]
    elif isinstance(right, Brushed):
        assert right.chart.x[0] < right.low < right.high <= right.chart.x[1]
        low, high = (
            (end - right.chart.x[0]) / (right.chart.x[1] - right.chart.x[0])
            for end in (right.low, right.high)
        )
        assert compare(ask, right, (low, high)).word == "Right."
        assert compare(ask, right, (0.0, low)).word == "Not quite."
        return
    else:
        low, high = right.chart.y
        assert ((low < right.y) & (right.y < high)).all()
        levels = (right.y - low) / (high - low)
        assert compare(ask, right, levels).word == "Close."
        assert compare(ask, right, np.zeros(len(levels))).word == "Not close."
        return
    assert [rule.index for rule in made] == list(range(len(ask)))
    words = [compare(ask, right, option).word for option in range(len(ask))]
    assert words.count("Right.") == 1
    assert words[right.index] == "Right."


# Where the question is about time, single trees or a chain's steps: their player is the knob.
OF_TIME = {
    "soft_trees": {"One tree or several", "What it costs"},
    "heteroscedastic": {"Data and knowledge", "Out of the rows", "Trees too much alike"},
    "heart": {"Watch it grow"},
    "gaussians": {step.title for given, step in STEPS if given.name == "gaussians"},
    "neighbours": {"Shared leaves", "Which trees count"},
    "two_clocks": {"The scale collapses", "Two best moments"},
}


def has_a_knob(given, step, header):
    """One in the picture's bar, or the slider of its frames."""
    seen = [knob["key"] for knob in header.get("knobs", ()) if knob["needs"] is None]
    if seen:
        return len(seen) == 1
    of_time = header["frameLabel"] in ("step", "tree", "trees", "training step")
    return header["frames"] > 1 and (not of_time or step.title in OF_TIME.get(given.name, ()))


def look_at_step(given, step):
    shown = computed(given.name, step.title)
    assert re.search(r"\d", shown.answer)
    assert "nan" not in " ".join([shown.text, shown.answer, *shown.more]).lower().split()
    assert seen_words(step, shown) <= 80
    other_numbers_give_other_verdicts(step.ask, shown.right)
    header = decode_sheet(encode_sheet(shown.sheet)).header
    # Training or a race can be played; of neighbours only what grows with trees or with k, of soft
    # trees some ranks and trees, of growing noise some levels, trees and methods;
    # of novelty before and after; two clocks has all numbers of trees in one map, and a table of
    # one's own has charts only; beyond has some ends of the rows.
    few = (
        "neighbours",
        "soft_trees",
        "heteroscedastic",
        "novelty",
        "two_clocks",
        "your_data",
        "beyond",
    )
    # Players step evenly through the logarithm of the trees: some twenty frames for 300 trees.
    assert header["frames"] >= 20 or given.name in few
    assert header["alt"]
    assert has_a_knob(given, step, header)


@pytest.mark.parametrize("given", load_lessons(), ids=lambda given: given.name)
def test_a_lesson_has_numbers_and_pictures_and_is_a_module_that_writes_them(
    given, tmp_path, monkeypatch
):
    """One test a lesson: its steps, minutes of work, are computed by one worker and only once."""
    for step in given.steps:
        look_at_step(given, step)
    out = tmp_path / "lesson.html"

    def write(lesson):
        return main(with_computed_steps(lesson), ["--out", str(out)])

    monkeypatch.setattr(lesson, "main", write)
    monkeypatch.delitem(sys.modules, f"demos.{given.name}")  # it has been imported
    with pytest.raises(SystemExit) as stop:
        runpy.run_module(f"demos.{given.name}", run_name="__main__")
    assert stop.value.code == 0
    page = out.read_text(encoding="utf-8")
    assert len(page) < 5_000_000
    assert page.count('class="figure" data-kind="sheet"') == len(given.steps)
    assert all(escape(step.title) in page for step in given.steps)


def test_the_numbers_of_the_heart_are_those_of_its_experiment():
    heart = load_lessons()[NAMES.index("heart")]
    by_title = {step.title: step for step in heart.steps}
    step = by_title["Small steps"]
    _, true, virtual = HEART.run(step.preset).numbers.values()
    answer = computed("heart", step.title).answer
    assert f"the virtual ensemble {auroc_text(virtual['auroc'])}" in answer
    assert f"Ten models have an AUROC of {auroc_text(true['auroc'])}" in answer
    step = by_title["One model instead of ten"]
    _, true, virtual = HEART.run(step.preset).numbers.values()
    answer = computed("heart", step.title).more[-1]
    assert f"cells it is {virtual['empty']:.2g}, with" in answer


def test_what_the_heart_lesson_says_is_so():
    """Its sentences are fixed; these are the facts that they rest on."""
    heart = load_lessons()[NAMES.index("heart")]
    presets = {step.title: step.preset for step in heart.steps}
    score = {
        title: [*HEART.run(preset).numbers.values()][1:]
        for title, preset in presets.items()
        if title in ("Where nothing was ever seen", "Small steps", "Take rows away")
    }
    assert score["Where nothing was ever seen"][0]["auroc"] == 1.0
    true, virtual = score["Small steps"]
    assert virtual["auroc"] < 0.95 < true["auroc"]
    slower = replace(presets["Small steps"], methods=("virtual_sglb",), rate=0.03)
    assert HEART.run(slower).numbers["virtual_sglb"]["auroc"] < 0.5
    longer = replace(slower, rate=0.1, trees=2000)
    assert HEART.run(longer).numbers["virtual_sglb"]["auroc"] > virtual["auroc"]
    assert score["Take rows away"][0]["auroc"] == 1.0


def test_texts_are_escaped_and_the_page_asks_for_nothing():
    page = lesson_html(small_lesson())
    assert "Look &amp; see." in page
    assert "It is &lt;big&gt;." in page
    assert "How it was &lt;made&gt;." in page
    assert page.index("S &amp; M</summary>") < page.index("Not quite.") < page.index("Right.")
    assert "1. First" in page
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)


def test_the_command_line_writes_one_file(tmp_path, capsys):
    out = tmp_path / "lesson.html"
    assert main(small_lesson(), ["--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "1 step" in capsys.readouterr().out


def test_what_cannot_be_written_or_computed_is_one_sentence(tmp_path, capsys):
    assert main(small_lesson(), ["--out", str(tmp_path / "none" / "lesson.html")]) == 2
    assert "cannot be written: No such file or directory." in capsys.readouterr().err

    def fail():
        raise InvalidParameter("depth must be smaller.")

    assert main(small_lesson(fail), ["--out", str(tmp_path / "lesson.html")]) == 2
    assert capsys.readouterr().err == "depth must be smaller.\n"
    assert not (tmp_path / "lesson.html").exists()


def test_the_output_must_be_named(capsys):
    with pytest.raises(SystemExit) as stop:
        main(small_lesson(), [])
    assert stop.value.code == 2
    assert "--out" in capsys.readouterr().err


# As ``python -m demos.gaussians`` does; the first step takes part of a second, all eight take ten.
PROGRAM = """
import runpy
from demos import lesson

write = lesson.main
lesson.main = lambda given: write(given._replace(steps=given.steps[:1]))
runpy.run_module("demos.gaussians", run_name="__main__", alter_sys=True)
"""


def test_a_lesson_runs_as_a_program(tmp_path):
    """One process and one step: what the others write beside the page is looked at in their own."""
    out = tmp_path / "lesson.html"
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, "--out", str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stderr == ""
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_one_factor_repairs_the_coverage_and_not_the_scores():
    assert plan_of(MAIN) == plan_of(END)
    run = _run(END)
    every, factor, clocks = (_score(run, way) for way in ("all", "factor", "clocks"))
    assert every.coverage < 0.6
    assert abs(factor.coverage - 0.9) < 0.06
    assert clocks.nll < factor.nll < every.nll
    assert clocks.crps < factor.crps < every.crps
    curves = _curves(run)
    assert curves.stated[-1] < 0.5 * curves.rmse[-1]
    assert curves.nll.argmin() < curves.rmse.argmin()


def test_noise_and_disagreement_are_mostly_in_different_rows():
    parts = [score_diabetes(seed).predictions.uncertainty for seed in SEEDS]
    shared = [len(_top(part.data) & _top(part.knowledge)) for part in parts]
    assert np.mean(shared) < len(parts[0].data) / 10 / 3


def test_the_picture_marks_the_rows_that_both_tenths_share():
    parts, sheet = score_diabetes(0).predictions.uncertainty, two_kinds().sheet
    (both,) = (line for line in sheet.strips[0].lines if line.name == "both")
    tenth = sheet.frame_values.index("10 % of the rows")
    assert np.isfinite(both.y[tenth]).sum() == len(_top(parts.data) & _top(parts.knowledge))


def test_unfamiliarity_finds_strange_rows_and_truncations_do_not():
    detected = detect()
    for scores in (detected.moved, detected.shuffled):
        assert scores[:, :2].max() < 0.8
        assert (scores.argmax(axis=1) == 2).all()
    assert detected.moved[:, 2].min() > 0.98


def test_a_random_split_flatters_and_a_split_by_patient_hardly():
    random, grouped, true = split_errors().mean(axis=0)
    assert random < 0.8 * true
    assert abs(grouped - true) < 0.1 * true


def test_verdicts_differ_with_the_noise_and_the_number_of_rows():
    words = {
        name: [curve.verdict().word for curve in several] for name, several in curves().items()
    }
    noisy, few, smooth = words.values()
    assert noisy.count("noise") >= 2
    assert few.count("undecided") >= 2
    assert smooth.count("more") >= 2
