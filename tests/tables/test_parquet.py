"""Parquet files that unpack to much more than they are, and cells that no table here has."""

import datetime as dt
import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from table_parts import as_parquet

from gbuq_core.errors import MemoryLimitExceeded, TableError
from gbuq_core.tables import (
    ScorePlan,
    edit_schema,
    infer_schema,
    prepare_new,
    prepare_training,
    read_table,
    score_table,
    to_csv_bytes,
    to_parquet_bytes,
)
from gbuq_core.tables.columns import plain_column, single_chunk
from gbuq_core.tables.parquet_pages import unpacked_bytes

DAY = 86_400


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("coded", [True, False])
def test_text_that_unpacks_to_more_than_the_memory_is_refused(groups, kind, coded, monkeypatch):
    values = pa.array(["long" * 5_000], kind)
    codes = pa.array(np.zeros(2_000, np.int32))
    text = pa.DictionaryArray.from_arrays(codes, values) if coded else values.take(codes)
    table = pa.table({"text": text, "n": np.arange(2_000)})
    data = as_parquet(table, row_group_size=2_000 // groups)
    assert len(data) < 100_000  # it unpacks to 40 MB
    assert read_table(data).n_rows == 2_000
    # 20 MB would be enough for the file and its cells, but not for the text of all of them.
    monkeypatch.setattr("gbuq_core.resources.available_memory_bytes", lambda: 20_000_000)
    before = pa.total_allocated_bytes()
    with pytest.raises(MemoryLimitExceeded, match="Reading this file"):
        read_table(data)
    assert pa.total_allocated_bytes() - before < 20_000_000


def test_bytes_that_are_dropped_anyway_are_not_unpacked():
    lists = pa.array([["long" * 1_000] * 3] * 50)
    table = read_table(as_parquet({"a": range(50), "lists": lists, "b": ["x", None] * 25}))
    assert table.names == ["a", "b"]
    assert table.data["b"].to_pylist() == ["x", None] * 25
    assert table.notices == (
        'The column "lists" holds lists, structures or bytes and cannot be used.',
    )


@pytest.mark.parametrize("rows", [1, 2, 50])
def test_columns_are_found_by_place_whatever_their_names(rows):
    columns = [
        pa.array([[1], [2]]),
        pa.array(["s", "t"]),
        pa.array([{"b": 1, "c": "x"}] * 2),
        pa.array(["u", None]).dictionary_encode(),
        pa.array([5, 6]),
    ]
    names = ["lists", "a.b", "a", "a", "a.c"]
    table = read_table(as_parquet(pa.table(columns, names=names), row_group_size=rows))
    assert table.names == ["a.b", "a", "a.c"]
    assert [table.data[k].to_pylist() for k in range(3)] == [["s", "t"], ["u", None], [5, 6]]


FAR = {
    "date32": (pa.date32(), 2**31 - 1, 1),
    "date32, before": (pa.date32(), -(2**31), 1),
    "date64": (pa.date64(), 10**7 * 1_000 * DAY, 1_000 * DAY),
    "seconds": (pa.timestamp("s"), 2**50, 1),
    "milliseconds": (pa.timestamp("ms"), 2**62, 1),
    "microseconds": (pa.timestamp("us"), 253_402_300_800 * 10**6, 1),
    "microseconds, zoned": (pa.timestamp("us", "Europe/Berlin"), -(2**62), 1),
}


@pytest.mark.parametrize("name", FAR)
def test_dates_beyond_the_calendar_count_as_missing(name):
    kind, far, near = FAR[name]
    integers = pa.int32() if kind == pa.date32() else pa.int64()
    day = pa.array([far, near, None], integers).view(kind)
    table = read_table(as_parquet({"day": day, "n": [1, 2, 3]}))
    column = single_chunk(table.data, "day")
    assert column.is_valid().to_pylist() == [False, True, False]
    assert column[1].as_py().year == 1970
    assert '1 date of the column "day" is outside the years 1 to 9999' in table.notices[0]
    assert b"out of range" not in to_csv_bytes(plain_column(column).to_frame("day"))


def test_the_ends_of_the_calendar_are_dates():
    ends = [-62_135_596_800, 253_402_300_799]
    table = read_table(as_parquet({"t": pa.array(ends, pa.timestamp("s")), "n": [1, 2]}))
    assert [value.year for value in table.data["t"].to_pylist()] == [1, 9999]
    nanoseconds = pa.array([-(2**63), 2**63 - 1], pa.timestamp("ns"))
    table = read_table(as_parquet({"t": nanoseconds, "n": [1, 2]}))
    assert [value.year for value in table.data["t"].to_pylist()] == [1677, 2262]
    assert table.notices == ()


def test_long_durations_do_not_overflow():
    table = read_table(
        as_parquet({"d": pa.array([2**60, 3, None], pa.duration("ms")), "n": [1, 2, 3]})
    )
    assert table.data["d"].to_pylist() == [2**60 / 1_000, 0.003, None]


def test_text_that_is_none_is_left_out_with_a_notice():
    places, cells = np.array([0, 1, 2], np.int32), b"\xff\xfe"
    bad = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(places), pa.py_buffer(cells)])
    table = read_table(as_parquet({"bad": bad, "x": [1, 2], "y": [3, 4]}))
    assert table.names == ["x", "y"]
    assert table.notices == ('The column "bad" holds damaged values and cannot be used.',)


