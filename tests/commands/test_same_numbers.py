"""One table and one seed: the command, Python and what the page "Your data" calls agree.

The page trains with `score_table`, cuts with `cut_table`, measures unfamiliarity as a task of its
own, trains the methods to compare one by one, and puts its report together of sections.
"""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from command_parts import printed, record_of

from gbuq_core.commands.json_output import json_text
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.jobs import Job, JobRunner
from gbuq_core.lenses.lens import Seen
from gbuq_core.lenses.pictures import in_unit
from gbuq_core.lenses.register import reader_choices
from gbuq_core.lenses.report import lens_sections, result_page, table_report
from gbuq_core.lenses.row import describe_row, say_members, say_parts, say_unfamiliarity, say_width
from gbuq_core.tables import (
    ScorePlan,
    add_unfamiliarity,
    compare_methods,
    compare_runs,
    describe_comparison,
    edit_schema,
    explain_row,
    infer_schema,
    measure_unfamiliarity,
    read_table,
    run_methods,
    score_table,
    with_intervals,
)
from gbuq_core.tables.comparing import run_of_scored
from gbuq_core.tables.cutting import Cut, cut_table, stage_table

PLAN = ScorePlan(n_trees=30, depth=3, ensemble="virtual", seed=3)
MODEL = ["--trees=30", "--depth=3", "--ensemble=virtual", "--seed=3"]
TARGETS = {"y": ["--target=y", "--drop=class"], "class": ["--target=class", "--drop=y"]}
UNITS = {"y": ["--unit=variance"], "class": []}
ROW = 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with gaps, and a second file that goes a little beyond it."""
    path = tmp_path_factory.mktemp("same")
    rng = np.random.default_rng(0)
    x, z = rng.uniform(-2, 2, 170), rng.normal(size=170)
    frame = pd.DataFrame({"x": x, "z": z, "group": rng.choice(["a", "b", "c"], 170)})
    frame["y"] = x**2 + (frame.group == "a") + rng.normal(0, 0.1, 170)
    frame["class"] = np.where(frame.y + rng.normal(0, 0.3, 170) > 1.5, "high", "low")
    frame.loc[::13, "z"] = np.nan
    frame = frame.round(6)
    frame[:130].to_csv(path / "rows.csv", index=False)
    frame[130:].assign(x=frame.x[130:] * 1.2).to_csv(path / "new.csv", index=False)
    return path


@pytest.fixture(
    params=[(target, second) for target in TARGETS for second in (False, True)],
    ids=lambda case: f"{case[0]}{' new' if case[1] else ''}",
)
def case(request, folder, monkeypatch):
    """The words of a line, and the same table as the page has it."""
    monkeypatch.chdir(folder)
    target, second = request.param
    words = ["rows.csv", *(["new.csv"] if second else []), *TARGETS[target], *MODEL]
    return words, target, read_table("rows.csv"), second


def schema_of(table, target):
    dropped = next(name for name in TARGETS if name != target)
    return edit_schema(table, infer_schema(table), used={dropped: False})


def on_the_page(case, cut=None):
    """As the page does it: training in a job, the cut, unfamiliarity in another one."""
    _, target, table, second = case
    new = read_table("new.csv", to_score=True) if second else None
    runner = JobRunner()

    def ask(work):
        job = runner.want("somebody", work, lambda job: work())
        assert isinstance(job, Job)
        assert job.wait(120)
        return job.result()

    scored = ask(
        lambda: score_table(table, target, schema=schema_of(table, target), new=new, plan=PLAN)
    )
    if cut is not None:
        scored = cut_table(scored, cut, stage_table(scored))
    far = ask(lambda: measure_unfamiliarity(scored.training, scored.scored, scored.plan.seed))
    return add_unfamiliarity(scored, far)


@pytest.mark.parametrize("cut", [None, Cut(step=5, members=2)], ids=["all members", "a cut"])
def test_a_row_is_explained_as_on_the_page(case, cut, capsys):
    words, target, _, _ = case
    more = [] if cut is None else ["--truncation-step=5", "--most-members=2"]
    more += UNITS[target]
    record = record_of(capsys, "explain", *words, *more, f"--row={ROW}")
    scored = on_the_page(case, cut)
    own = explain_row(scored, ROW - 1)
    assert record["prediction"] == scored.frame["prediction"].iloc[ROW - 1]
    shown = in_unit(scored, "variance")
    for kind in UNCERTAINTY_KINDS:
        assert record["uncertainty"][kind] == getattr(own.uncertainty, kind)[0]
        assert record["uncertainty"][kind] == getattr(shown, kind)[ROW - 1]
    assert record["unfamiliarity"] == scored.frame["unfamiliarity"].iloc[ROW - 1]
    effects = sorted(own.effects, key=lambda effect: -abs(effect.total))
    assert record["effects"] == json.loads(json_text({"effects": effects}))["effects"]
    assert record["members"]["mean"] == own.member_loc.tolist()
    assert record["members"]["probabilities"] == own.member_probabilities.tolist()
    described = describe_row(scored, shown, own, ROW - 1, say_unfamiliarity(scored, ROW - 1))
    parts = [described, say_members(own), say_parts(scored, ROW - 1), say_width(own)]
    assert record["words"] == [part for part in parts if part]


def test_the_report_is_the_pages(case, tmp_path, capsys):
    words, target, table, _ = case
    chosen = {"unit": "variance", "by": "knowledge", "group": "group"}
    more = [*UNITS[target], "--fails-by=knowledge", "--group=group"]
    if target == "y":
        chosen |= {"within": 80.0, "conformal": True}
        more += ["--level=0.8", "--conformal"]
    out = tmp_path / "report.html"
    printed(capsys, "report", *words, *more, "--out", out)
    content = out.read_bytes()
    scored = on_the_page(case)
    if target == "y":
        scored = with_intervals(scored, 0.8, True)
    choices = reader_choices(**chosen)
    sections = lens_sections(Seen(scored, table, choices))
    page = result_page(scored, "variance", "the code", sections)
    assert page == table_report(scored, table, choices, "the code")
    parts = [text.decode().split("The same in Python") for text in (content, page)]
    assert parts[0][0] == parts[1][0]
    assert "knowledge uncertainty" in parts[0][0]
    assert "the code" in parts[1][1]


@pytest.mark.parametrize("target", TARGETS)
def test_methods_are_compared_as_on_the_page(target, folder, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(folder)
    keys = ["sglb", "sgb", "vst"] if target == "y" else ["sglb", "sgb", "macau_basic"]
    plan = ScorePlan(n_trees=30, n_members=2, depth=3, seed=3)
    out = tmp_path / "compared.csv"
    words = ["rows.csv", *TARGETS[target], "--trees=30", "--members=2", "--depth=3", "--seed=3"]
    record = record_of(capsys, "compare", *words, "--methods", ",".join(keys), "--out", out)

    table = read_table("rows.csv")
    schema = schema_of(table, target)
    python = compare_methods(table, target, keys, schema=schema, plan=plan)
    # The page has one method trained already; the others it trains one by one, and keeps.
    kept = {}
    scored = score_table(table, target, schema=schema, plan=replace(plan, ensemble="independent"))
    kept["sglb"] = run_of_scored("sglb", scored)
    for key in keys[1:]:
        run_methods(
            [key],
            scored.training,
            scored.plan,
            scored.protocol,
            lambda run: kept.__setitem__(run.key, run),
        )
    page = compare_runs([kept[key] for key in keys])

    for own in (python, page):
        assert record["rows"] == own.n_rows
        assert [method["method"] for method in record["methods"]] == keys
        for written, method in zip(record["methods"], own.methods, strict=True):
            assert not method.error
            numbers = json.loads(json_text({"s": method.scores, "d": method.differences}))
            assert (written["scores"], written["differences"]) == (numbers["s"], numbers["d"])
        assert (record["best"], record["reference"]) == (own.best, own.reference)
        assert record["words"] == describe_comparison(own)
    table = pd.read_csv(out)
    assert len(table) == len(keys) * len(python.scores)
    assert re.fullmatch("SGLB|Independent SGLB", table["method"].iloc[0])
