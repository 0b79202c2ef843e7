"""Every lens answers with trees and with the stacked law; of the law, what a row's own says."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table, with_unfamiliarity
from tolerances import SAME_SUM

from gbuq_core.__main__ import main
from gbuq_core.errors import GbuqError, InvalidParameter
from gbuq_core.figures.standalone import Section
from gbuq_core.lenses import row_answers
from gbuq_core.lenses.law import describe_law
from gbuq_core.lenses.lens import ASKED, Seen
from gbuq_core.lenses.register import LENSES, reader_choices
from gbuq_core.lenses.report import table_report
from gbuq_core.tables import (
    ScorePlan,
    change_row,
    explain_row,
    law_of,
    row_law,
    score_edited,
    score_table,
)
from gbuq_core.tables.predicting import read_by_model
from tests.tables.test_explaining import assert_adds_up

SMALL = {"n_members": 2, "n_trees": 40, "depth": 3}
PLANS = {
    "sglb": ScorePlan(ensemble="independent", n_folds=2, **SMALL),
    "stacked": ScorePlan(method="stacked", n_folds=2, **SMALL),
}
DRAWN = ("row", "edit")  # by the page
WORDS = re.compile(r"[A-Z\"0-9].*[.]", re.DOTALL)


def make_frame(task, n=160, seed=0):
    """Many zeros, or two classes with a round border; a category, and a number with gaps."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1.5, 1.5, (2, n)).round(4)
    frame = pd.DataFrame({"a": a, "b": np.where(rng.random(n) < 0.05, np.nan, b)})
    frame["kind"] = rng.choice(["red", "blue"], n)
    size = np.exp(a) * np.exp(0.4 * rng.normal(size=n))
    frame["y"] = np.where(rng.random(n) < 0.4, 0.0, size).round(3)
    if task == "classification":
        frame["y"] = np.where(np.hypot(a, b) < 1.0, "in", "out")
    return frame


def scored_by(method, task):
    """Numbers out of fold, classes with a second file."""
    table, rows, new = as_table(make_frame(task)), make_frame(task, 40, 1), None
    if task == "classification":
        rows["y"] = rows["y"].where(rows.index >= 10)
        new = as_table(rows, to_score=True)
    scored = score_table(table, "y", task=task, new=new, plan=PLANS[method])
    return with_unfamiliarity(scored), table


@pytest.fixture(scope="module")
def tables():
    return {
        (method, task): scored_by(method, task)
        for method in PLANS
        for task in ("regression", "classification")
    }


class Reads:
    """The choices of a reader, which note the ones that are looked at."""

    def __init__(self, **choices):
        self.choices, self.keys = reader_choices(**choices), set()

    def __getattr__(self, key):
        self.keys.add(key)
        return getattr(self.choices, key)


def test_every_lens_answers_with_trees_and_with_the_law_and_names_what_it_reads(tables):
    """What a lens kept would else stay when a choice moves that it does not name."""
    answered, refused = set(), {case: [] for case in tables}
    for case, (scored, table) in tables.items():
        asked = {"curve": True, "repeats": 5, "curveby": "a column"} if case[0] == "sglb" else {}
        choices, shown = (Reads(group="kind", **asked) for _ in range(2))
        seen = Seen(scored, table, choices, row=3)
        for key, lens in LENSES.items():
            if not lens.concerns(seen):
                continue
            if refusal := lens.refuse(seen):
                assert WORDS.fullmatch(refusal), key
                refused[case].append(key)
                continue
            assert isinstance(lens.beside(seen), bool)
            if lens.waits(seen):  # trains on the reader's word alone
                assert (key, case[0]) == ("curve", "stacked")
                continue
            choices.keys, shown.keys = set(), set()
            try:
                sections = lens.sections(seen._replace(values=shown), lens.compute(seen))
            except GbuqError as error:  # shown in its place
                sections = [Section(text=str(error))]
            answered.add(key)
            assert choices.keys <= {*lens.asks}, key
            own = {knob.key for knob in lens.knobs}
            assert shown.keys <= {*lens.asks, *lens.shows, *own}, key
            texts = " ".join(
                text
                for section in sections
                for text in ([section.text] if isinstance(section.text, str) else section.text)
            )
            assert not texts or WORDS.fullmatch(texts), key
            assert bool(sections) != (key in DRAWN), key
            assert "nan" not in texts.split(), key
        assert len(table_report(scored, table, reader_choices(), "code")) > 10_000
    assert answered == {*LENSES}
    for task in ("regression", "classification"):
        assert refused["stacked", task] == refused["sglb", task]
        # Downloads have the same columns.
        frames = [tables[method, task][0].frame for method in PLANS]
        assert frames[0].columns.tolist() == frames[1].columns.tolist()


