"""Numbers, sizes, CSV and Markdown as people and programs read them."""

import csv
import io
import math
import re
import threading

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tolerances import SAME_SUM

from gbuq_core.presentation import (
    Tally,
    csv_text,
    digits,
    format_bytes,
    harmless,
    markdown_table,
    megabytes,
    percent,
    seconds_text,
    short,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
PLACES = st.integers(1, 12)


@pytest.mark.parametrize("write", [digits, short])
@given(number=FINITE, places=PLACES)
@example(number=999.96, places=3)
@example(number=0.001, places=3)
@example(number=9.999999e-5, places=2)
@example(number=999_999_999.9, places=3)
@example(number=5e-324, places=3)
def test_a_number_reads_back_to_its_digits(write, number, places):
    text = write(number, places)
    assert float(text.replace(",", "")) == float(f"{number:.{places - 1}e}")


@given(number=st.floats(1e-4, 9.4e8) | st.floats(-9.4e8, -1e-4), places=PLACES)
def test_numbers_of_readable_size_have_no_exponent(number, places):
    for text in (digits(number, places), short(number, places)):
        assert re.fullmatch(r"-?\d{1,3}(,\d{3})*(\.\d+)?", text)


@given(number=st.floats(1e-4, 9.4e8), places=PLACES)
def test_a_table_shows_all_digits_and_a_sentence_no_zeros_at_the_end(number, places):
    padded, bare = digits(number, places), short(number, places)
    assert len(re.sub(r"[,.]", "", padded).lstrip("0")) >= places
    assert padded.startswith(bare)
    assert set(padded[len(bare) :]) <= set("0.")
    assert digits(number, places, "+") == f"+{padded}"
    assert digits(-number, places, "+") == f"-{padded}"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (999.96, "1,000"),
        (99.96, "100"),
        (9.996, "10.0"),
        (1432.0, "1,430"),
        (12345.6, "12,300"),
        (0.03009, "0.0301"),
        (np.float32(0.25), "0.250"),
        (np.int64(12_345), "12,300"),
        (0.0001, "0.000100"),
        (1.234e12, "1.23e+12"),
        (-0.0, "0"),
        (None, "\u2013"),
        (-math.inf, "\u2212\u221e"),
    ],
)
def test_digits(number, text):
    assert digits(number) == text


def test_shares_durations_and_sizes():
    # 0.6025 lies above its half, 60.25 on it.
    assert (percent(0.6025), percent(12.5), percent(math.inf)) == ("60.3 %", "1,250 %", "\u2013")
    assert (seconds_text(0.0), seconds_text(59.4), seconds_text(59.6), seconds_text(3599.7)) == (
        *("0.001 s", "59 s", "1 min 0 s", "60 min 0 s"),
    )
    assert [format_bytes(size) for size in (1_234, 56_700_000, 999.9e6, 3.14e9, 2.5e12)] == [
        *("0.00123 MB", "56.7 MB", "1,000 MB", "3.1 GB", "2,500 GB"),
    ]
    assert (megabytes(999), megabytes(1_000), megabytes(2.5e9)) == ("< 0.001", "0.00100", "2,500")


@pytest.mark.parametrize("share", [0.6025, 0.1025, 0.9885, 0.2375, 0.5])
def test_words_and_table_round_a_share_alike(share):
    in_words = float(percent(share).rstrip(" %"))
    # One rounding of a product; a differing digit is 1e-3.
    assert in_words == pytest.approx(100 * float(digits(share)), rel=SAME_SUM)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
CELL = st.one_of(TEXT, st.none(), st.booleans(), st.integers(), st.floats())


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n))))
def test_a_csv_reads_back(rows):
    names = [f"column, {i}" for i in range(len(rows[0]) if rows else 1)]
    text = csv_text(names, rows, places=17)
    head, *body = csv.reader(io.StringIO(text, newline=""))
    assert head == names
    assert len(body) == len(rows)
    for line, row in zip(body, rows, strict=True):
        for cell, value in zip(line, row, strict=True):
            if value is None or value != value:
                assert cell == ""
            elif isinstance(value, str):
                assert cell in (value, f"'{value}")
            elif isinstance(value, bool):
                assert cell == str(value)
            else:
                assert type(value)(cell) == value


def test_a_csv_keeps_whole_numbers_whole_and_ends_lines_as_one_does():
    row = [np.float64(1000.0), np.int64(2**40), np.True_, np.float32(0.1), "a\rb", math.inf]
    assert csv_text(list("abcdef"), [row]) == (
        'a,b,c,d,e,f\n1000,1099511627776,True,0.100000001,"a\rb",inf\n'
    )


@given(TEXT)
def test_only_plain_numbers_begin_with_a_sign(text):
    safe = harmless(text)
    assert safe in (text, f"'{text}")
    if safe.strip()[:1] in set("=+-@\uff1d\uff0b\uff0d\uff20"):
        float(safe.replace(",", "."))


CELLS = st.text(st.sampled_from(list("ab|\\*\n\u2028 ")), max_size=6)


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.tuples(*[CELLS] * n), min_size=1)))
def test_markdown_cells_stay_inside_their_cells(rows):
    head, rule, *body = markdown_table(rows).split("\n")
    assert len(body) == len(rows) - 1
    assert rule.count("-:") == len(rows[0]) - 1
    for line, row in zip([head, *body], rows, strict=True):
        cells = re.findall(r" ((?:\\.|[^\\|])*) (?=\|)", line)
        assert [re.sub(r"\\(.)", r"\1", cell) for cell in cells] == [
            " ".join(cell.splitlines()) for cell in row
        ]


def test_columns_of_a_markdown_table_are_aligned_as_told():
    rows = [("a", "b", "c"), ("1", "2", "3")]
    assert markdown_table(rows).split("\n")[1] == "|:--|--:|--:|"
    assert markdown_table(rows, "r").split("\n")[1] == "|--:|--:|--:|"
    assert markdown_table(rows, "lrl").split("\n")[1] == "|:--|--:|:--|"


def test_threads_add_to_one_tally():
    tally = Tally()
    threads = [
        threading.Thread(target=lambda: [tally.add() for _ in range(1000)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tally.count() == 4000
