"""Blocks of a file hold what the one-piece reader reads, and are prepared as it prepares them."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from gbuq_core.errors import GbuqError, InvalidData
from gbuq_core.streaming import (
    blocks,
    is_too_large,
    open_blocks,
    prepare_block,
    survey_file,
    surveying,
)
from gbuq_core.streaming.surveying import own_columns
from gbuq_core.tables import ReadOptions, infer_schema, prepare_new, prepare_training, read_table
from gbuq_core.tables.output import plain_columns

TEXTS = {
    "plain": "x,word,y\n" + "".join(f"{i},w{i % 3},{i / 4}\n" for i in range(40)),
    "quoted line breaks": 'x,word,y\n1,"two\nlines",3\n2,"say ""hi""",4\n3,"a,b",5\n',
    "carriage returns": "x,word,y\r\n1,a,2\r\n3,b,4\r\n",
    "old Macs": "x,word,y\r1,a,2\r3,b,4\r",
    "semicolons": "x;word;y\n1,5;a;2\n2,5;b;3,25\n",
    "no header": "1,a,2\n3,b,4\n5,c,6\n",
    "no last line end": "x,word,y\n1,a,2\n3,b,4",
    "ragged": "x,word,y\n" + "".join(f"{i},w,{i}\n" for i in range(30)) + "1,2\n3,4,5,6\n",
    "sep": "sep=;\nx;word;y\n1;a;2\n2;b;3\n",
    "spaces": "x    y\n 1    2.5\n 3    4.5  \n10   6\n",
    "open quotation mark": 'x,word,y\n1,5" pipe,2\n2,a,3\n3,b,4\n',
    "header short of a name": "word,y\n1,a,2\n2,b,3\n",
    "names": "x,x,,y\n1,2,3,4\n5,6,7,8\n",
    "blank lines": "x,word,y\n\n1,a,2\n\n\n3,b,4\n",
    "accents": "x,word,y\n1,é,2\n2,\u4e2d\U0001f600,3\n",
}
ENCODED = {
    **{name: text.encode() for name, text in TEXTS.items()},
    "byte order mark": b"\xef\xbb\xbf" + TEXTS["accents"].encode(),
    "utf-16": TEXTS["accents"].encode("utf-16"),
    "cp1252": "x,word,y\n1,é,2\n2,ü,3\n".encode("cp1252"),
    "gzip": gzip.compress(TEXTS["quoted line breaks"].encode()),
}


@pytest.mark.parametrize("name", ENCODED)
def test_blocks_hold_the_same_cells_as_the_whole_text(tmp_path, name):
    path = tmp_path / "a.csv"
    path.write_bytes(ENCODED[name])
    whole = read_table(path)
    for n_rows in (1, 2, 1000):
        file = open_blocks(path)
        blocks = list(file.blocks(n_rows))
        assert file.names == whole.names
        assert pa.concat_tables(blocks).to_pylist() == whole.data.to_pylist()
        assert {block.num_rows for block in blocks[:-1]} <= {n_rows}
        assert file.source._replace(name="") == whole.source._replace(name="")
        assert len(file.notices) == len(whole.notices)
        assert file.n_rows == whole.n_rows
    start = whole.n_rows - 1
    assert [b.to_pylist() for b in file.blocks(5, start)] == [whole.data.to_pylist()[start:]]


@pytest.mark.parametrize("row_group_size", [3, 100])
def test_blocks_hold_the_same_cells_as_the_whole_parquet_file(tmp_path, row_group_size):
    n = 20
    frame = pa.table(
        {
            "whole": pa.array([None if i == 4 else i for i in range(n)], pa.int32()),
            "part": pa.array(np.arange(n) / 3, pa.float32()),
            "word": pa.array([f"w{i % 3}" for i in range(n)]).dictionary_encode(),
            "day": pa.array(
                [i * 86_400_000 for i in range(n)], pa.timestamp("ms", tz="Asia/Tokyo")
            ),
            "yes": pa.array([i % 2 == 0 for i in range(n)]),
            "list": pa.array([[i] for i in range(n)]),
            "a.b": pa.array(range(n)),
        }
    )
    path = tmp_path / "a.parquet"
    parquet.write_table(frame, path, row_group_size=row_group_size)
    whole = read_table(path)
    for n_rows in (1, 7, 1000):
        file = open_blocks(path)
        blocks = list(file.blocks(n_rows))
        assert pa.concat_tables(blocks).equals(whole.data)
        assert tuple(file.notices) == whole.notices
    after = pa.concat_tables(file.blocks(4, 11)).to_pylist()
    assert after == whole.data.to_pylist()[11:]


