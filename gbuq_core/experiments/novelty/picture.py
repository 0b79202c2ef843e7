"""Maps of what is new to a model, side by side.

Training rows lie on every map; the leaves of the trees that find a place most novel on one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.novelty.data import SIDE, Array
from gbuq_core.experiments.novelty.erasing import Place, span_around
from gbuq_core.experiments.novelty.fit import (
    NoveltyFit,
    NoveltyMaps,
    NoveltyRun,
    ranks_of,
    unit_of,
)
from gbuq_core.experiments.novelty.look import PlaceLook
from gbuq_core.experiments.novelty.plan import (
    APART,
    METHODS,
    ORDER,
    OWN,
    OWN_LABEL,
    POSITIVE,
    SHOWS,
)
from gbuq_core.experiments.novelty.scores import describe_novelty, support_of
from gbuq_core.figures.canvas.live import offered
from gbuq_core.figures.canvas.panels import (
    Line,
    Marker,
    Panel,
    PanelSheet,
    Points,
    Strip,
    StripLine,
)
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.figures.vega import AXIS_HEIGHT, Spec, bars_of, distinct, layer, quantity, tip
from gbuq_core.macau.results import LeafEllipses
from gbuq_core.presentation import digits, one_line, short

MACAU = METHOD_STYLES["macau"]
# Rows lie where novelty is low and maps are dark: light colours, told apart by any eye.
CLASS_COLOURS = ("#e69f00", "#56b4e9", "#cc79a7", "#f0e442", "#ffffff")
MOST_POINTS = 1500
_OTHERS = ("isolation", "distance")  # scores that are not MACAU's
_ELLIPSE, _ELLIPSE_STDS, _CORNERS = "#ffffff", 2.0, 48
_LEAVES = "leaves that call this place newest (two standard deviations)"


def novelty_sheet(
    run: NoveltyRun,
    panels: Mapping[str, Panel] | None = None,
    *,
    look: PlaceLook | None = None,
    point: tuple[float, float] | None = None,
    bar: Sequence[LiveKnob] = (),
    knobs: Sequence[LiveKnob] = (),
    alt: str = "",
) -> PanelSheet:
    """The settings' maps, or those that are given, which follow the knobs of ``bar``."""
    drawn = novelty_panels(run, look) if panels is None else panels
    sheet = [replace(panel, points=_dots(run.fit)) for panel in drawn.values()]
    known, outline_label = support_of(run.fit), ""
    if known is not None and sheet:
        sheet[0] = replace(sheet[0], outlined=as_map(known))
        outline_label = "where nearly all rows lie"
    point = point if look is None else look.point
    at = {knob.key for knob in bar}
    focus = _where_rows_are(run.fit)
    return PanelSheet(
        panels=sheet,
        columns=_columns(len(sheet)),
        panel_height=300 if len(sheet) <= 4 else 193,
        outline_label=outline_label,
        markers=() if point is None else (Marker(*point, legend="the place you look at"),),
        alt=alt or describe_novelty(run.fit, run.maps, run.view),
        name="novelty",
        knobs=offered([*bar, *(knob for knob in knobs if knob.key not in at)], focus=focus),
        focus=focus,
        near=follow_ranks(run, drawn, bar) if bar else None,
        **map_axes(run.fit),
    )


def novelty_panels(run: NoveltyRun, look: PlaceLook | None = None) -> dict[str, Panel]:
    """The maps of the settings, by their key there; with a look, its leaves on novelty's."""
    chosen = run.settings.maps
    # The truth comes first, and novelty takes the place of a truth that nobody knows.
    keys = [key for key in ORDER if key in run.view.keys]
    panels = {key: score_panel(run, key, look=look) for key in keys}
    if OWN in chosen:
        panels[OWN] = score_panel(run, "knowledge", OWN_LABEL, show="value", log=True)
    if APART in chosen and run.view.disagreement is not None:
        panels[APART] = Panel(
            title="Where ranks disagree",
            name="where ranks disagree",
            values=as_map(run.view.disagreement.spread),
            unit="points apart",
            limits=(0.0, 100.0),
        )
    return panels


