"""The page "Your data" in a test: open it, drop a file on it, read what it says."""

import json
import re
import time

import numpy as np
import pandas as pd

from gbuq_core.jobs import RUNNER
from tests.app.opening import open_link
from tests.app.waiting import is_whole

FILE = "pages/your_data.py"
NASTY = (
    "<img src=x onerror=alert(1)>",
    "$\\alpha$",
    '=HYPERLINK("http://evil.example","x")',
    "[a](http://evil.example)",
    "![b](http://evil.example/b.png)",
)


def open_at_once(**query):
    """The page as it is, whatever is being worked out; by few cuts of one model: it is quick."""
    if "method" not in query:
        query = {"ensemble": "virtual", **query}
    return open_link("your_data", {"trees": "50", "step": "5", **query})


def open_page(file=None, **query):
    """The page, settled, with a file dropped on it if one is given."""
    at = open_at_once(**query)
    if file is not None:
        return drop(at, file)
    return at if is_whole(at) else settle(at)


def drop(at, data, name="table.csv", key="upload"):
    """Drop a file; a second one where its place is, before the section that was open comes back."""
    before = None
    if key.startswith("upload_second"):
        before = at.selectbox(key="section").value
        open_section(at, "Second file")
    # An uploader that was emptied has a number behind its key.
    zone = next(zone for zone in at.file_uploader if re.fullmatch(rf"{key}(-\d+)?", zone.key))
    zone.set_value((name, data, "text/csv")).run()
    settle(at)
    return at if before is None else open_section(at, before)


def settle(at):
    """Rerun until nothing is being trained, a minute at most: kernels may have to be compiled."""
    for _ in range(1200):
        if not RUNNER._live:
            break
        time.sleep(0.05)
    return at.run()


def open_section(at, name):
    at.selectbox(key="section").set_value(name)
    return at.run()


def judged(at):
    """All that is told where the result is judged: texts and the scorecard."""
    open_section(at, "Is it any good?")
    sentences = [*texts(at), *(text.value for text in at.markdown)]
    open_section(at, "Rows")
    return sentences


def texts(at):
    return [element.value for element in at.text]


def says(at, part):
    return any(part in text for text in texts(at))


def rows_of(at):
    """The list of rows as sent to the browser; the list of columns has no uncertainty."""
    return next(frame.value for frame in at.dataframe if "total" in frame.value)


def tables_of(at):
    """The tables of the page, with the headings that a reader sees."""
    tables = []
    for each in at.dataframe:
        columns = json.loads(each.proto.columns or "{}")
        labels = {name: about.get("label") or name for name, about in columns.items()}
        tables.append(each.value.rename(columns=labels))
    return tables


def table_with(at, *headings):
    """The one table that has these headings."""
    (table,) = [table for table in tables_of(at) if {*headings} <= {*table.columns}]
    return table


def csv_of(**columns):
    return pd.DataFrame(columns).to_csv(index=False).encode()


def numbers(n=60, **more):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    return csv_of(x=x, z=rng.normal(size=n), y=x + 0.1 * rng.normal(size=n), **more)