@pytest.mark.parametrize(
    "data",
    [b"", b"PAR1 is none", b"\x89PNG\r\n\x00\x00", b"x,y\n\x00,\x01\n", b"{}", b"PK\x03\x04"],
)
def test_what_is_no_table_is_refused_in_a_sentence(tmp_path, data):
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(GbuqError) as refusal:
        for _ in open_blocks(path).blocks(10):
            pass
    assert str(refusal.value).endswith(".")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert not is_too_large(tmp_path / "pipe")  # it would wait for ever, and eat what it reads
    with pytest.raises(GbuqError, match="cannot be read twice"):
        open_blocks(tmp_path / "pipe")


def test_a_file_is_too_large_by_its_bytes_or_its_cells(tmp_path, monkeypatch):
    frame = pa.table({"x": range(100), "y": range(100)})
    for name in ("a.parquet", "a.csv", "a.csv.gz"):
        path = tmp_path / name
        if name == "a.parquet":
            parquet.write_table(frame, path)
        else:
            text = frame.to_pandas().to_csv(index=False).encode()
            path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        assert not is_too_large(path)
        with monkeypatch.context() as lower:
            lower.setattr(blocks, "MAX_CELLS", 199)
            assert is_too_large(path)
        with monkeypatch.context() as lower:
            lower.setattr(blocks, "MAX_FILE_BYTES", 100)
            assert is_too_large(path)
    assert not is_too_large(tmp_path / "not there")


