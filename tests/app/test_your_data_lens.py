"""Your data, the open row: rows that decide, and values that are edited."""

import numpy as np
import pytest
from tolerances import SAME_SUM

from gbuq_core.tables import ScorePlan, column_curve, read_table, score_edited, score_table
from pages._ui.your_data.edit import Edits, Move, read_move, with_point
from tests.app.your_data_page import csv_of, open_page, says, settle, table_with
from tests.figure_readers import unpack_curves


def component(at, name):
    protos = [component.proto for component in at.get("bidi_component")]
    data = [unpack_curves(proto.bytes) for proto in protos if proto.component_name.endswith(name)]
    return data[-1]


def choose(at, lens):
    at.segmented_control(key="lens").set_value(lens).run()
    assert not at.exception


def test_what_can_be_asked_about_a_row_is_worked_out_when_it_is_opened():
    at = settle(open_page(row="7"))  # also how unfamiliar the rows are
    assert len(at.dataframe) == 2  # the list, and the columns of the file
    choose(at, "Rows that decide")
    table = table_with(at, "Trees shared")
    assert len(table) == 11
    assert table["Row"].iloc[0] == "7 (this row)"
    assert says(at, "shares a leaf in")
    choose(at, "Edit this row")
    spec = component(at, "gbuq_row_editor")
    assert len(spec["handles"]) == 10
    assert {handle["kind"] for handle in spec["handles"]} == {"slide", "choose"}
    assert all(line["before"] == line["now"] for line in spec["said"])
    curve = spec["curve"]
    # Where the row stands on the curve, it says what the row's own line says.
    handle = spec["handles"][curve["handle"]]
    own = [texts[handle["own"]] for texts in curve["said"]]
    assert own == [line["before"] for line in spec["said"]]
    edits = at.session_state["_data_edit"]
    column = spec["handles"][0]["name"]
    edits.cells[column] = 1e6
    at.run()
    spec = component(at, "gbuq_row_editor")
    assert spec["handles"][0]["changed"]
    assert spec["handles"][0]["note"].startswith("Above all training values")
    assert spec["said"][-1]["now"] == "1.00"
    assert "Unfamiliar: its value of" in spec["words"]
    at.number_input(key="row").set_value(8.0).run()
    assert not at.session_state["_data_edit"].cells  # another row, as it is in the file


def test_a_table_of_all_kinds_of_columns_can_be_edited():
    rng = np.random.default_rng(0)
    days = [f"2021-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(60)]
    table = csv_of(
        x=[None if k % 9 == 0 else round(v, 3) for k, v in enumerate(rng.normal(size=60))],
        kind=[("<b>a</b>", "[b](http://evil.example)", "c")[k % 3] for k in range(60)],
        day=days,
        y=[("yes", "no")[int(v > 0)] for v in rng.normal(size=60)],
    )
    at = open_page(table, lens="Edit this row", row="1")
    assert not at.exception
    spec = component(at, "gbuq_row_editor")
    by_name = {handle["name"]: handle for handle in spec["handles"]}
    assert by_name["x"]["text"] == ""
    assert by_name["x"]["own"] == -1
    assert "<b>a</b>" in by_name["kind"]["texts"]
    assert by_name["day"]["text"] == "2021-01-01"
    assert [line["name"] for line in spec["said"]][1] == "Its probability"
    for place in range(3):
        at.session_state["_data_edit"].grab = place
        at.run()
        assert not at.exception
        assert component(at, "gbuq_row_editor")["curve"]["handle"] == place


@pytest.mark.parametrize(
    "message",
    [
        None,
        7,
        {},
        {"seq": -1},
        {"seq": True, "grab": 0},
        {"seq": 1.5},
        {"seq": 1, "grab": 3},
        {"seq": 1, "grab": "0"},
        {"seq": 1, "sets": {}},
        {"seq": 1, "sets": [[0]]},
        {"seq": 1, "sets": [[9, "1"]]},
        {"seq": 1, "sets": [[0, 4.0]]},
        {"seq": 1, "sets": [[0, "1" * 201]]},
        {"seq": 1, "sets": [[0, "1"]] * 4},
    ],
)
def test_a_message_that_is_out_of_order_is_nothing(message):
    assert read_move(message, 3) is None


def test_texts_become_values_or_sentences():
    rows = "\n".join(f"{k % 7},{'ab'[k % 2]},{k % 7 + 0.1 * (k % 3)}" for k in range(60))
    scored = score_table(
        read_table(f"x,kind,y\n{rows}".encode()),
        "y",
        plan=ScorePlan(ensemble="virtual", n_trees=20),
    )
    edits, columns = Edits("row"), ("x", "kind")
    edits.apply(Move(1, False, 1, ((0, "6"), (1, "never"))), scored, 3, columns)
    assert edits.cells == {"x": 6.0, "kind": "never"}
    assert score_edited(scored, 3, edits.cells).notes
    edits.apply(Move(2, False, None, ((0, "six"),)), scored, 3, columns)
    assert edits.cells["x"] == 6.0  # what cannot be read changes nothing
    assert edits.refused["x"][1].startswith('"six" is not a number')
    edits.apply(Move(3, False, None, ((0, ""), (1, "b"))), scored, 3, columns)
    assert edits.cells == {"x": None}  # back to the row's own category, and a missing number
    assert not edits.refused
    edits.apply(Move(4, True, None, ()), scored, 3, columns)
    assert not edits.cells
    assert edits.seq == 4


def test_a_typed_value_is_put_on_the_curve_where_it_belongs():
    rows = "\n".join(f"{k % 7},{'ab'[k % 2]},{k % 7 + 0.1 * (k % 3)}" for k in range(60))
    plan = ScorePlan(method="sglb", n_trees=20)
    scored = score_table(read_table(f"x,kind,y\n{rows}".encode()), "y", plan=plan)
    for column, value in (("x", 2.5), ("x", -1.0), ("x", 70.0), ("kind", "c")):
        edited = score_edited(scored, 3, {column: value})
        curve = with_point(column_curve(scored, 3, column), value, edited)
        whole = column_curve(scored, 3, column, {column: value})
        assert curve.values == whole.values
        assert curve.texts == whole.texts
        for values, values_whole in zip(curve[4:7], whole[4:7], strict=True):
            np.testing.assert_allclose(values, values_whole, rtol=SAME_SUM)
        np.testing.assert_allclose(curve.uncertainty, whole.uncertainty, rtol=SAME_SUM)
        assert curve.probabilities.shape == whole.probabilities.shape
