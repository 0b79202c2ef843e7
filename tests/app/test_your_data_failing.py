"""Your data: where the model fails, in groups of rows that can be listed."""

import numpy as np
import pandas as pd

from tests.app.your_data_page import csv_of, open_page, open_section, rows_of, says, tables_of


def groups_of(at):
    """The table of groups, or None."""
    tables = [each for each in tables_of(at) if "Group" in each.columns]
    return tables[0] if tables else None


def frame(n=400):
    rng = np.random.default_rng(0)
    shop = rng.choice(["north", "south"], n)
    x = rng.uniform(0, 1, n).round(3)
    y = x + rng.normal(0, np.where(shop == "south", 3.0, 0.1))
    return {"x": x, "shop": shop, "y": y.round(4)}


def test_the_worst_group_comes_first_and_its_rows_can_be_listed():
    at = open_page(csv_of(**frame()), section="Where it fails", table="your file")
    assert not at.exception
    groups = groups_of(at)
    assert groups["Group"].iloc[-1] == "all of them"
    assert groups["RMSE"].iloc[:-1].is_monotonic_decreasing
    first, best, every = (groups.iloc[place] for place in (0, -2, -1))
    assert first["Group"].startswith("shop = south")
    assert first["Against the others"] == "clearly worse"
    assert best["Group"].startswith("shop = north")
    assert best["Against the others"] == "clearly better"
    assert first["RMSE"] > every["RMSE"] > best["RMSE"]
    assert says(at, "judged by 200 others")
    at.button(key="_failing_list").click().run()
    assert not at.exception
    assert at.text_input(key="find").value == first["Group"]
    table = pd.DataFrame(frame())
    n_south = int((table["shop"] == "south").sum())
    assert 0 < len(rows_of(at)) <= n_south


def test_it_is_worked_out_only_when_asked_and_by_what_is_asked():
    at = open_page(within="80")
    assert groups_of(at) is None
    assert not any(radio.key == "by" for radio in at.radio)
    open_section(at, "Where it fails")
    for by, bar in (
        ("errors", "RMSE"),
        ("missed intervals", "Outside the 80 % interval (%)"),
        ("knowledge", "K, std"),
    ):
        at.radio(key="by").set_value(by).run()
        groups = groups_of(at)
        assert next(iter(groups)) == bar
        numbers = groups[bar].tolist()[:-1]
        assert len(numbers) > 1
        assert numbers == sorted(numbers, reverse=True)
        assert "Outside the 80 % interval (%)" in groups


def test_what_cannot_be_said_is_a_sentence():
    at = open_page(section="Where it fails", by="missed intervals", table="breast cancer")
    assert says(at, "has no interval")
    at = open_page(csv_of(x=range(60), y=range(60)), section="Where it fails")
    assert says(at, "To look for groups and to judge them takes 100")
    assert not at.exception
