"""Functions that fit the same points: a panel a method on shared axes."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.curves import Curves
from gbuq_core.figures.curves.parts import Part, band, line, rounded, stretches
from gbuq_core.figures.theme import METHOD_STYLES

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Show = Literal["functions", "bands", "both"]
SHOWS: tuple[Show, ...] = ("both", "functions", "bands")

MOST_DOTS = 1000
_BAND_X = 220  # places of a band, which is smoother than functions
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}
_INK = {"colour": "text", "opacity": 0.35, "size": 4.0}
_PLACED_INK = {"colour": "text", "opacity": 0.85, "size": 7.0}
_DATA_OPACITY, _KNOWLEDGE_OPACITY = 0.16, 0.42
_FAINTER = 0.5  # bands behind functions, times
_COLUMNS = 4  # panels in a row, or 3 if there are more
_LEVELS = 65535  # of a function's values
_HINT = "Point at the picture, or use its arrow keys, to read values."
_PLACE_HINT = (
    "Click an empty place to add a point. Drag a point to move it. Click a point to remove it."
)


class Scene(NamedTuple):
    """What all methods see.

    Attributes
    ----------
    x : ndarray of shape (n_grid,)
        Increasing; what the picture spans and the read-out reads.
    y_range : (float, float)
    x_rows, y_rows : ndarray of shape (n_rows,)
        Training rows.
    support : ndarray of shape (n_grid,), bool
        Where there can be rows; elsewhere is hatched.
    true_mean : ndarray of shape (n_grid,) or None
    """

    x: Array
    y_range: tuple[float, float]
    x_rows: Array
    y_rows: Array
    support: Mask
    true_mean: Array | None = None


class Functions(NamedTuple):
    """What one method believes; arrays over its own x (n,), which need not be the scene's.

    Attributes
    ----------
    method : str
        A key of `METHOD_STYLES`.
    x : ndarray of shape (n,)
        Evenly spaced; empty while there is nothing to show but the rows.
    functions : ndarray of shape (n_functions, n)
        Drawn from the posterior; those that are to be drawn as lines.
    loc : ndarray of shape (n,)
        The mean.
    data, knowledge : ndarray of shape (n,)
        Variances.
    note : str
        At the right of the panel's title.
    """

    method: str
    x: Array
    functions: Array
    loc: Array
    data: Array
    knowledge: Array
    note: str = ""


def functions_figure(
    scene: Scene,
    methods: Sequence[Functions],
    show: Show = "both",
    n_std: float = 2.0,
    place: bool = False,
    alt: str = "",
    height: int = 360,
) -> Curves:
    """Rows, functions, mean and bands of every method; without a method, the rows alone.

    Parameters
    ----------
    scene : Scene
    methods : sequence of Functions
    show : {"both", "functions", "bands"}
    n_std : float
        Half the width of the bands.
    place : bool
        Whether clicks add and remove points.
    alt : str
    height : int
        Pixels of a panel's plot on a wide page; several rows of panels share a little more.
    """
    facets = len(methods) if len(methods) <= _COLUMNS else _COLUMNS - 1
    rows_of_panels = -(-max(len(methods), 1) // max(facets, 1))
    low, high = scene.y_range
    shown = {"range": [float(low), float(high)], "label": "y"}
    behind = _hatches(scene) if methods else []
    before = _rows_and_truth(scene, _PLACED_INK if place else _INK)
    panels: list[Part] = [
        {
            **shown,
            "title": METHOD_STYLES[one.method].label,
            "note": one.note,
            "colour": METHOD_STYLES[one.method].colour,
            "layers": [*behind, *_belief(one, scene, show, n_std), *before, *_mean(one)],
        }
        for one in methods
    ]
    if not panels:
        panels = [{**shown, "title": "Rows", "colour": "text", "layers": [*behind, *before]}]
    spec = {
        "name": "soft-trees",
        "alt": alt,
        "height": int(height if rows_of_panels == 1 else 1.15 * height / rows_of_panels),
        "hint": _PLACE_HINT if place else _HINT,
        "facets": max(facets, 1),
        "x": {"range": [float(scene.x[0]), float(scene.x[-1])], "label": "x"},
        "panels": panels,
        "legend": _legend(methods, scene, show, n_std),
        "read": _read(scene, methods),
    }
    if place:
        spec["place"] = {"x": scene.x_rows.tolist(), "y": scene.y_rows.tolist()}  # come back
    return Curves(spec)


def unpack_sheaf(part: Part) -> tuple[Array, Array]:
    """``x (n,)`` and the lines ``(n_lines, n)`` of a part of many lines.

    >>> part = pack_sheaf([0.0, 1.0], [[0.0, 1.0], [1.0, 0.5]], (0.0, 1.0), "#0072b2", 1.0)
    >>> unpack_sheaf(part)[1].round(3).tolist()
    [[0.0, 1.0], [1.0, 0.5]]
    """
    codes = np.frombuffer(base64.b64decode(part["data"]), "<u2").reshape(-1, part["count"])
    low, high = part["range"]
    return np.linspace(part["from"], part["to"], part["count"]), low + (
        high - low
    ) * codes / _LEVELS


def pack_sheaf(
    x: npt.ArrayLike,
    lines: npt.ArrayLike,
    y_range: tuple[float, float],
    colour: str,
    opacity: float,
    width: float = 1.0,
) -> Part:
    """Many thin lines over evenly spaced ``x``, as steps of the picture's height.

    Lines may leave the picture by its height on both sides; farther out they are cut off.
    """
    across = np.asarray(x, dtype=np.float64)
    values = np.asarray(lines, dtype=np.float64)
    room = y_range[1] - y_range[0]
    low, high = y_range[0] - room, y_range[1] + room
    codes = np.rint(_LEVELS * np.clip((values - low) / (high - low), 0.0, 1.0)).astype("<u2")
    return {
        "kind": "sheaf",
        "from": float(across[0]),
        "to": float(across[-1]),
        "count": len(across),
        "range": [float(low), float(high)],
        "data": base64.b64encode(codes.tobytes()).decode(),
        "colour": colour,
        "opacity": opacity,
        "width": width,
    }


def _belief(one: Functions, scene: Scene, show: Show, n_std: float) -> list[Part]:
    """Rim, band, rim from below, and functions over them."""
    colour = METHOD_STYLES[one.method].colour
    parts: list[Part] = []
    if not len(one.x):
        return parts
    if show != "functions":
        faint = _FAINTER if show == "both" and len(one.functions) else 1.0
        few = np.linspace(0, len(one.x) - 1, min(len(one.x), _BAND_X)).astype(np.int64)
        x, loc = one.x[few], one.loc[few]
        inner = n_std * np.sqrt(one.data[few])
        outer = n_std * np.sqrt(one.data[few] + one.knowledge[few])
        parts += [
            band(x, loc + a, loc + b, colour, faint * opacity)
            for a, b, opacity in (
                (-outer, -inner, _KNOWLEDGE_OPACITY),
                (-inner, inner, _DATA_OPACITY),
                (inner, outer, _KNOWLEDGE_OPACITY),
            )
        ]
    if show != "bands" and len(one.functions):
        opacity = min(0.55, 2.5 / np.sqrt(len(one.functions)))
        parts.append(pack_sheaf(one.x, one.functions, scene.y_range, colour, opacity))
    return parts


def _mean(one: Functions) -> list[Part]:
    if not len(one.x):
        return []
    return [line(one.x, one.loc, METHOD_STYLES[one.method].colour, 2.4)]


def pending(method: str, note: str) -> Functions:
    """A panel for a method whose functions are still on their way.

    >>> pending("vst", "training").loc.shape
    (0,)
    """
    nothing = np.empty(0)
    return Functions(method, nothing, np.empty((0, 0)), nothing, nothing, nothing, note)


def _hatches(scene: Scene) -> list[Part]:
    gaps = stretches(scene.x, ~scene.support)
    return [{"kind": "hatch", "from": low, "to": high} for low, high in gaps]


def _rows_and_truth(scene: Scene, ink: Part) -> list[Part]:
    few = np.linspace(0, len(scene.x_rows) - 1, min(len(scene.x_rows), MOST_DOTS)).astype(np.int64)
    dots = {"kind": "dots", "x": rounded(scene.x_rows[few]), "y": rounded(scene.y_rows[few]), **ink}
    if scene.true_mean is None:
        return [dots]
    return [dots, line(scene.x, scene.true_mean, **_TRUTH)]


def _legend(methods: Sequence[Functions], scene: Scene, show: Show, n_std: float) -> list[Part]:
    """In the colour of a single method, in the page's ink for several."""
    colour = METHOD_STYLES[methods[0].method].colour if len(methods) == 1 else "text"
    entries: list[Part] = []
    if methods:
        entries.append({"name": "mean", "kind": "line", "colour": colour, "width": 2.4})
    if methods and show != "bands":
        entries.append(
            {"name": "sampled functions", "kind": "line", "colour": colour, "width": 0.8}
        )
    if methods and show != "functions":
        area = {"kind": "band", "colour": colour}
        entries.append({"name": f"data \u00b1 {n_std:g} std", **area, "opacity": _DATA_OPACITY})
        entries.append({"name": "knowledge, outside it", **area, "opacity": _KNOWLEDGE_OPACITY})
    if scene.true_mean is not None:
        entries.append({"name": "truth", "kind": "line", **_TRUTH})
    entries.append({"name": "rows", "kind": "dots", **_INK, "opacity": 0.6})
    if methods and not scene.support.all():
        entries.append({"name": "no rows", "kind": "hatch", "colour": "text"})
    return entries


def _read(scene: Scene, methods: Sequence[Functions]) -> Part:
    """Means with the std of all uncertainty, at the scene's x."""
    values: list[Part] = []
    if scene.true_mean is not None:
        values.append({"name": "truth", "at": rounded(scene.true_mean)})
    for one in methods:
        if not len(one.x):
            continue
        std = np.sqrt(one.data + one.knowledge)
        values.append(
            {
                "name": METHOD_STYLES[one.method].label,
                "at": rounded(np.interp(scene.x, one.x, one.loc)),
                "spread": rounded(np.interp(scene.x, one.x, std)),
            }
        )
    return {"x": rounded(scene.x), "label": "x", "values": values}
