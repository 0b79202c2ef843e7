"""Tables as a user's file holds them."""

import io

import numpy as np
import pandas as pd

from gbuq_core.tables import read_table


def as_table(frame, **options):
    return read_table(frame.to_csv(index=False).encode(), **options)


def table_of(decimal=".", **columns):
    delimiter = ";" if decimal == "," else ","
    lines = [delimiter.join(columns)]
    lines += [delimiter.join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return read_table("\n".join(lines).encode())


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
