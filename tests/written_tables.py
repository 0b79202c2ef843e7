"""Random tables whose cells are known, written as people and programs write them, and read again.

Each column has a style: a decimal mark, groups of digits, a unit, a sign for negative numbers, an
order of dates, words for missing values, some cells of another style, and junk rows around the
table. A cell must be read as it was meant, or be counted as unreadable or missing, or its column
must be told of by name, as `gbuq info --json` does: that its mark or its order of day and month is
in doubt, or that it is not used. Anything else is a silent error, also numbers that are used as
categories without a word.
"""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

import numpy as np
from tolerances import ZERO

from gbuq_core.tables import infer_schema, read_table
from gbuq_core.tables.column_notices import column_notices
from gbuq_core.tables.columns import as_dates, as_numbers, as_text, single_chunk

UNITS = ("{}", "{}", "{}", "{} kg", "{}%", "${}", "USD {}", "{} EUR", "{} km/h", "R$ {}", "{} m2")
MISSING = (
    "", "", "NA", "n/a", "null", r"\N", "..", "unknown", "n.a.", "-", "(null)", "TBD", "#N/A",
)  # fmt: skip
ODD = ("{}*", "<{}", "{}+", "{} lb", "oops", "12:30")
DATES = (
    "%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%Y%m%d",
    "%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%dT%H:%M:%SZ", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y",
)  # fmt: skip


class WrittenColumn(NamedTuple):
    """Cells as they are written, and what they mean: NaN or NaT is missing."""

    cells: list[str]
    meant: np.ndarray
    kind: str
    style: str


def number_text(value: float, decimals: int, decimal: str, group: str, negative: str) -> str:
    """A number in a style."""
    whole, _, rest = f"{abs(value):,.{decimals}f}".partition(".")
    text = whole.replace(",", group) + (decimal + rest if rest else "")
    return negative.format(text) if value < 0 else text


def write_numbers(rng: np.random.Generator, n: int, comma: bool) -> WrittenColumn:
    """A column of numbers in one style, with a few cells in others."""
    decimals = int(rng.choice([0, 1, 2, 2, 4]))
    decimal = "," if comma else "."
    group = str(rng.choice(["", "", "." if comma else ",", " ", "'"]))
    size = float(rng.choice([1.0, 100.0, 1e4, 1e6]))
    negative = str(rng.choice(["-{}", "-{}", "({})", "{}-", "\u2212{}"]))
    form, missing = str(rng.choice(UNITS)), str(rng.choice(MISSING))
    meant = np.round(rng.normal(size=n) * size, decimals)
    if negative in ("({})", "{}-") or rng.random() < 0.5:
        meant = np.where(rng.random(n) < 0.2, meant, np.abs(meant))
    texts = [number_text(v, decimals, decimal, group, negative) for v in meant]
    cells = [form.format(text) for text in texts]
    if negative == "({})":
        cells = [f"({form.format(t[1:-1])})" if t[0] == "(" else form.format(t) for t in texts]
    for place in rng.choice(n, rng.integers(0, n // 8), replace=False):
        cells[place], meant[place] = missing, np.nan
    for place in rng.choice(n, rng.integers(0, 3), replace=False):
        odd = str(rng.choice(ODD))
        plain = f"{abs(meant[place]):.0f}" if np.isfinite(meant[place]) else "5"
        cells[place] = odd.format(plain)
        meant[place] = np.nan if odd.format("") in ("oops", "12:30", " lb") else float(plain)
    style = f"{decimals} {decimal!r} {group!r} {form} {negative} missing {missing!r}"
    return WrittenColumn(cells, meant, "numeric", style)


def write_dates(rng: np.random.Generator, n: int) -> WrittenColumn:
    """A column of dates in one style."""
    form, missing = str(rng.choice(DATES)), str(rng.choice(MISSING))
    days = rng.integers(7_000, 20_000, n) * 86_400 + ("%H" in form) * rng.integers(0, 86_400, n)
    meant = days.astype("datetime64[s]").astype("datetime64[us]")
    cells = [moment.item().strftime(form) for moment in meant]
    for place in rng.choice(n, rng.integers(0, n // 8), replace=False):
        cells[place], meant[place] = missing, np.datetime64("NaT")
    return WrittenColumn(cells, meant, "date", f"{form} missing {missing!r}")


def write_table(seed: int) -> tuple[bytes, list[WrittenColumn]]:
    """The bytes of a table with junk around it, and its columns."""
    rng = np.random.default_rng(seed)
    n, comma = int(rng.integers(60, 160)), bool(rng.random() < 0.4)
    columns = [write_numbers(rng, n, comma) for _ in range(rng.integers(2, 6))]
    columns += [write_dates(rng, n) for _ in range(rng.integers(0, 3))]
    words = [str(rng.choice(["Ulm", "Bonn", "Kiel"])) for _ in range(n)]
    header = ["city", *(f"c{k}" for k in range(len(columns)))]
    body = [[word, *(column.cells[k] for column in columns)] for k, word in enumerate(words)]
    if rng.random() < 0.3:
        body.insert(int(rng.integers(5, n)), header)
    if rng.random() < 0.3:
        body.append(["Source: office"] + [""] * len(columns))
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=";" if comma else str(rng.choice([",", "\t", "|"])))
    above = ["Report of the year"] if rng.random() < 0.3 else []
    writer.writerows([above] * bool(above) + [header, *body])
    return sink.getvalue().encode(), columns


def silent_errors(seed: int) -> list[str]:
    """Cells of a table that are read as something else without a word."""
    data, columns = write_table(seed)
    table = read_table(data)
    schema = infer_schema(table)
    errors = []
    for place, written in enumerate(columns):
        name = f"c{place}"
        if name not in table.names or table.n_rows != len(written.cells):
            errors.append(
                f"table {seed}: {table.n_rows} rows of {len(written.cells)}, {table.names}"
            )
            break
        column, array = schema.column(name), single_chunk(table.data, name)
        words = "\n".join(column_notices([column]))
        if column.kind != written.kind:
            if f'"{name}"' not in words:
                errors.append(f"table {seed} {name}: {column.kind} ({written.style})")
            continue
        unread = as_text(array, column.missing).is_null().to_numpy(zero_copy_only=False)
        if written.kind == "numeric":
            values = as_numbers(array, column).values
            # Both are the same decimal, rounded to a float in two ways.
            same = np.isclose(values, written.meant, rtol=ZERO, atol=0.0, equal_nan=True)
            silent = ~same & ~np.isnan(values)
        else:
            dates = as_dates(array, column.date_style, column.missing).values
            silent = (dates != written.meant) & ~np.isnat(dates)
        doubted = "whether its numbers have" in words or "whether day or month comes first" in words
        for row in np.flatnonzero(silent & ~unread)[:1]:
            if not doubted:
                errors.append(f"table {seed} {name}: {written.cells[row]!r} ({written.style})")
    return errors