def score_panel(
    run: NoveltyRun,
    key: str,
    title: str = "",
    *,
    show: str = "",
    log: bool = False,
    look: PlaceLook | None = None,
) -> Panel:
    """One score: its own values, or ranks from 0 to 100, as the settings say if not given."""
    show = show or run.settings.show
    own = show == "value"
    lines: tuple[Line, ...] = ()
    if key == "novelty" and look is not None and len(look.ellipses.centre):
        lines = (Line(*ellipse_corners(look.ellipses), _ELLIPSE, legend=_LEAVES),)
    return Panel(
        title=title or METHODS[key].label,
        values=as_map(run.maps.of(key) if own else ranks_of(run.maps, key, show)),
        unit=unit_of(run.fit, key, show),
        limits=None if own else (0.0, 100.0),
        log=own and (log or run.settings.log) and key in POSITIVE,
        accent=accent_of(key),
        lines=lines,
    )


def accent_of(key: str) -> str | None:
    """The colour of the method that a score comes from; the truth has none."""
    if key in _OTHERS:
        return METHOD_STYLES["vrf"].colour
    return None if key == "truth" else MACAU.colour


class ScoreTable(NamedTuple):
    """Every score over the map and of the training rows, for `pack_table`; both float64.

    name : the same for the same scores; values : (n_scores, n_cells); rows : (n_scores, n_rows)
    """

    name: str
    values: Array
    rows: Array


def score_table(maps: NoveltyMaps) -> ScoreTable:
    """What maps need in the browser to follow a choice between ranks and own values."""
    digest = blake2b(maps.values.tobytes() + maps.rows.tobytes(), digest_size=8)
    return ScoreTable(f"scores-{digest.hexdigest()}", maps.values, maps.rows)


