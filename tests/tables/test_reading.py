"""Reading files: formats, encodings, delimiters, headers, ragged rows, and what is refused."""

import csv
import gzip
import io
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_parts import as_parquet, as_table

from gbuq_core.errors import InvalidParameter, MemoryLimitExceeded, TableError
from gbuq_core.tables import ReadOptions, decoding, read_table

ROWS = [("Köln", "1.5", "x"), ("Ulm", "-2", "y"), ("Bonn", "3", "z")]


def text_of(rows, delimiter=",", header=("city", "size", "kind")):
    lines = [delimiter.join(row) for row in [header, *rows]]
    return "\n".join(lines) + "\n"


def cells(table):
    return list(zip(*(table.data.column(name).to_pylist() for name in table.names), strict=True))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_unicode_files_need_no_options(encoding, delimiter):
    table = read_table(text_of(ROWS, delimiter).encode(encoding))
    assert table.names == ["city", "size", "kind"]
    assert cells(table) == ROWS
    assert table.source.options.delimiter == delimiter
    assert table.notices == ()


@pytest.mark.parametrize("letters", ["Köln", "café €"])
def test_windows_1252_is_read_and_said(letters):
    data = text_of([(letters, "1", "x"), ("Ulm", "2", "y")]).encode("cp1252")
    table = read_table(data)
    assert cells(table)[0][0] == letters
    assert table.source.options.encoding == "cp1252"
    assert "cp1252" in table.notices[0]


def test_bytes_that_windows_1252_lacks_are_of_another_encoding():
    table = read_table(b"a,b\nx\x81y,1\nz,2\n")
    assert table.source.options.encoding == "cp850"


def test_few_damaged_bytes_do_not_turn_utf_8_into_gibberish():
    data = text_of([("ü" * 300, "1", "x"), ("Ulm", "2", "y")]).encode() + b"caf\xe9,3,z\n"
    table = read_table(data)
    assert cells(table)[0][0] == "ü" * 300
    assert "no UTF-8 and was read as Windows-1252" in table.notices[0]
    assert cells(table)[-1][0] == "café"


def test_a_given_encoding_is_used_or_refused():
    data = text_of(ROWS).encode("cp1252")
    assert cells(read_table(data, options=ReadOptions(encoding="latin-1"))) == ROWS
    with pytest.raises(TableError, match="not valid utf-8 text"):
        read_table(data, options=ReadOptions(encoding="utf-8"))
    with pytest.raises(TableError, match="no encoding"):
        read_table(data, options=ReadOptions(encoding="klingon"))


@pytest.mark.parametrize(
    ("text", "delimiter", "decimal"),
    [
        ("a;b\n1,5;2\n2,5;3\n", ";", ","),
        ("a;b\n1.5;2\n2.5;3\n", ";", "."),
        ('a,b\n"1,5","2,5"\n"1,25","3"\n', ",", ","),
        ('a,b\n"1,500","2,000"\n"1,250","3"\n', ",", "."),  # thousands, not decimals
        ("size, cm;weight, kg\n1,5;2,5\n3,5;4,5\n", ";", ","),
        ("a\tb\nx,y,z\t1\nx,y,w\t2\n", "\t", "."),
        ("note,n\na;b;c,1\nd;e;f,2\n", ",", "."),
    ],
)
def test_delimiter_and_decimal_mark_are_told_apart(text, delimiter, decimal):
    source = read_table(text.encode()).source
    assert (source.options.delimiter, source.mark.decimal) == (delimiter, decimal)
    assert source.options.decimal is None  # nobody gave one


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("5.1,3.5,setosa\n4.9,3.0,virginica\n", None),
        ("39, State-gov, 77516\n50, Private, 83311\n", None),
        ("1,2\n3,4\n5,6\n", None),
        ("0,1,2\n.5,.6,.7\n.1,.2,.3\n", ["0", "1", "2"]),  # pandas' names for nameless columns
        ("country,2019,2020\nItaly,3,4\nSpain,5,6\n", ["country", "2019", "2020"]),
        ("x,y\nred,a\nblue,b\n", ["x", "y"]),
        ("id,5\n1,2\n3,4\n", ["id", "5"]),
    ],
)
def test_a_header_is_told_from_data(text, names):
    table = read_table(text.encode())
    if names is None:
        assert table.names[0] == "column 1"
        assert table.n_rows == text.count("\n")
        assert "looks like data" in table.notices[0]
    else:
        assert table.names == names


