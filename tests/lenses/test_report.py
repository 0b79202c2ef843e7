"""What the report says of small and of wide tables."""

import numpy as np
import pytest
from table_parts import with_unfamiliarity

from gbuq_core.lenses.lens import Seen
from gbuq_core.lenses.register import reader_choices
from gbuq_core.lenses.report import lens_sections, result_page
from gbuq_core.lenses.row import by_size, parts_of, say_parts, say_unfamiliarity
from gbuq_core.tables import ScorePlan, explain_row, read_table, score_table, unfamiliarity_parts
from gbuq_core.tables.unfamiliar import UNFAMILIAR

PLAN = ScorePlan(n_trees=10, depth=2, ensemble="virtual")


def table_of(n_rows, n_columns, shift=0.0):
    rng = np.random.default_rng(0)
    cells = np.round(rng.normal(size=(n_rows, n_columns)) + shift, 3)
    names = [*(f"x{k}" for k in range(n_columns - 1)), "y"]
    lines = [",".join(names), *(",".join(map(str, row)) for row in cells)]
    return read_table("\n".join(lines).encode())


@pytest.mark.parametrize("n_columns", [30, 33])
def test_columns_that_are_not_listed_are_told(n_columns):
    table = table_of(60, n_columns + 1)
    scored = score_table(table, "y", new=table_of(40, n_columns + 1, 0.1), plan=PLAN)
    sections = lens_sections(Seen(scored, table, reader_choices()))
    (section,) = (each for each in sections if each.heading.startswith("Does the second file"))
    assert len(section.table) == 31
    sentence = f"The 30 columns that have shifted the most are listed, of {n_columns}."
    assert (sentence in section.text) == (n_columns > 30)


@pytest.mark.parametrize(("n_rows", "listed"), [(15, 15), (60, 20)])
def test_the_heading_counts_the_rows_that_are_listed(n_rows, listed):
    scored = score_table(table_of(n_rows, 3), "y", plan=PLAN)
    text = result_page(scored, "std", "the code").decode()
    assert f"The {listed} rows with the largest total uncertainty" in text


def test_a_row_in_words():
    scored = score_table(table_of(60, 4), "y", new=table_of(20, 4, 2.0), plan=PLAN)
    assert (say_unfamiliarity(scored, 0), parts_of(scored, 0), say_parts(scored, 0)) == ("", (), "")
    scored = with_unfamiliarity(scored)
    scores = scored.unfamiliarity.rows.score
    strange, usual = int(scores.argmax()), int(scores.argmin())
    assert scores[strange] > UNFAMILIAR >= scores[usual]
    assert say_unfamiliarity(scored, usual) == f"Unfamiliarity {scores[usual]:.2f}"
    assert say_unfamiliarity(scored, strange).startswith(f"Unfamiliarity {scores[strange]:.2f}: ")
    parts = unfamiliarity_parts(scored, strange)
    assert parts_of(scored, strange) == tuple((p.part, p.rank, p.column) for p in parts)
    effects = by_size(explain_row(scored, strange).effects, "data")
    sizes = [abs(effect.data) for effect in effects]
    assert sizes == sorted(sizes, reverse=True)
