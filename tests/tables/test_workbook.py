"""Excel files: sheets, headers, kinds of cells, and what is refused."""

import datetime
import io
import zipfile

import pyarrow as pa
import pytest
from hostile_tables import sheet_of, workbook
from table_parts import workbook_of

from gbuq_core.errors import InvalidData, TableError
from gbuq_core.tables import (
    ReadOptions,
    infer_schema,
    limits,
    prepare_training,
    read_table,
    sheet_names,
)
from gbuq_core.tables import workbook as workbooks

openpyxl = pytest.importorskip("openpyxl")
DAY = datetime.datetime(2020, 1, 31, 14, 30)


ROWS = [
    ["n", "word", "flag", "day", "mixed", "time"],
    [1, "x", True, DAY, 1, datetime.time(3, 4)],
    [2.5, None, False, None, "b", None],
    [None, "y", None, DAY.date(), DAY, datetime.time(5)],
]


def test_cells_keep_their_kinds():
    table = read_table(workbook_of(S=ROWS))
    assert table.names == ROWS[0]
    assert table.source.format == "excel"
    assert [str(kind) for kind in table.data.schema.types] == [
        "double", "string", "bool", "timestamp[us]", "string", "double",
    ]  # fmt: skip
    assert table.data["n"].to_pylist() == [1.0, 2.5, None]
    assert table.data["day"].to_pylist() == [DAY, None, datetime.datetime(2020, 1, 31)]
    assert table.data["mixed"].to_pylist() == ["1", "b", "2020-01-31 14:30:00"]
    assert table.data["time"].to_pylist() == [3 + 4 / 60, None, 5.0]  # hours
    assert infer_schema(table).column("day").kind == "date"


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [
        ([["a", "b"], [1, 2], [], [3, 4], [], [], [5, 6]], [1, 3, 6]),
        ([[], [], ["a", "b"], [1, 2], [], [3, 4]], [1, 3]),
        ([[], [1, 2], [], [3, 4]], [2, 4]),  # without a header
    ],
)
def test_blank_rows_count(rows, numbers):
    assert read_table(workbook_of(S=rows)).row_numbers.tolist() == numbers


def test_the_first_sheet_or_the_one_chosen():
    data = workbook_of(first=[["a", "b"], [1, 2], [3, 4]], second=[["c", "d"], [5, 6], [7, 8]])
    assert read_table(data).names == ["a", "b"]
    table = read_table(data, options=ReadOptions(sheet="second"))
    assert table.names == ["c", "d"]
    assert table.source.sheets == sheet_names(data) == ("first", "second")
    assert table.source.summary == (
        'Read as the Excel sheet "second", one of 2, with 2 columns and a header.'
    )
    with pytest.raises(TableError, match='no sheet "third": choose among "first" and "second"'):
        read_table(data, options=ReadOptions(sheet="third"))
    new = read_table(data, options=ReadOptions(sheet="third"), to_score=True)
    assert new.names == ["a", "b"]
    assert 'no sheet "third", so "first" is read' in new.notices[0]


def test_the_first_row_is_a_header_unless_it_holds_data():
    assert read_table(workbook_of(S=[["place", 2019, 2020], ["a", 1, 2], ["b", 3, 4]])).names == [
        "place", "2019", "2020",
    ]  # fmt: skip
    table = read_table(workbook_of(S=[["a", 1.5], ["b", 3], ["c", 4]]))
    assert (table.names, table.n_rows) == (["column 1", "column 2"], 3)
    assert "looks like data" in table.notices[0]
    data = workbook_of(S=[["a", "b"], ["c", "d"], ["e", "f"]])
    assert read_table(data, options=ReadOptions(header=False)).n_rows == 3


def test_empty_rows_and_columns_around_the_table_do_not_count():
    rows = [[], [None, "a", None, "b"], [], [None, 1, None, 2], [None, 3, None, 4], [None]]
    table = read_table(workbook_of(S=rows))
    assert (table.names, table.data["b"].to_pylist()) == (["a", "b"], [2.0, 4.0])


def test_a_short_sheet_before_a_table_is_passed_over_and_a_larger_one_is_named():
    about, table = (
        [["Version", "1"], ["Author", "Max"]],
        [["a", "b"], *[[k, k % 3] for k in range(20)]],
    )
    read = read_table(workbook_of(about=about, data=table, more=[*table, *table]))
    assert (read.names, read.n_rows) == (["a", "b"], 20)
    assert 'The sheet "about" holds no table of several columns and ten rows' in read.notices[0]
    assert 'The sheet "data" is read, though "more" has more cells' in read.notices[1]
    formulas = workbook_of(data=[["x", "y"], *[[k, f"=A{k + 2}*2"] for k in range(20)]])
    read = read_table(formulas)
    with pytest.raises(InvalidData, match="holds formulas whose results are not stored"):
        prepare_training(read, infer_schema(read), "y")


def test_an_empty_sheet_is_refused():
    with pytest.raises(TableError, match='"cover" is empty: choose another one, such as "data"'):
        read_table(
            workbook_of(cover=[], data=[["a", "b"], [1, 2]]), options=ReadOptions(sheet="cover")
        )


def test_many_cells_are_refused(monkeypatch):
    monkeypatch.setattr(workbooks, "MAX_SHEET_CELLS", 1000)
    data = workbook(sheet_of(600, 2, b'<c r="%s%d"><v>1</v></c>'))
    with pytest.raises(TableError, match="600 rows and 2 columns"):
        read_table(data)


def test_a_long_cell_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "MAX_CELL_BYTES", 100)
    with pytest.raises(TableError, match=r'column "b" has a cell'):
        read_table(workbook_of(S=[["a", "b"], [1, "x" * 200], [2, "y"]]))


@pytest.mark.parametrize("cut", [40, 0.5, 0.9])
def test_a_damaged_workbook_is_refused(cut):
    data = workbook_of(S=ROWS)
    with pytest.raises(TableError, match=r"Excel file is damaged|ZIP archive"):
        read_table(data[: int(cut if cut > 1 else cut * len(data))])


def test_an_archive_with_nonsense_inside_is_refused():
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("xl/workbook.xml", "nonsense")
    with pytest.raises(TableError, match=r"Excel file is damaged|no sheet"):
        read_table(sink.getvalue())
    assert sheet_names(sink.getvalue()) == ()


def test_entities_do_not_unfold():
    bomb = b"<sheetData>&lol;&lol;</sheetData>"
    with pytest.raises(TableError):
        read_table(workbook(bomb))


def test_the_library_may_be_missing(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(TableError, match="need python-calamine"):
        read_table(workbook_of(S=ROWS))


def test_both_kinds_of_files_give_one_schema():
    rows = [["a", "b", "day"], *[[k, f"w{k % 3}", DAY] for k in range(20)]]
    excel = infer_schema(read_table(workbook_of(S=rows)))
    text = "\n".join(",".join(map(str, row)) for row in rows)
    plain = infer_schema(read_table(text.encode()))
    assert [c.kind for c in excel.columns] == [c.kind for c in plain.columns]
    assert pa.types.is_string(read_table(workbook_of(S=rows)).data["b"].type)
