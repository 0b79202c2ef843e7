"""Tables as a user's file holds them."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from gbuq_core.tables import add_unfamiliarity, measure_unfamiliarity, read_table


def as_table(frame, **options):
    return read_table(frame.to_csv(index=False).encode(), **options)


def table_of(decimal=".", **columns):
    delimiter = ";" if decimal == "," else ","
    lines = [delimiter.join(columns)]
    lines += [delimiter.join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return read_table("\n".join(lines).encode())


def with_unfamiliarity(scored):
    return add_unfamiliarity(scored, measure_unfamiliarity(scored.training, scored.scored))


def as_parquet(table, **options):
    """A table, or columns by their names, as a file."""
    sink = io.BytesIO()
    parquet.write_table(pa.table(table), sink, **options)
    return sink.getvalue()


def regression_frame(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, n)
    group = rng.choice(["a", "b", "c"], n)
    y = np.sin(2 * x) + (group == "a") + 0.2 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "group": group, "y": y}).round(6)


def workbook_of(**sheets):
    """An Excel file with sheets of rows."""
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()
