"""Lessons: their form, their numbers, and one file that needs nothing else."""

import doctest
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path

import pytest
from lesson_parts import computed

import demos
from demos import NAMES, lesson, load_lessons
from demos.lesson import Lesson, Shown, Step, lesson_html, main
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.heart.fit import run_heart
from gbuq_core.experiments.heart.scores import auroc_text, score_heart
from gbuq_core.figures.canvas.encoding import decode_sheet, encode_sheet
from gbuq_core.figures.canvas.panels import Panel, PanelSheet

ROOT = Path(__file__).resolve().parents[2]
STEPS = [(given, step) for given in load_lessons() for step in given.steps]


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(demos).failed == 0


def small_lesson(compute=None):
    shown = Shown(
        ["Look & see."],
        "It is <big>.",
        PanelSheet(panels=[Panel(title="A map", values=[[1.0, 2.0]])]),
    )
    step = Step("First", "What is it?", None, compute or (lambda: shown))
    return Lesson("small", "A small lesson", "One step.", "heart", "Nobody (2026).", [step])


@pytest.mark.parametrize("given", load_lessons(), ids=lambda given: given.name)
def test_a_lesson_has_five_to_eight_steps_with_different_titles(given):
    assert 5 <= len(given.steps) <= 8
    assert len({step.title for step in given.steps}) == len(given.steps)
    assert all(step.question.endswith("?") for step in given.steps)


@pytest.mark.parametrize(("given", "step"), STEPS, ids=lambda part: getattr(part, "title", ""))
def test_each_step_is_computed_with_numbers_and_a_picture(given, step):
    shown = computed(given.name, step.title)
    assert 1 <= len(shown.text) <= 3
    assert re.search(r"\d", shown.answer)
    assert "nan" not in " ".join([*shown.text, shown.answer]).lower()
    header = decode_sheet(encode_sheet(shown.sheet)).header
    # Training or a race can be played; of neighbours only what grows with trees or with k, of soft
    # trees some ranks and trees, of growing noise some levels, trees and methods;
    # of novelty before and after; two clocks has all numbers of trees in one map, and a table of
    # one's own has charts only.
    few = ("neighbours", "soft_trees", "heteroscedastic", "novelty", "two_clocks", "your_data")
    assert header["frames"] >= 25 or given.name in few
    assert header["alt"]


def test_the_numbers_of_the_heart_are_those_of_its_experiment():
    heart = load_lessons()[NAMES.index("heart")]
    by_title = {step.title: step for step in heart.steps}
    step = by_title["Small steps"]
    true, virtual = (score_heart(maps) for maps in run_heart(step.preset.settings).methods)
    answer = computed("heart", step.title).answer
    assert f"falls to {auroc_text(virtual.auroc_knowledge)}" in answer
    assert f"do as well as before (AUROC {auroc_text(true.auroc_knowledge)})" in answer
    step = by_title["One model instead of ten"]
    true, virtual = (score_heart(maps) for maps in run_heart(step.preset.settings).methods)
    answer = computed("heart", step.title).answer
    assert f"In empty cells it is {virtual.knowledge_empty:.2g}," in answer


def test_what_the_heart_lesson_says_is_so():
    """Its sentences are fixed; these are the facts that they rest on."""
    heart = load_lessons()[NAMES.index("heart")]
    presets = {step.title: step.preset for step in heart.steps}
    score = {
        title: [score_heart(maps) for maps in run_heart(preset.settings).methods]
        for title, preset in presets.items()
        if title in ("Where nothing was ever seen", "Small steps", "Take rows away")
    }
    assert score["Where nothing was ever seen"][0].auroc_knowledge == 1.0
    true, virtual = score["Small steps"]
    assert virtual.auroc_knowledge < 0.95 < true.auroc_knowledge
    slower = replace(presets["Small steps"].settings, methods=("virtual_sglb",), rate=0.03)
    assert score_heart(run_heart(slower).methods[0]).auroc_knowledge < 0.5
    longer = replace(slower, rate=0.1, trees=2000)
    assert score_heart(run_heart(longer).methods[0]).auroc_knowledge > virtual.auroc_knowledge
    assert score["Take rows away"][0].auroc_knowledge == 1.0


def test_texts_are_escaped_and_the_page_asks_for_nothing():
    page = lesson_html(small_lesson())
    assert "Look &amp; see." in page
    assert "It is &lt;big&gt;." in page
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
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert process.stderr == ""
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", NAMES)
def test_each_lesson_is_a_module_that_writes_it(name, tmp_path, monkeypatch):
    """What its steps show, minutes of work, is taken from where it was computed before."""
    out = tmp_path / "lesson.html"

    def write(given):
        steps = [step._replace(compute=partial(computed, name, step.title)) for step in given.steps]
        return main(given._replace(steps=steps), ["--out", str(out)])

    monkeypatch.setattr(lesson, "main", write)
    monkeypatch.delitem(sys.modules, f"demos.{name}")  # it has been imported under its own name
    with pytest.raises(SystemExit) as stop:
        runpy.run_module(f"demos.{name}", run_name="__main__")
    assert stop.value.code == 0
    page = out.read_text(encoding="utf-8")
    titles = [step.title for step in load_lessons()[NAMES.index(name)].steps]
    assert page.count('class="figure"') == len(titles)
    assert all(escape(title) in page for title in titles)
