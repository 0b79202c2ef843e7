"""Second files whose rows are of units that the first file does not have."""

import re
import time

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table

from gbuq_core.__main__ import main
from gbuq_core.tables import ScorePlan, edit_schema, infer_schema, score_table
from gbuq_core.tables.new_units import find_new_units, not_fitted_anew
from gbuq_core.tables.words import describe_table

N = 400


def words(low, high):
    return lambda rng: np.array([f"site {k}" for k in rng.integers(low, high, N)])


def numbers(low, high, step=1, start=0):
    return lambda rng: start + step * rng.integers(low, high, N)


def tables(columns, seed=0):
    """Both files of columns that are drawn in either way."""
    rng = np.random.default_rng(seed)
    noise = [{"a": rng.normal(size=N).round(3), "y": rng.normal(size=N)} for _ in range(2)]
    drawn = [{name: way[k](rng) for name, way in columns.items()} for k in range(2)]
    return [as_table(pd.DataFrame({**drawn[k], **noise[k]})) for k in range(2)]


CASES = {
    "countries": ({"country": (words(0, 20), words(20, 30))}, "country", ()),
    "ids that follow": ({"patient_id": (numbers(0, 40), numbers(40, 50))}, "patient_id", ()),
    "codes between codes": (
        {"ward": (numbers(0, 20, 2), numbers(0, 19, 2, 1))}, "ward", (),
    ),
    "some beyond the ends": ({"kind": (numbers(0, 20, 2), numbers(-2, 23, 2, 1))}, "kind", ()),
    "the coarsest": (
        {"town": (words(0, 90), words(90, 99)), "land": (words(0, 8), words(8, 12))},
        "land", ("town",),
    ),
    "another spelling": ({"kind": (words(0, 2), words(2, 4))}, None, ()),
    "one shuffle": ({"town": (words(0, 300), words(0, 300))}, None, ()),
    "hardly repeated": ({"order": (words(0, 10**6), words(0, 10**6))}, None, ()),
    "half are new": ({"land": (words(0, 20), words(10, 30))}, None, ()),
    "older people": ({"age": (numbers(18, 60), numbers(60, 90))}, None, ()),
    "later years": ({"year": (numbers(1990, 2015), numbers(2015, 2020))}, None, ()),
    "larger counts": ({"steps": (numbers(0, 90, 100), numbers(90, 130, 100))}, None, ()),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rows_are_split_by_units_that_are_new(name):
    columns, split, left = CASES[name]
    first, second = tables(columns)
    schema = infer_schema(first)
    units = find_new_units(first, schema, "y", second, ScorePlan())
    assert units.plan.split_column == split
    told = [not_fitted_anew(first, schema, "y", second, p) for p in (ScorePlan(), units.plan)]
    assert ["--split-column" in sentence for sentence in told] == [split is not None, False]
    assert (
        tuple(c.name for c in schema.columns if c.used and not units.schema.column(c.name).used)
        == left
    )
    assert len(units.notices) == (split is not None) + bool(left)
    # Who chooses a column decides for it.
    chosen = edit_schema(first, schema, used=dict.fromkeys(columns, True))
    assert find_new_units(first, chosen, "y", second, ScorePlan()).notices == ()


def test_intervals_hold_for_new_units_and_it_is_said(tmp_path, capsys):
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(90), 8)
    y = 2.0 * rng.normal(size=90)[unit] + 0.2 * rng.normal(size=len(unit))
    frame = pd.DataFrame({"land": [f"L{k}" for k in unit], "a": rng.normal(size=len(y)), "y": y})
    files = [tmp_path / name for name in ("first.csv", "second.csv", "out.csv")]
    for part, file in zip((frame[unit < 50], frame[unit >= 50]), files, strict=False):
        part.sample(frac=1, random_state=0).to_csv(file, index=False)
    asked = ["score", *map(str, files[:2]), "--target=y", f"--out={files[2]}", "--method=sglb"]
    asked += ["--ensemble=virtual", "--trees=100", "--unfamiliarity=no"]
    began = time.perf_counter()
    assert main(asked) == 0
    took = time.perf_counter() - began
    said = capsys.readouterr()
    assert '(--use "land")' in said.err
    # The beta-binomial law of forty units after fifty that say how wide 90 % is.
    assert "as few as 75 % of the second file's rows" in said.err
    # The time of the whole command, but for printing it.
    assert took - 1.0 < float(re.search(r"csv in ([\d.]+) s", said.out)[1]) < took + 0.1
    out = pd.read_csv(files[2])
    # Forty units: three standard errors of a share of .9 are .14.
    assert 0.76 <= out.y.between(out.lower_90, out.upper_90).mean() <= 0.99
    assert main([*asked, "--conformal-shift"]) == 0  # there is nothing to weigh
    assert "Rows are held out by groups" in capsys.readouterr().out
    assert main([*asked, "--use=land"]) == 0
    out = pd.read_csv(files[2])
    assert out.y.between(out.lower_90, out.upper_90).mean() < 0.6
    first, second = (as_table(part) for part in (frame[unit < 50], frame[unit >= 50]))
    scored = score_table(first, "y", new=second, plan=ScorePlan(method="sglb", n_trees=20))
    assert '(--use "land")' in describe_table(scored)[0]