def test_a_rows_law_is_that_of_its_voices(tables):
    scored, _ = tables["stacked", "regression"]
    for row in (0, 3):
        law, fitted = row_law(scored, row), scored.models[scored.model_of_row[row]]
        model = fitted.estimator.estimator
        assert model.weights_["targets"] > 0.1  # the zeros are what neighbours know
        own = read_by_model(fitted.estimator, scored.scored.X.iloc[[row]])
        whole = model.predict_distribution(own)
        assert (law.kind, law.spikes[0][0]) == ("density", 0.0)
        same = whole[np.zeros(len(law.points), int)]
        np.testing.assert_allclose(law.values, np.exp(same.logpdf(law.points)), rtol=SAME_SUM)
        assert law.spikes[0][1] == pytest.approx(whole.cdf([0.0])[0])
        area = np.trapezoid(law.values, law.points)
        assert area + law.spikes[0][1] == pytest.approx(1.0, abs=0.02)
        weights = {voice.voice: voice.weight for voice in law.voices}
        assert sum(weights.values()) == pytest.approx(1.0)
        near = weights.get("targets", 0.0) + weights.get("residuals", 0.0)
        assert sum(neighbor.weight for neighbor in law.neighbors) == pytest.approx(near)
        assert all(neighbor.target == scored.training.y[neighbor.row] for neighbor in law.neighbors)
        assert law.intervals[1][1:] == pytest.approx([end[0] for end in whole.interval(0.9)])
        words = describe_law(scored, law)
        assert f"{round(law.n_near)} rows like it" in words
        assert "exactly 0 with a probability of" in words
    with pytest.raises(InvalidParameter, match="choose it"):
        row_law(tables["sglb", "regression"][0], 0)


def test_the_law_of_classes_is_the_probabilities(tables):
    scored, _ = tables["stacked", "classification"]
    model = scored.models[0].estimator.estimator
    assert model.weights_["process"] > 0.1  # the border is round
    for row in (0, 3):
        law = row_law(scored, row)
        np.testing.assert_allclose(law.values, scored.predictions.probabilities[row], rtol=SAME_SUM)
        assert sum(voice.weight for voice in law.voices) == pytest.approx(1.0)
        assert " comes from " in describe_law(scored, law)


def test_far_from_the_rows_the_words_say_what_counts_for_more(tables):
    for task, what in (("regression", "smooth trend counts"), ("classification", "all rows count")):
        scored, _ = tables["stacked", task]
        far = scored.scored._replace(X=scored.scored.X.assign(a=9.0, b=-9.0))
        words = describe_law(scored, row_law(replace(scored, scored=far), 3))
        assert "It lies beyond the training rows, where the " in words
        assert f"{what} for more" in words


def test_whole_numbers_have_masses():
    frame = make_frame("regression", 80)
    frame["y"] = frame["y"].round()
    plan = replace(PLANS["stacked"], n_trees=10)
    scored = score_table(as_table(frame), "y", task="regression", plan=plan)
    law = row_law(scored, 5)
    assert law.kind == "masses"
    assert law.points.tolist() == [*range(len(law.points))]
    assert law.values.sum() == pytest.approx(1.0, abs=0.01)
    assert "is likeliest" in describe_law(scored, law)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_width_adds_up_for_the_law(tables, task):
    scored, _ = tables["stacked", task]
    for row in (0, 3):
        explained = explain_row(scored, row)
        assert_adds_up(explained)
        for kind, own in zip(explained.uncertainty._fields, explained.uncertainty, strict=True):
            assert own[0] == pytest.approx(getattr(scored.predictions.uncertainty, kind)[row])
    if task == "regression":
        lower, upper = law_of(scored.predictions, np.array([3])).interval(0.9)
        assert explained.width == pytest.approx(upper[0] - lower[0])


def test_a_change_holds_for_the_edited_row(tables):
    scored, table = tables["stacked", "regression"]
    total = scored.predictions.uncertainty.total
    row, most = int(total.argmax()), float(np.quantile(total, 0.3))
    change, _, prediction = change_row(scored, row, most)
    edited = score_edited(scored, row, dict(zip(change.columns, change.after, strict=True)))
    assert edited.uncertainty.total[0] == pytest.approx(change.uncertainty_after.total[0])
    assert edited.uncertainty.total[0] <= most < total[row]
    assert edited.prediction == pytest.approx(prediction)
    seen = Seen(scored, table, reader_choices(level=30), row)
    (section,) = LENSES["change"].sections(seen, LENSES["change"].compute(seen))
    assert f"{change.n_tried:,} changes of one or two cells" in section.text
    everything = reader_choices(level=30, fixed=("a", "b", "kind"))
    seen = seen._replace(values=everything)
    (section,) = LENSES["change"].sections(seen, LENSES["change"].compute(seen))
    assert section.text.startswith("None of 0 changes")


@pytest.mark.parametrize("method", PLANS)
def test_the_command_asks_what_the_page_asks_about_a_row(tables, method, tmp_path, capsys):
    drawn = [key for key, lens in LENSES.items() if lens.of_row and key not in DRAWN]
    assert sorted(ASKED) == sorted(drawn)
    scored, table = tables[method, "regression"]
    answers = dict(row_answers(scored, table, reader_choices(), 6, ASKED))
    refusal = "Only the method Stacked has a law of several voices: choose it."
    assert (answers["law"].words == (refusal,)) == (method == "sglb")
    assert answers["leaves"].table[1][0] == "7 (this row)"
    if method == "sglb":
        (tmp_path / "rows.csv").write_text(make_frame("regression", 60).to_csv(index=False))
        words = [
            "explain",
            str(tmp_path / "rows.csv"),
            "--target=y",
            "--row=7",
            "--trees=20",
            "--ensemble=virtual",
            "--unfamiliarity=no",
            "--quiet",
        ]
        assert main([*words, "--json", "--ask=law", "--ask=leaves"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert [*record["answers"]] == ["law", "leaves"]
        assert record["answers"]["law"]["words"] == [refusal]
        effects = sum(effect["width"] for effect in record["effects"])
        assert effects == pytest.approx(record["width"] - record["usual_width"], rel=SAME_SUM)
        assert main([*words, "--ask=change"]) == 0
        assert "What would make the model sure?" in capsys.readouterr().out
