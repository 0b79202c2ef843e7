"""Links keep their meaning: each saved link opens the picture that it opened when it was saved.

``saved_links.json`` holds at least one link of each page, with most controls away from their
defaults, and the numbers that the page drew for it at commit 54c5600 or, of a later
page, when it came. A test opens the link and compares numbers only: words, colours and the order on
the page may change, and more may be drawn.

A link must not be saved again to get this file to pass. Where a picture is meant to change, say so
in the commit, and write the file anew with ``python -m tests.app.test_saved_links``.
"""

import json
import struct
import time
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from gbuq_core.jobs import RUNNER

APP = str(Path(__file__).resolve().parents[2] / "app.py")
SAVED = Path(__file__).with_name("saved_links.json")
LINKS = json.loads(SAVED.read_text(encoding="utf-8"))
PATIENCE = 120.0  # seconds for the fits of one page; a busy machine needs some twenty

# Of the largest absolute value of an array. Figures travel as float32 (1e-7) or in 65,535 steps
# (1.5e-5). Sums in another order (BLAS, threads) differ by 1e-15, which 200 steps of an optimiser
# or a Cholesky factor enlarge, to about 1e-6 in the worst case here. A control that moves by one
# step changes some statistic by more than 1e-2.
TOLERANCE = 1e-4
NOTHING = 1e-12  # what rounding leaves of a zero
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
DIGITS = 7
# How large, thick and where: the look of a picture, not what it says.
LOOK = frozenset(
    (
        *("version", "columns", "facets", "share", "aspect", "height", "stripHeight"),
        *("stripColumns", "below", "between", "legend", "fps"),
        *("opacity", "size", "width", "radius", "dash", "colour", "colours"),
    )
)
TYPES = {"f4": "<f4", "u1": "u1", "u2": "<u2", "u4": "<u4", "b1": "u1"}


def open_link(page, query):
    """Follow a link into a fresh session and wait until everything it asks for is computed."""
    at = AppTest.from_file(APP, default_timeout=PATIENCE)
    if page != "home":
        at.switch_page(f"pages/{page}.py")
    for name, texts in parse_qs(query).items():
        at.query_params[name] = texts
    at.run()
    deadline = time.monotonic() + PATIENCE
    settled = False
    while not settled:  # a page may ask for more once it has the first results
        while RUNNER.busy:
            assert time.monotonic() < deadline, "the page is still computing"
            time.sleep(0.02)
        at.run()
        settled = not RUNNER.busy
    at.run()
    assert not at.exception
    return at


def lost(at, query):
    """The parameters that the address, which the Share button copies, no longer says.

    A box of a whole number may write 20 as 20.0 once it was drawn.
    """
    given = parse_qs(query)
    address = {
        name: [text.removesuffix(".0") for text in (texts if isinstance(texts, list) else [texts])]
        for name, texts in at.query_params.items()
    }
    return {
        name: (texts, address.get(name))
        for name, texts in given.items()
        if address.get(name) != [text.removesuffix(".0") for text in texts]
    }


def drawn(at):
    """What a page draws, as numbers: figures, charts and tables, each ``{path: statistics}``."""
    figures = [numbers_of_figure(f.proto.bytes) for f in at.get("bidi_component") if f.proto.bytes]
    charts = [numbers_of_chart(chart.proto) for chart in at.get("vega_lite_chart")]
    tables = [numbers_of_table(table.value) for table in at.dataframe]
    named = {"figure": figures, "chart": charts, "table": tables}
    return [
        {"kind": kind, "numbers": numbers}
        for kind, parts in named.items()
        for numbers in parts
        if numbers
    ]