def test_the_user_decides_about_the_header():
    data = b"1,2\n3,4\n5,6\n"
    assert read_table(data, options=ReadOptions(header=True)).names == ["1", "2"]
    assert read_table(b"a,b\nc,d\n", options=ReadOptions(header=False)).n_rows == 2


def test_quoted_cells_keep_delimiters_quotes_and_line_ends():
    table = read_table(b'a,b\n"x,1","say ""hi"""\n"two\nlines",z\n')
    assert cells(table) == [("x,1", 'say "hi"'), ("two\nlines", "z")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end):
    table = read_table(text_of(ROWS).replace("\n", end).encode())
    assert cells(table) == ROWS


def test_a_quotation_mark_that_is_never_closed_swallows_no_rows():
    table = read_table(b'a,b\n1,"x\n2,y\n3,z\n')
    assert table.n_rows == 3
    assert "not in pairs" in table.notices[0]


def test_names_are_made_unique_and_that_is_said():
    table = read_table(b"a,a,,a (2)\n1,2,3,x\n4,5,6,y\n")
    assert table.names == ["a", "a (3)", "column 3", "a (2)"]
    assert "no name" in table.notices[0]
    assert "repeats" in table.notices[1]


def test_names_are_kept_letter_by_letter():
    names = ["<script>alert(1)</script>", "**b** $x^2$", "=cmd|' /C calc'!A0", "[l](http://a.b)"]
    data = io.StringIO()
    csv.writer(data).writerows([names, *[[f"{k}.5"] * 4 for k in range(3)]])
    assert read_table(data.getvalue().encode()).names == names


def test_a_header_without_the_first_name_is_that_of_row_names():
    table = read_table(b'"x" "y"\n'.replace(b" ", b",") + b'"r1",2,3\n"r2",4,5\n')
    assert (table.names, table.n_rows) == (["column 1", "x", "y"], 2)


@pytest.mark.parametrize("skip", [None, 0])
@pytest.mark.parametrize(
    ("head", "row", "names"),
    [
        ("a,b,c", "{0},2.5,{1},,", "a b c column_4 column_5"),
        ("a;b;c,,,", "{0};2,5;{1};;,", "a b c column_4 column_5"),  # an editor's commas
        ("a;b", "{0};2,5" + 9 * ";", " ".join(["a b", *(f"column_{k}" for k in range(3, 12))])),
        ("a,b,c,d", "{0},1.5,{1},4,5,6.5", "a b c d column_5 column_6"),
        ("a,b", "{0},1.5,{1},4,5,6.5", "a b column_3 column_4 column_5 column_6"),
        ("a\tb", "r{0}\t1.5\t{1}", "column_1 a b"),
        ("a b", "r{0} 1.5 {1}", "column_1 a b"),
        ("a,b", "{1},1.5,{0}", "a b column_3"),
        ('"a" "b"', '"row {0}" 1.5 {1}', "column_1 a b"),
        ("# a b c", "{0} 1.5 {1}", "a b c"),
        ("# a,b,c", "{0},1.5,{1}", "a b c"),
        ("a;b;c", "{0},1.5,{1}", "a b c"),
        ("a b c", "{0}\t1.5\t{1}", "a b c"),
    ],
)
def test_a_header_shorter_than_its_rows(head, row, names, skip):
    rows = "".join(row.format(k, k % 3) + "\n" for k in range(30))
    table = read_table(f"{head}\n{rows}".encode(), options=ReadOptions(skip_rows=skip))
    assert (table.n_rows, [name.replace(" ", "_") for name in table.names]) == (30, names.split())


def test_a_title_above_a_short_header_is_a_title():
    rows = "".join(f"{k},2.5,{k % 3},,\n" for k in range(30))
    table = read_table(f"Report 2021\na,b,c\n{rows}".encode())
    assert table.names[:3] == ["a", "b", "c"]
    assert table.n_rows == 30


def test_a_title_of_as_many_words_as_columns_is_a_title():
    rows = "".join(f"{k},2.5,{k % 3}\n" for k in range(30))
    assert read_table(f"Sales by region\na,b,c\n{rows}".encode()).names == ["a", "b", "c"]


def test_a_delimiter_at_the_end_of_each_row_is_no_ragged_row():
    table = read_table(b"a,b\n1,2,\n3,4,\n5,6,\n")
    assert table.names == ["a", "b", "column 3"]
    assert read_table(b"a,b,\n1,2\n3,4\n5,6\n").names == ["a", "b"]