def test_too_many_ragged_rows_are_refused_at_the_end(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,word,y\n" + "1,a,2\n" * 20 + "1,2\n" * 5)
    with pytest.raises(InvalidData, match="5 of 25 rows have too many or too few cells"):
        list(open_blocks(path).blocks(4))


HEAD = "n,c,d,mixed,y\n"


def check_blocks(new_text, tmp_path, monkeypatch, options=None, first=None):
    """Every block is prepared and written back as the whole file is."""
    first = first or HEAD + "".join(
        f"{i / 3:.4f},{'abc'[i % 3]},2021-{i % 12 + 1:02d}-{i % 28 + 1:02d},{i % 5},{i % 7 + 0.5}\n"
        for i in range(40)
    )
    table = read_table(first.encode())
    schema = infer_schema(table)
    training = prepare_training(table, schema, "y")
    path = tmp_path / "new.csv"
    path.write_text(new_text)
    whole = read_table(path, options=options, to_score=True)
    try:
        expected = prepare_new(whole, training)
    except InvalidData as error:
        with pytest.raises(InvalidData) as refusal:
            survey_file(open_blocks(path, options, to_score=True), training)
        assert refusal.value.args == error.args  # noqa: PT017 - two readers, one sentence
        return None
    for n_rows in (1, 3, 1000):
        monkeypatch.setattr(surveying, "_SURVEY_ROWS", n_rows)
        file = open_blocks(path, options, to_score=True)
        survey = survey_file(file, training)
        blocks = list(file.blocks(n_rows))
        parts = [prepare_block(block, survey, training) for block in blocks]
        assert survey.n_rows == whole.n_rows
        assert survey.has_target == bool(expected.known.any())
        for name in expected.X.columns:
            pieces, series = [part.X[name] for part in parts], expected.X[name]
            if isinstance(series.dtype, pd.CategoricalDtype):
                joined = [label for piece in pieces for label in piece.astype(object)]
                assert pd.Series(joined, dtype=object).equals(
                    series.astype(object).reset_index(drop=True)
                )
            else:
                joined = np.concatenate([piece.to_numpy() for piece in pieces])
                assert joined.tobytes() == series.to_numpy().tobytes(), (name, joined, series)
        assert np.concatenate([part.y for part in parts]).tobytes() == expected.y.tobytes()
        written = plain_columns(whole, training.schema).values()
        for position, series in enumerate(written):
            pieces = [own_columns(block, survey)[position] for block in blocks]
            assert {str(piece.dtype) for piece in pieces} == {str(series.dtype)}
            pd.testing.assert_series_equal(pd.concat(pieces, ignore_index=True), series)
    return survey


def test_a_bad_cell_late_in_the_file_is_named_with_its_row(tmp_path, monkeypatch):
    rows = "".join(f"{i / 7!r},a,2021-01-02,1,{i}\n" for i in range(30))
    bad = "oops,b,2021-01-03,2,none at all\n"
    survey = check_blocks(HEAD + rows + bad, tmp_path, monkeypatch)
    assert any('("oops")' in text and "It is in row 31 (blank" in text for text in survey.notices)
    assert any("row 31" in text and 'the target "y"' in text for text in survey.notices)


@pytest.mark.parametrize(
    "rows",
    [
        ["1.0,a,2021-01-02,1.0,1", "2,b,2021-01-03,2,2", "3,zz,2021-01-03,word,3"],  # 1.0 stays 1.0
        ["1.0,a,2021-01-02,1.0,1", "2,b,2021-01-03,2,2", "1,b,2021-01-03,1,2"],  # 1.0 is 1
        ["1,a,03/04/2021,1,1", "2,b,04/05/2021,2,2", "3,b,25/12/2021,3,3"],  # the last one tells
        ["1,a,2021-01-02,007,1", "2,b,,08,2", "NA,,2021-01-02,9,"],
        ["0.1,a,2021-01-02,1,1", "12 %,b,2021-01-02,1,2", "inf,b,2021-01-02,1,2"],
        ["9007199254740993,a,2021-01-02,12345678901234567890,1", "1,b,2021-01-02,2.5,inf"],
        [",,,,", "1,a,2021-01-02,,"],
        ["a,b,c,d,e", "f,g,h,i,j"],  # refused
        ["1,a,2021-01-02,1,1", "2,a,nonsense,1,1", "2,a,2021-01-09,1,1"],
    ],
)
def test_what_one_late_cell_changes_is_changed_everywhere(tmp_path, monkeypatch, rows):
    check_blocks(HEAD + "\n".join(rows) + "\n", tmp_path, monkeypatch)


def test_the_decimal_mark_of_a_column_is_that_of_all_its_cells(tmp_path, monkeypatch):
    rows = [f'"{i},25",a,2021-01-02,1,{i}' for i in range(5)] + ["1.5,a,2021-01-02,1,2"]
    check_blocks(HEAD + "\n".join(rows) + "\n", tmp_path, monkeypatch, ReadOptions(decimal="."))
    check_blocks(HEAD + "\n".join(rows) + "\n", tmp_path, monkeypatch)


def test_classes_are_told_as_in_the_whole_file(tmp_path, monkeypatch):
    first = "n,y\n" + "".join(f"{i},{i % 2}\n" for i in range(40))
    for last in ("1", "2", "word"):
        check_blocks(f"n,y\n1,0.0\n2,1.0\n3,{last}\n", tmp_path, monkeypatch, first=first)


CELL = st.sampled_from(
    [
        "",
        "NA",
        "1",
        "1.0",
        "-2.5",
        "1e3",
        "0.1",
        "007",
        "+5",
        "1,5",
        "1 234",
        "12 %",
        "inf",
        "x",
        "-",
        "word",
        "0x1F",
        "3.14159265358979",
        "99999999999999999999",
        "2021-03-04",
        "04/03/2021",
    ]
)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(st.tuples(CELL, CELL, CELL, CELL, CELL), min_size=1, max_size=8))
def test_any_cells_are_read_as_in_the_whole_file(tmp_path, monkeypatch, rows):
    lines = [",".join(f'"{cell}"' for cell in row) for row in rows]
    options = ReadOptions(delimiter=",", header=True, decimal=".")
    check_blocks(HEAD + "\n".join(lines) + "\n", tmp_path, monkeypatch, options)


_READ_ALL = """
import sys
from gbuq_core.errors import GbuqError
from gbuq_core.streaming import open_blocks
for name in sys.argv[1:]:
    try:
        read = sum(block.num_rows for block in open_blocks(name, to_score=True).blocks(100))
    except GbuqError:
        read = -1
    print(read)
"""


def test_no_changed_parquet_file_ends_the_process(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=400), "w": rng.choice(["x", "yy"], 400)})
    frame.to_parquet(tmp_path / "whole.parquet", row_group_size=150)
    whole = (tmp_path / "whole.parquet").read_bytes()
    end = len(whole) - 8  # before it the description, with statistics and offsets
    about = end - int.from_bytes(whole[end : end + 4], "little")
    names = []
    for number in range(200):
        changed = bytearray(whole)
        for at in rng.integers(about if number % 3 else 4, end, 2):
            changed[at] = rng.integers(256)
        names.append(tmp_path / f"{number}.parquet")
        names[-1].write_bytes(changed)
    done = subprocess.run(
        [sys.executable, "-c", _READ_ALL, *map(str, names)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    codes = [int(line) for line in done.stdout.split()]
    assert len(codes) == 200
    assert {-1, 400} <= {*codes}