def numbers_of_figure(data):
    """Both renderers get a JSON header, which refers to the arrays behind it."""
    (length,) = struct.unpack_from("<I", data)
    body = data[4 + length :]
    numbers = {}

    def visit(value, path):
        if isinstance(value, dict) and value.keys() == {"at", "n", "type"}:
            kind, n = value["type"], value["n"]
            count = -(-n // 8) if kind == "b1" else n
            array = np.frombuffer(body, TYPES[kind], count, value["at"])
            if kind == "b1":
                array = np.unpackbits(array, count=n, bitorder="little")
            numbers[path] = statistics(array)
        elif isinstance(value, dict) and "packed" in value:
            first, count = value["packed"]
            numbers[path] = statistics(np.frombuffer(body, "<f4", count, 4 * first))
        elif isinstance(value, dict):
            if isinstance(value.get("data"), str) and "count" in value:  # many lines in 16 bits
                numbers[f"{path}.data"] = statistics(np.frombuffer(b64decode(value["data"]), "<u2"))
            for name, part in value.items():
                if name not in LOOK or isinstance(part, dict):
                    visit(part, f"{path}.{name}" if path else name)
        elif isinstance(value, list) and value and all(map(is_number_or_none, value)):
            numbers[path] = statistics(np.array(value, dtype=np.float64))
        elif isinstance(value, list) and not all(isinstance(part, str) for part in value):
            numbers[path] = float(len(value))  # one panel or line more is another picture
            for i, part in enumerate(value):
                visit(part, f"{path}.{i}")
        elif value is None:
            numbers[path] = None
        elif isinstance(value, bool | int | float):
            numbers[path] = float(value)

    visit(json.loads(data[4 : 4 + length]), "")
    return numbers


def is_number_or_none(value):
    return value is None or isinstance(value, int | float)


def numbers_of_chart(proto):
    """A Vega-Lite chart's rows: sent beside the specification, or inside it."""
    numbers = {}
    if proto.data.data:
        numbers = numbers_of_table(pa.ipc.open_stream(BytesIO(proto.data.data)).read_pandas())
    spec = json.loads(proto.spec)
    for i, part in enumerate((spec, *spec.get("layer", ()))):
        rows = part.get("data", {}).get("values", [])
        for name in sorted({name for row in rows for name in row}):
            column = [row.get(name) for row in rows]
            if all(map(is_number_or_none, column)):
                numbers[f"rows.{i}.{name}"] = statistics(np.array(column, dtype=np.float64))
    return numbers


def numbers_of_table(frame):
    return {
        f"column.{i}": statistics(frame.iloc[:, i].to_numpy(dtype=np.float64))
        for i, dtype in enumerate(frame.dtypes)
        if dtype.kind in "iufb"
    }


def statistics(array):
    """Count, how many are finite, mean, std, quantiles, and which end has the larger values.

    The last one is the mean of values times -1 (first) to 1 (last): it notices another order.
    """
    values = np.asarray(array, dtype=np.float64).ravel()
    finite = np.isfinite(values)
    kept = values[finite]
    if not kept.size:
        return [values.size, 0]
    lean = np.mean(kept * np.linspace(-1.0, 1.0, values.size)[finite])
    measures = [kept.mean(), kept.std(), *np.quantile(kept, QUANTILES), lean]
    return [values.size, kept.size, *(float(f"{value:.{DIGITS}g}") for value in measures)]


def missing(saved, shown):
    """Sentences about each saved part that the page does not draw; the nearest one is compared."""
    sentences = []
    for number, part in enumerate(saved):
        others = [other["numbers"] for other in shown if other["kind"] == part["kind"]]
        differences = [unlike(part["numbers"], other) for other in others]
        nearest = min(differences, key=len, default=["none is drawn"])
        if nearest:
            more = f" and {len(nearest) - 4} more" if len(nearest) > 4 else ""
            sentences.append(f"{part['kind']} {number}: {'; '.join(nearest[:4])}{more}")
    return sentences


def unlike(saved, shown):
    """Which saved numbers of one part are others now."""
    return [
        f"{path} was {value}, is {shown.get(path)}"
        for path, value in saved.items()
        if not same(value, shown.get(path))
    ]


def same(first, second):
    if first is None or second is None:
        return first is second
    first, second = np.atleast_1d(first), np.atleast_1d(second)
    if first.shape != second.shape or (first.size > 1 and tuple(first[:2]) != tuple(second[:2])):
        return False  # another number of values
    first, second = (values[2:] if values.size > 1 else values for values in (first, second))
    allowed = NOTHING + TOLERANCE * np.abs(first).max(initial=0.0)
    return bool(np.all(np.abs(first - second) <= allowed))


def write_saved_links(path=SAVED):
    """Save what this code draws for links that drew something else, one array a line."""
    links = []
    for link in LINKS:
        at = open_link(link["page"], link["query"])
        assert not lost(at, link["query"]), (link["page"], lost(at, link["query"]))
        shown = drawn(at)
        links.append({**link, "drawn": shown} if missing(link["drawn"], shown) else link)
    parts = []
    for link in links:
        pictures = []
        for part in link["drawn"]:
            lines = [f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in part["numbers"].items()]
            rows = ",\n".join(lines)
            pictures.append(f'   {{"kind": "{part["kind"]}", "numbers": {{\n{rows}\n   }}}}')
        drawings = ",\n".join(pictures)
        page, query = json.dumps(link["page"]), json.dumps(link["query"])
        parts.append(f' {{"page": {page},\n  "query": {query},\n  "drawn": [\n{drawings}\n  ]}}')
    path.write_text("[\n" + ",\n".join(parts) + "\n]\n", encoding="utf-8")


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link["page"])
def test_a_saved_link_opens_the_same_picture(link):
    at = open_link(link["page"], link["query"])
    assert lost(at, link["query"]) == {}
    assert link["drawn"]
    assert missing(link["drawn"], drawn(at)) == []
    # The same controls with the same values: a style sheet hides what is not the picture.
    at.button(key="_present").click().run()
    assert not at.exception
    assert "".join(at.query_params["present"]) == "1"
    assert at.button(key="_present_leave")
    assert lost(at, link["query"]) == {}


def test_each_page_has_a_saved_link():
    pages = {path.stem for path in Path(APP).with_name("pages").glob("*.py")}
    assert {link["page"] for link in LINKS} == pages - {"explore"}  # cards, nothing to set


@pytest.mark.parametrize(
    ("page", "old", "new"),
    [
        ("home", "rows=1600", "rows=3200"),  # the data
        ("heart", "depth=3", "depth=4"),  # a fit
        ("neighbours", "tau=50", "tau=70"),  # what is read off the same fit
        ("your_data", "burn_in=2", "burn_in=1"),  # which members of the same fit count
    ],
)
def test_one_control_moved_by_one_step_is_noticed(page, old, new):
    link = next(link for link in LINKS if link["page"] == page and old in link["query"].split("&"))
    query = link["query"].replace(old, new)
    at = open_link(page, query)
    assert lost(at, query) == {}
    assert missing(link["drawn"], drawn(at))


def test_a_refused_parameter_is_noticed():
    at = open_link("home", "rows=31")
    assert lost(at, "rows=31") == {"rows": (["31"], None)}


def test_numbers_that_differ_by_rounding_are_the_same_and_others_are_not():
    values = np.sin(np.arange(50.0))
    assert same(statistics(values), statistics(values + 1e-6))
    assert not same(statistics(values), statistics(values[::-1]))
    assert not same(statistics(values), statistics(values[:-1]))
    assert not same(statistics(values), statistics(1.01 * values))
    assert not same(1.0, 0.0)


if __name__ == "__main__":
    write_saved_links()
