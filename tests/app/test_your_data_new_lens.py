"""A lens of one file is on the page and in the HTML download, and all name what they read."""

import importlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.lenses.lens import Seen
from gbuq_core.lenses.register import LENSES, declare_lens, reader_choices
from gbuq_core.tables import (
    ScorePlan,
    add_unfamiliarity,
    measure_unfamiliarity,
    read_table,
    score_table,
)
from tests.app.your_data_page import csv_of, open_page, texts

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "code.md"


@pytest.fixture
def steady(tmp_path, monkeypatch):
    """The guide's example, in a package of its own."""
    section = GUIDE.read_text(encoding="utf-8").split("## How to add a lens")[1]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (tmp_path / "toy_lens").mkdir()
    (tmp_path / "toy_lens" / "__init__.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("toy_lens")
    yield module
    del LENSES["steady"]


def test_the_guides_lens_is_on_the_page_and_in_the_download(steady, offered):
    data = csv_of(x=[k % 9 for k in range(80)], y=[(k * k) % 23 for k in range(80)])
    at = open_page(data, table="your file", section="More rows", n_steady="5")
    assert not at.exception
    assert any("About which rows do the members agree?" in text.value for text in at.markdown)
    assert at.slider(key="n_steady").value == 5  # of the link
    for n_rows in (5, 2):
        at.slider(key="n_steady").set_value(n_rows).run()
        (told,) = (text for text in texts(at) if text.startswith("The members agree most about"))
        assert len(told.split(",")) == n_rows
    report = offered["your-data.html"]().decode()
    assert "<h2>About which rows do the members agree?</h2>" in report
    assert told in report
    with pytest.raises(InvalidParameter, match='There is a lens "steady" already'):
        declare_lens(LENSES["steady"])


class Reads:
    """The choices of a reader, which note the ones that are looked at."""

    def __init__(self, choices):
        self.choices, self.keys = choices, set()

    def __getattr__(self, key):
        self.keys.add(key)
        return getattr(self.choices, key)


@pytest.fixture(scope="module")
def tables():
    """A regression with a second file whose rows have no target, two classes, and laws."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 520))
    plan = ScorePlan(ensemble="virtual", n_trees=20, depth=2)
    first = read_table(csv_of(x=x, z=z, y=x * z))
    second = read_table(csv_of(x=x[:60] + 1, z=z[:60]), to_score=True)
    numbers = score_table(first, "y", new=second, plan=plan)
    numbers = add_unfamiliarity(numbers, measure_unfamiliarity(numbers.training, numbers.scored))
    named = read_table(csv_of(x=x, z=z, y=np.where(x * z > 0.2, "b", "a")))
    law = replace(plan, method="stacked", ensemble="independent", n_members=2)
    laws = score_table(first, "y", plan=law)
    return (numbers, first), (score_table(named, "y", plan=plan), named), (laws, first)


@pytest.mark.parametrize("key", LENSES)
def test_a_lens_reads_no_choice_that_it_does_not_name(key, tables):
    """Else what is kept would stay when that choice moves."""
    lens, asked = LENSES[key], 0
    more = {"cohorts": "high=x > 0", "curve": True, "repeats": 5, "curveby": "a column"}
    for scored, table in tables:
        computing, showing = (Reads(reader_choices(group="x", **more)) for _ in range(2))
        seen = Seen(scored, table, computing, 3)
        if not lens.concerns(seen) or lens.refuse(seen):
            continue
        asked += 1
        assert not lens.waits(seen)
        computing.keys.clear()
        found = lens.compute(seen)
        lens.sections(seen._replace(values=showing), found)
        assert computing.keys <= {*lens.asks}
        own = {knob.key for knob in lens.knobs}
        assert showing.keys <= {*lens.asks, *lens.shows, *own}
    assert asked