def test_excels_declaration_of_the_delimiter_is_understood():
    assert read_table(b"sep=;\na;b\n1;2\n3;4\n").names == ["a", "b"]


@pytest.mark.parametrize("bad", ["1", "1,2,3"])
def test_few_ragged_rows_are_skipped_and_the_first_is_named(bad):
    lines = ["a,b", *[f"{k},{k}" for k in range(30)]]
    lines.insert(12, "")  # an empty line counts as a line, not as a ragged row
    lines.insert(20, bad)
    table = read_table("\n".join(lines).encode())
    assert table.n_rows == 30
    n_cells = bad.count(",") + 1
    assert table.notices[0].startswith(
        f"1 row has too many or too few cells and is skipped: line 21 has {n_cells} cell"
    )


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("a,b\n1,2\n3,4\n", [1, 2]),
        ("a,b\n1,2\n\n3,4\n\n\n", [1, 3]),
        ("\n\na,b\n1,2\nbroken\n\n3,4\n5,6", [1, 4, 5]),
        ("a,b\r\n1,2\r\n\r\n3,4\r\n", [1, 3]),
        ("a,b\r1,2\r\r3,4\r", [1, 3]),
        ('a,b\n"1\n\none",2\n\n3,4\n', [1, 3]),  # a cell of three lines is in one row
        ('a,b\n5" x,2\n\n5" y,4\n1,2\n', [1, 3, 4]),  # marks that quote nothing
        ("sep=;\na;b\n1;2\n\n3;4\n", [1, 3]),
        ("1,2\n\n3,4\n", [1, 3]),  # without a header
        ("a b\n1  2\n\n3  4\n", [1, 3]),
    ],
)
def test_rows_have_the_numbers_that_a_person_counts(text, numbers):
    assert read_table(text.encode()).row_numbers.tolist() == numbers


@given(st.lists(st.sampled_from(["row", "quoted", "blank"]), min_size=2, max_size=40), st.data())
def test_any_row_is_found_under_its_number(kinds, data):
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    written = {"row": "{},x", "quoted": '{},"two' + end + '""lines"""', "blank": ""}
    numbers = [number for number, kind in enumerate(kinds, start=1) if kind != "blank"]
    if len(numbers) < 2:
        return
    lines = [written[kind].format(number) for number, kind in enumerate(kinds, start=1)]
    table = read_table(end.join(["n,word", *lines]).encode())
    assert table.row_numbers.tolist() == numbers == [int(n) for n in table.data["n"].to_pylist()]


def test_skipped_lines_are_listed():
    lines = ["n,word", *(f"{k},x" for k in range(400))]
    for place in (250, 8, 6):
        lines.insert(place, "broken")
    lines.insert(3, '0,"two\nlines"')
    table = read_table("\n".join(lines).encode())
    assert table.notices == (
        "3 rows have too many or too few cells and are skipped: lines 9, 12 and 255; the first has "
        "1 cell instead of 2.",
    )
    for place in range(20, 60):
        lines.insert(place, "broken")
    sentence = read_table("\n".join(lines).encode()).notices[0]
    assert "lines 9, 12, 22, 23, " in sentence
    assert ", 39 and 23 more; " in sentence


