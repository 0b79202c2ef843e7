"""Files that would take gigabytes or minutes: refused by a sentence, or read within bounds.

Each is read in a process of its own, which tells the most memory that it held. A loaded machine
makes seconds on the clock long, so that seconds of a core are counted.
"""

import gzip
import sys
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hostile_tables import ATTACKS, MB, MOST_MB, MOST_SECONDS, grid, measure_apart, written

from gbuq_core.errors import TableError
from gbuq_core.tables import (
    decoding,
    infer_schema,
    limits,
    parquet_file,
    read_table,
    separated_text,
)

SAID = {
    "249 MB of commas, gz": "more than 250 times its size",
    "30 MB on one line": "Line 2 of the file has 30 MB",
    "a quoted cell of 200 MB": "check its quotation marks",
    "all rows ragged": "have too many or too few cells",
    "120 million constants, Parquet": "120 million cells, more than the limit of 30 million",
    "two far corners, Excel": "needs more memory or time",
    "a long text in 200,000 cells, Excel": "needs more memory or time",
    "1.5 GB of one text, Parquet": "unpacks to more than the limit of 512 MB",
}


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("name", SAID)
def test_an_attack_takes_little_memory_and_time(name, monkeypatch):
    # A page that another test has run stands as the main module, which a new process would import.
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    measured = measure_apart(ATTACKS[name]())
    assert SAID[name] in measured.sentence
    assert measured.sentence.endswith(".")
    assert measured.peak_megabytes <= MOST_MB
    assert measured.core_seconds <= MOST_SECONDS


def test_columns_are_counted_before_cells_are_made(monkeypatch):
    monkeypatch.setattr(separated_text, "_parse", None)  # must not be called
    with pytest.raises(TableError, match="12,000 columns, more than the limit of 5,000"):
        read_table(b"," * 11_999 + b"\n" + b"," * 11_999 + b"\n")
    monkeypatch.setattr(limits, "MAX_CELLS", 1000)
    with pytest.raises(TableError, match="keep fewer rows or columns"):
        read_table(b"a,b\n" + b"1,2\n" * 600)


def test_commas_inside_of_cells_are_no_cells(monkeypatch):
    monkeypatch.setattr(limits, "MAX_CELLS", 1000)
    assert read_table(b"a;b\n" + b"1;2\n" * 400).n_rows == 400
    text = b"a,b\n" + b'1,"%s"\n' % (b"," * 100) * 300
    assert read_table(text).n_rows == 300


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_lines_are_measured_whatever_ends_them(end, monkeypatch):
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 50)
    rows = [b"a,b", *[b"1,%d" % k for k in range(40)]]
    assert read_table(end.join(rows)).n_rows == 40
    for place in (1, 17, 41):
        broken = [*rows[:place], b"x" * 51 + b",2", *rows[place:]]
        with pytest.raises(TableError, match=rf"Line {place + 1} of the file"):
            read_table(end.join(broken))
        assert read_table(end.join([*rows[:place], b"x" * 48 + b",2", *rows[place:]])).n_rows == 41


def test_a_large_cell_is_named():
    text = b"a,b\n1,2\n" + b"x" * (MB + 1) + b",3\n4,5\n"
    with pytest.raises(TableError, match=r'column "a" has a cell of 1.0 MB in row 2'):
        read_table(text)
    assert read_table(text.replace(b"xx", b"x", 1)).n_rows == 3
    table = pa.table({"t": ["y", "x" * (MB + 1)], "n": [1, 2]})
    with pytest.raises(TableError, match=r'column "t" has a cell'):
        read_table(written(table))


def test_the_ratio_counts_only_for_large_files():
    assert read_table(gzip.compress(b"a,b\n" + b"1,2\n" * 200_000)).n_rows == 200_000


def test_a_quotation_mark_never_closed_in_a_large_file_is_read_as_a_letter():
    text = b'a,b\n1,"2\n' + b"12345678,12345678\n" * 2_000_000  # more than a row may have
    table = read_table(text)
    assert table.n_rows == 2_000_001
    assert "not in pairs" in table.notices[0]


def test_many_ragged_rows_are_not_kept(monkeypatch):
    monkeypatch.setattr(separated_text, "_RAGGED_COUNTED", 10)
    with pytest.raises(TableError, match=r"More than 20 rows have .* on line 2, has 1 cell inst"):
        read_table(b"a,b\n" + b"1\n" * 100 + b"1,2\n" * 100)


def test_a_parquet_file_that_only_describes_itself(monkeypatch):
    data = written(pa.table({f"column {k}": [1, 2] for k in range(200)}))
    monkeypatch.setattr(parquet_file, "_MOST_ABOUT", 1000)
    with pytest.raises(TableError, match="describes itself"):
        read_table(data)


def test_text_recoded_in_pieces_is_the_text(monkeypatch):
    text = "a,b\n" + "".join(f"é日\U0001f600{k},{k}\n" for k in range(50))
    whole = [read_table(text.encode(code)).data for code in ("utf-8", "utf-16", "utf-32")]
    monkeypatch.setattr(decoding, "_PIECE_BYTES", 7)  # cuts letters in two
    for code in ("utf-8", "utf-16", "utf-32"):
        assert read_table(text.encode(code)).data == whole[0]
    assert read_table(gzip.compress(text.encode("utf-16"))).data == whole[0]
    damaged = text.encode() + b"caf\xe9,1\n"
    assert "1 byte of the UTF-8 text" in read_table(damaged).notices[0]


def test_a_column_of_codes_is_told_from_one_of_numbers_by_a_sample():
    rng = np.random.default_rng(1)
    words = [f"A{k % 97}" for k in range(4000)]
    numbers = [f"{v:.3f}" for v in rng.normal(size=4000)]
    few_words = ["n.d." if k % 40 == 7 else v for k, v in enumerate(numbers)]
    rows = "\n".join(",".join(row) for row in zip(words, numbers, few_words, strict=True))
    schema = infer_schema(read_table(f"w,n,f\n{rows}\n".encode()))
    assert [column.kind for column in schema.columns] == ["category", "numeric", "numeric"]
    assert dict(schema.column("f").missing_words) == {"n.d.": 100}
    assert schema.column("w").n_distinct == 97


def test_the_grid_is_a_table():
    table = read_table(grid(20, 3, (49, 58)))
    assert (table.n_rows, table.names) == (20, ["c0", "c1", "c2"])