def follow_ranks(
    run: NoveltyRun,
    drawn: Collection[str],
    bar: Sequence[LiveKnob],
    units: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """How maps of these keys follow the knobs of the bar, as rank_maps.js reads it."""
    keys, apart = run.maps.keys, run.view.disagreement
    return {
        "kind": "ranks",
        "table": score_table(run.maps).name,
        "keys": [key if key in (*keys, APART) else None for key in drawn],
        "rows": {key: row for row, key in enumerate(keys)},
        "at": {"log": False, **{knob.key: knob.value for knob in bar}},
        "kinds": list(SHOWS),
        "rankUnits": {show: unit_of(run.fit, "novelty", show) for show in ("cells", "rows")},
        "units": dict(units or {key: unit_of(run.fit, key) for key in keys}),
        "positive": list(POSITIVE),
        "compared": list(apart.keys) if apart is not None and APART in drawn else [],
    }


def map_axes(fit: NoveltyFit) -> dict[str, Any]:
    """Names and outer edges of a map's axes, as `PanelSheet` takes them."""
    (x, y), (x_extent, y_extent) = fit.data.feature_names[:2], fit.data.extent
    return {"x_label": x, "y_label": y, "x_extent": x_extent, "y_extent": y_extent}


def as_map(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values (..., 3600) of cells as rows and columns."""
    return values.reshape(*values.shape[:-1], SIDE, SIDE)


def edge_around(fit: NoveltyFit, place: Place) -> Line:
    """The edge of the square around a place, with "here" beside it."""
    row, column = map(span_around, place)
    (left, right), (bottom, top) = (
        low + (high - low) * np.array(span) / SIDE
        for span, (low, high) in zip((column, row), fit.data.extent, strict=True)
    )
    x, y = [right, right, left, left, right], [top, bottom, bottom, top, top]
    return Line(np.array(x), np.array(y), label="here", dash=True)


def ellipse_corners(leaves: LeafEllipses, stds: float = _ELLIPSE_STDS) -> tuple[Array, Array]:
    """Corners of ellipses one after the other, with a NaN behind each."""
    angle = np.linspace(0.0, 2.0 * np.pi, _CORNERS + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    values, vectors = np.linalg.eigh(leaves.covariance)
    # Rounding may leave a flat leaf a variance just below 0.
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    corners = leaves.centre[:, :, None] + stds * (roots @ circle)
    gaps = np.full((len(corners), 2, 1), np.nan)
    flat = np.concatenate([corners, gaps], axis=2).transpose(1, 0, 2).reshape(2, -1)
    return flat[0], flat[1]


def _dots(fit: NoveltyFit) -> Points:
    """Training rows, evenly thinned to as many as a map shows."""
    rows, classes = fit.rows, fit.data.classes
    n = len(rows.y)
    few = np.linspace(0, n - 1, min(n, MOST_POINTS)).astype(np.int64)
    group = rows.y[few].astype(np.int64) if classes else np.zeros(len(few), dtype=np.int64)
    return Points(
        rows.X[few, 0],
        rows.X[few, 1],
        group % len(CLASS_COLOURS),
        tuple(classes) or ("training rows",),
        CLASS_COLOURS,
        radius=1.5,
        opacity=0.8,
    )


def _columns(n: int) -> int:
    """One row of up to four maps, then two rows of nearly the same length."""
    return n if n <= 4 else 3 if n <= 6 else 4 if n <= 8 else 5


def _where_rows_are(fit: NoveltyFit) -> tuple[tuple[float, float], tuple[float, float]]:
    (x0, y0), (x1, y1) = (ends(fit.rows.X[:, :2], axis=0).tolist() for ends in (np.min, np.max))
    return (x0, x1), (y0, y1)


_MOST_BARS = 30
_ROW_HEIGHT = 34


def tree_sheet(look: PlaceLook) -> PanelSheet:
    """A histogram of the trees' z-scores of a place, the mean marked."""
    z, mean = look.z, float(look.z.mean())
    edges = histogram_edges(z)
    counts = np.histogram(z, bins=edges)[0].astype(np.float64)
    heights = np.append(counts, counts[-1:])
    heights[heights <= 0] = np.nan
    strip = Strip(
        title="Novelty, tree by tree",
        x=edges,
        lines=[StripLine("trees", heights, MACAU.colour, bars=True)],
        x_label="z-score",
        y_label="trees",
        y_limits=(0.0, 1.15 * float(np.nanmax(heights, initial=1.0))),
        marks=[float(np.clip(mean, edges[0], edges[-1]))],
        mark_label=f"mean {short(mean)}",
    )
    alt = (
        f"{len(z)} trees give this place z-scores from {digits(float(z.min()))} to "
        f"{digits(float(z.max()))}, {digits(mean)} on average."
    )
    return PanelSheet(panels=[], strips=[strip], strip_height=150, alt=alt, name="trees")


def histogram_edges(values: Array) -> Array:
    """Edges of bars over all values, at least one unit wide in all."""
    low, high = float(values.min()), float(values.max())
    if high - low < 1.0:
        middle = (low + high) / 2
        low, high = middle - 0.5, middle + 0.5
    bars = int(np.clip(round(1.5 * np.sqrt(len(values))), 10, _MOST_BARS))
    return np.linspace(low, high, bars + 1)


def share_figure(names: Sequence[str], shares: Array) -> Spec:
    """Bars of each feature's share of the squared distance; a share may be below 0."""
    labels = distinct([one_line(name, 28) for name in names])
    rows = [
        {"c0": label, "c1": 100.0 * float(share)}
        for label, share in zip(labels, shares, strict=True)
    ]
    y = bars_of(labels, 150)
    x = quantity("c1", "share of the squared distance (%)", axis={"tickCount": 5})
    tips = [tip("c0", "feature"), tip("c1", "share (%)", ".3g")]
    return {
        "height": _ROW_HEIGHT * max(len(labels), 1) + AXIS_HEIGHT,
        "data": {"values": rows},
        **layer("bar", {"height": 16, "color": MACAU.colour}, x=x, y=y, tooltip=tips),
    }