def test_many_ragged_rows_are_refused():
    rows = ["1,2,3" if k % 5 == 0 else "1,2" for k in range(50)]
    with pytest.raises(TableError, match=r"10 of 50 rows .* on line 2, has 3 cells instead of 2"):
        read_table("\n".join(["a,b", *rows]).encode())


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "The file is empty"),
        (b" \n\n ", "The file is empty"),
        (b"a,b\n", "a header but no rows"),
        (b"a,b", "a header but no rows"),
        (b"a\n1\n2\n", "a single column"),
        (b"hello", "a single word"),
        (b"a,b\n1,2\n", "a single row"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "a PNG picture"),
        (b"%PDF-1.7 ...", "a PDF document"),
        (b"\xd0\xcf\x11\xe0" + bytes(50), "an old Excel workbook"),
        (b"a,b\n1,\x00\n2,3\n", "binary data"),
        (b"\x00" * 100, "binary data"),
        (b"<!DOCTYPE html><html></html>", "a web page"),
        (b'{"a": [1, 2]}', "JSON"),
        (b"PAR1" + b"x" * 100, "The Parquet file is damaged"),
        (b"\x1f\x8b" + b"x" * 100, "The compressed file is damaged"),
        (gzip.compress(b"a,b\n1,2\n3,4\n", mtime=0)[:20], "The compressed file is damaged"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(data, sentence):
    with pytest.raises(TableError, match=sentence) as refusal:
        read_table(data)
    assert str(refusal.value).endswith(".")


def test_a_zip_archive_and_random_bytes_are_refused(rng):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
    with pytest.raises(TableError, match="ZIP archive"):
        read_table(packed.getvalue())
    for _ in range(20):
        with pytest.raises(TableError):
            read_table(rng.integers(0, 256, 4000, dtype=np.uint8).tobytes())
    # Without zeros, so that only the control characters tell.
    with pytest.raises(TableError, match="binary data"):
        read_table(b"a,b\n" + rng.integers(1, 256, 4000, dtype=np.uint8).tobytes())


def test_a_file_above_the_limit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(300 * 2**20)  # sparse: takes no room on the disk

    def refuse(*_):
        raise AssertionError("the file was read")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(TableError, match=r"The file is 300 MB, more than the limit of 250 MB"):
        read_table(large)


def test_an_upload_above_the_limit_is_refused_before_it_is_read():
    class Upload(io.BytesIO):
        size = 300 * 2**20

        def read(self, *_):
            raise AssertionError("the upload was read")

    with pytest.raises(TableError, match="300 MB"):
        read_table(Upload())


def test_a_compressed_file_is_unpacked_up_to_the_limit_only(monkeypatch):
    monkeypatch.setattr(decoding, "MAX_FILE_BYTES", 10_000)
    with pytest.raises(TableError, match="once it is decompressed"):
        read_table(gzip.compress(b"a,b\n" + b"1,2\n" * 5000, mtime=0))
    assert read_table(gzip.compress(b"a,b\n" + b"1,2\n" * 500, mtime=0)).n_rows == 500


def test_a_file_that_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr("gbuq_core.resources.available_memory_bytes", lambda: 1000)
    with pytest.raises(MemoryLimitExceeded, match="Reading this file"):
        read_table(b"a,b\n" + b"1,2\n" * 500)


def test_sources(tmp_path):
    data = text_of(ROWS).encode()
    path = tmp_path / "cities.csv"
    path.write_bytes(data)
    (tmp_path / "cities.csv.gz").write_bytes(gzip.compress(data, mtime=0))
    for source in (data, path, str(path), io.BytesIO(data), tmp_path / "cities.csv.gz"):
        assert cells(read_table(source)) == ROWS
    assert read_table(path).source.name == "cities.csv"
    assert read_table(path).source.digest == read_table(data).source.digest
    with pytest.raises(TableError, match=r"no file none\.csv"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match="is a directory"):
        read_table(tmp_path)


@pytest.mark.parametrize("options", [ReadOptions(delimiter="x"), ReadOptions(decimal=";")])
def test_options_are_checked(options):
    with pytest.raises(InvalidParameter):
        read_table(b"a,b\n1,2\n3,4\n", options=options)


def test_parquet_types_are_reduced_to_a_few():
    days = pd.date_range("2021-01-01", periods=3)
    columns = {
        "small": pa.array([1, 2, None], pa.int8()),
        "unsigned": pa.array([1, 2, 3], pa.uint64()),
        "half": pa.array([1.5, 2.5, None], pa.float32()),
        "money": pa.array([1, 2, 3], pa.decimal128(8, 2)),
        "flag": pa.array([True, False, None]),
        "word": pa.array(["a", "b", None]).dictionary_encode(),
        "large": pa.array(["a", "b", "c"], pa.large_string()),
        "day": pa.array(days.date),
        "zoned": pa.array(days.tz_localize("Europe/Berlin")),
        "span": pa.array([1, 2, 3], pa.duration("s")),
        "nothing": pa.nulls(3),
        "lists": pa.array([[1], [2], [3]]),
        "raw": pa.array([b"x", b"y", b"z"]),
    }
    table = read_table(as_parquet(columns))
    kinds = {field.name: str(field.type) for field in table.data.schema}
    assert kinds == {
        "small": "int64",
        "unsigned": "uint64",
        "half": "double",
        "money": "double",
        "flag": "bool",
        "word": "string",
        "large": "string",
        "day": "timestamp[us]",
        "zoned": "timestamp[us]",
        "span": "double",
        "nothing": "string",
    }
    assert table.data["zoned"].to_pylist()[0].hour == 23  # midnight in Berlin, in UTC
    assert table.data["span"].to_pylist() == [1.0, 2.0, 3.0]
    assert '"lists" and "raw" hold lists' in table.notices[0]


@pytest.mark.parametrize("columns", [{"a": [1, 2]}, {"a": [1], "b": [2]}, {"a": [], "b": []}])
def test_parquet_must_be_a_table_too(columns):
    with pytest.raises(TableError):
        read_table(as_parquet({name: pa.array(v, pa.int64()) for name, v in columns.items()}))


# Control characters mark binary files, and a lone surrogate has no UTF-8.
CELL = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=8)


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=2, max_size=8))
def test_what_a_csv_writer_wrote_is_read_back(rows):
    data = io.StringIO()
    csv.writer(data, quoting=csv.QUOTE_ALL).writerows([("a", "b", "c"), *rows])
    options = ReadOptions(",", "utf-8", header=True, skip_rows=0, keep_rows=True)
    assert cells(read_table(data.getvalue().encode(), options=options)) == rows