IDS = {  # whole numbers that no double holds, and a missing one
    "int64 with gaps": ([1600000004950127306, None, -(2**53) - 1], pa.int64()),
    "uint64": ([2**63 + 1, 2**63 + 3, 2**64 - 1], pa.uint64()),
    "uint64 with gaps": ([2**63 + 1, None, 2**64 - 1], pa.uint64()),
    "long decimal": ([10**20 + 1, None, 5], pa.decimal128(38, 0)),
    "short decimal": ([10**17 + 1, None, 5], pa.decimal128(18, 0)),
}


@pytest.mark.parametrize("name", IDS)
def test_whole_numbers_leave_as_they_came(name):
    values, kind = IDS[name]
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    data = as_parquet({"key": pa.array(values * 20, kind), "x": x, "y": x + rng.normal(size=60)})
    plan = ScorePlan(n_trees=5, ensemble="virtual")
    frame = score_table(read_table(data), "y", plan=plan).frame
    cells = pd.read_csv(io.BytesIO(to_csv_bytes(frame)), dtype=str, keep_default_na=False)["key"]
    assert cells.tolist() == ["" if v is None else str(v) for v in values] * 20
    keys = parquet.read_table(io.BytesIO(to_parquet_bytes(frame)))["key"].to_pylist()
    assert [None if v is None else int(v) for v in keys] == values * 20


@pytest.mark.parametrize("marker", ["9999-12-31", "9999-12-31 00:00:00", "9999-12-31T00:00"])
def test_a_date_that_means_missing_is_none(marker):
    days = [dt.datetime(9999, 12, 31), dt.datetime(2024, 2, 29), dt.datetime(2024, 3, 1), None]
    table = read_table(as_parquet({"day": days * 10, "y": np.arange(40.0)}))
    schema = edit_schema(table, infer_schema(table), missing_values={"day": (marker, "soon")})
    assert (schema.columns[0].kind, schema.columns[0].n_missing) == ("date", 20)
    (sentence,) = [notice for notice in schema.notices if notice.startswith("No cell")]
    assert '"soon"' in sentence
    X = prepare_training(table, schema, "y").X
    assert X["day: days"].isna().sum() == 20
    assert X["day: days"].max() == 19_783.0  # 1 March 2024


@pytest.mark.parametrize("start", [2**63, 2**60])
def test_long_numbers_are_counted_as_they_are_written(start):
    keys = pa.array(range(start, start + 150), pa.uint64())
    groups = pa.array([start + k % 3 for k in range(150)], pa.uint64())
    table = read_table(as_parquet({"key": keys, "group": groups, "y": np.arange(150.0) % 7}))
    key, group, _ = infer_schema(table).columns
    assert (key.kind, key.n_distinct, key.used) == ("identifier", 150, False)
    assert (group.kind, group.n_distinct, group.used) == ("category", 3, True)


def indexed(n=60, seed=0):
    """A table of pandas whose index orders the target, and which is not in its order."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n)})
    frame["y"] = np.arange(n) + rng.normal(size=n)
    return frame.sample(frac=1.0, random_state=seed)


@pytest.mark.parametrize("name", [None, "visit"])
def test_the_index_of_pandas_is_no_feature(name):
    frame = indexed().rename_axis(name)
    table = read_table(as_parquet(frame))
    index = name or "__index_level_0__"
    assert table.names == ["x", "y", index]  # it stays in the output
    schema = infer_schema(table)
    training = prepare_training(table, schema, "y")
    assert list(training.X) == ["x"]
    (sentence,) = [notice for notice in training.notices if index in notice]
    assert sentence.startswith(f'The column "{index}" was the index of a pandas table')
    with_index, without = (
        read_table(as_parquet(new), to_score=True) for new in (frame, frame.reset_index(drop=True))
    )
    assert prepare_new(with_index, training).X.equals(prepare_new(without, training).X)
    chosen = prepare_training(table, edit_schema(table, schema, used={index: True}), "y")
    assert list(chosen.X) == ["x", index]
    assert not [notice for notice in chosen.notices if index in notice]


def test_an_index_of_row_numbers_is_no_column():
    table = read_table(as_parquet(indexed().reset_index(drop=True)))
    assert (table.names, table.source.index_columns) == (["x", "y"], ())


def varint(value, width=0):
    """An integer as Parquet's footer has it, in at least so many bytes."""
    parts = []
    value *= 2
    while value >= 128 or len(parts) + 1 < width:
        parts.append(128 | value & 127)
        value >>= 7
    return bytes([*parts, value])