def test_a_file_to_score_may_have_one_column_and_one_row():
    table = read_table(b"x\n1.5\n\n2\n", to_score=True)
    assert table.data["x"].to_pylist() == ["1.5", "", "2"]  # an empty line is a missing value
    assert read_table(b"x,z\n1,2\n", to_score=True).n_rows == 1
    assert read_table(as_parquet({"a": pa.array([1])}), to_score=True).n_rows == 1
    with pytest.raises(TableError, match="no rows"):
        read_table(b"x,z\n", to_score=True)
    with pytest.raises(TableError, match="is empty"):
        read_table(b"", to_score=True)


def test_a_thousand_columns(rng):
    frame = pd.DataFrame(rng.normal(size=(20, 1000))).add_prefix("v")
    table = as_table(frame)
    assert table.names == list(frame.columns)
    assert table.n_rows == 20


@pytest.mark.parametrize(
    "text",
    [
        "a b c\n1 2 x\n3 4.5 y\n",
        "  a    b  c  \n  1    2  x\n 30  4.5  y \n",
        "a b c\r\n1   2 x\r\n3 4.5 y\r\n",
    ],
)
def test_files_separated_by_spaces(text):
    table = read_table(text.encode())
    assert (table.names, table.data["b"].to_pylist()) == (["a", "b", "c"], ["2", "4.5"])
    assert table.source.options.delimiter == " "
    assert "separated by a space" in table.source.summary
    assert read_table(text.encode(), options=ReadOptions(delimiter=" ")).data == table.data


def test_spaces_between_numbers_without_a_header():
    table = read_table(b" 0.00632  18.00\n 0.02731   0.00\n 0.02729   0.00\n")
    assert table.data["column 2"].to_pylist() == ["18.00", "0.00", "0.00"]


def test_one_column_of_words_is_not_divided_by_its_spaces():
    with pytest.raises(TableError, match="single column"):
        read_table(b"city name\nNew York\nLos Angeles\n")
    table = read_table(b"city name\nNew York\nLos Angeles\n", to_score=True)
    assert table.names == ["city name"]


def test_text_files_need_no_encoding(tmp_path):
    text = text_of(ROWS)
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="cp1252")
    assert cells(read_table(io.StringIO(text))) == ROWS
    with path.open(encoding="cp1252") as file:
        assert cells(read_table(file, options=ReadOptions(encoding="cp1252"))) == ROWS
    assert read_table(io.StringIO("a,b\n\ud800,1\n2,3\n")).n_rows == 2


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("x\0y", r'"x\\x00y" cannot be a path: check it\.'),
        ("\ud800.csv", r'"\\ud800.csv" cannot be a path: check it\.'),
        (5, "from bytes, a path or a file, but this is int"),
        (None, "but this is NoneType"),
        (pd.DataFrame({"a": [1]}), "but this is DataFrame"),
    ],
)
def test_what_is_no_source_is_refused_in_a_sentence(source, sentence):
    with pytest.raises(TableError, match=sentence):
        read_table(source)


def test_a_name_without_utf_8_can_be_shown():
    assert read_table(b"a,b\n1,2\n3,4\n", name="\ud800.csv").source.name == "?.csv"