def with_lie(data, truth, claim):
    """The file with another number where its footer says this one."""
    at = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    old = varint(truth)
    assert old in data[at:]
    return data[:at] + data[at:].replace(old, varint(claim, len(old)))


@pytest.mark.parametrize("options", [{}, {"data_page_version": "2.0"}, {"row_group_size": 30_000}])
def test_a_file_that_lies_about_its_size_is_refused_before_it_is_unpacked(options, monkeypatch):
    cells = pa.array(["long" * 50 + str(k) for k in range(100_000)])
    data = as_parquet(
        {"t": cells, "n": range(100_000)}, use_dictionary=False, compression="gzip", **options
    )
    about = parquet.ParquetFile(pa.BufferReader(data)).metadata
    groups = [about.row_group(k) for k in range(about.num_row_groups)]
    lie = data
    for size in {group.column(0).total_uncompressed_size for group in groups}:
        lie = with_lie(lie, size, 1_000)
    claimed = parquet.ParquetFile(pa.BufferReader(lie)).metadata.row_group(0).column(0)
    assert claimed.total_uncompressed_size == 1_000
    assert read_table(lie).n_rows == 100_000  # what it holds is within the limits
    monkeypatch.setattr("gbuq_core.tables.limits.MAX_TEXT_BYTES", 10**7)
    with pytest.raises(TableError, match="more than the limit"):
        read_table(data)
    before = pa.total_allocated_bytes()
    monkeypatch.setattr("gbuq_core.tables.parquet_file.text_bytes", None)  # nothing is unpacked
    with pytest.raises(TableError, match="more than the limit"):
        read_table(lie)
    assert pa.total_allocated_bytes() - before < 10**6


def test_numbers_of_rows_that_contradict_each_other_are_damage():
    data = as_parquet({"n": np.arange(70_000), "m": range(70_000)}, row_group_size=40_000)
    assert read_table(data).n_rows == 70_000
    for truth, claim in ((70_000, 3_000), (40_000, 45_000)):
        with pytest.raises(TableError, match="damaged"):
            read_table(with_lie(data, truth, claim))


def test_a_page_header_of_another_form_is_damage():
    # Type 0 (data), sizes 1 and 1, and a number where the header of the data page stands.
    header = bytes([0x15, 0x00, 0x15, 0x02, 0x15, 0x02, 0x25, 0x02, 0x00])
    data = as_parquet({"x": [1.0, 2.0]}, use_dictionary=False)
    about = parquet.ParquetFile(pa.BufferReader(data)).metadata
    at = about.row_group(0).column(0).data_page_offset
    with pytest.raises(pa.ArrowInvalid, match="cannot be read"):
        unpacked_bytes(data[:at] + header + data[at + len(header) :], about, [0])


def test_a_list_without_end_is_damage():
    # Field 4, a list of 2**62 booleans.
    endless = bytes([0x49, 0xF1, *[0x80] * 8, 0x40, 0x00])
    data = endless + len(endless).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(pa.ArrowInvalid, match="cannot be read"):
        unpacked_bytes(data, SimpleNamespace(num_rows=1), [0])


def test_no_byte_of_the_description_ends_the_process():
    """A column whose statistics contradict its kind does, in Arrow's object for a column."""
    data = as_parquet({"a": [1.0, 2.0, None], "b": ["x", "y", "x"]})
    first = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    n_refused = 0
    for at in range(first, first + 120):  # the kinds of the columns and where their pages are
        for value in (0, 64):
            try:
                read_table(data[:at] + bytes([value]) + data[at + 1 :])
            except TableError:
                n_refused += 1
    assert n_refused > 60


def test_truth_values_uuids_periods_and_json_are_read_or_named_for_what_they_are():
    uuids = [bytes([k] * 16) for k in range(3)]
    months = pa.array([612, None, 614], pa.int64())  # since 1970
    kept = {
        b"ARROW:extension:name": b"pandas.period",
        b"ARROW:extension:metadata": b'{"freq": "M"}',
    }
    schema = pa.schema(
        [
            pa.field("who", pa.uuid()),
            pa.field("yes", pa.bool8()),
            pa.field("js", pa.json_()),
            pa.field("month", pa.int64(), metadata=kept),
        ]
    )
    columns = [
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array(uuids, pa.binary(16))),
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8())),
        pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}", "{}", "{}"])),
        months,
    ]
    table = read_table(as_parquet(pa.Table.from_arrays(columns, schema=schema)))
    assert table.data["who"][1].as_py() == "01010101-0101-0101-0101-010101010101"
    assert table.data["yes"].to_pylist() == [True, False, None]
    assert table.data["month"].to_pylist() == [
        dt.datetime(2021, 1, 1),
        None,
        dt.datetime(2021, 3, 1),
    ]
    assert table.notices == (
        'The column "month" holds periods, each of which is read as the time when it begins.',
        'The column "js" holds JSON, which is read as text.',
    )
