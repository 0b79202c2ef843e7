"""Functions that fit the same points: a panel a method on shared axes."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.curves import READ_HINT, Curves, draw_curves
from gbuq_core.figures.curves.parts import Part, axis, band, line, rounded, stretches
from gbuq_core.figures.handles import LiveKnob
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
_BESIDE, _ABOVE = 0.05, 0.15  # of the rows' width and height, where they alone are shown
_COLUMNS = 4  # panels in a row, or 3 if there are more
_LEVELS = 65535  # of a function's values
_PLACE_HINT = (
    "Click an empty place to add a point. Drag a point to move it. Click a point to remove it."
)


class Scene(NamedTuple):
    """What all methods see."""

    x: Array  # (n_grid,): Increasing; what the picture spans and the read-out reads
    y_range: tuple[float, float]
    # `x_rows`, `y_rows`: (n_rows,): training rows
    x_rows: Array
    y_rows: Array
    support: Mask  # (n_grid,): where there can be rows; elsewhere is hatched
    true_mean: Array | None = None  # (n_grid,)


class Moments(NamedTuple):
    """A belief from some number of functions; arrays are (n,) over its x.

    ``data`` and ``knowledge`` are variances.
    """

    loc: Array
    data: Array
    knowledge: Array
    note: str = ""


class Functions(NamedTuple):
    """What one method believes; arrays over its own x (n,), which need not be the scene's."""

    method: str  # A key of `METHOD_STYLES`
    x: Array  # evenly spaced; empty while there is nothing to show but the rows
    # (n_functions, n): drawn from the posterior; those that are to be drawn as lines
    functions: Array
    loc: Array  # the mean
    # `data`, `knowledge`: variances
    data: Array
    knowledge: Array
    note: str = ""  # at the right of the panel's title
    # (n_more, n): for knobs in the picture's bar: all functions that can be drawn as lines
    more: Array | None = None
    moments: tuple[Moments, ...] = ()  # for them, too: one for each of `Bar.behind`


class Bar(NamedTuple):
    """Knobs of the picture's own bar, and what all their settings have in common.

    Attributes
    ----------
    knobs : tuple of LiveKnob
        Of the keys show, shown, draws and focus, or some of them.
    at : mapping
        Where each of them stands, also those that are left out.
    shown, draws : tuple of int
        The numbers of lines and of functions behind the bands that can be chosen.
    behind : tuple of int
        Numbers of functions behind the bands that were worked out, increasing. A larger number
        comes from the page when its knob is let go.
    focus : bool
        Whether only where rows can lie is shown.
    """

    knobs: tuple[LiveKnob, ...]
    at: Mapping[str, int | bool]
    shown: tuple[int, ...]
    draws: tuple[int, ...]
    behind: tuple[int, ...]
    focus: bool = False


def functions_figure(
    scene: Scene,
    methods: Sequence[Functions],
    show: Show = "both",
    n_std: float = 2.0,
    place: bool = False,
    alt: str = "",
    height: int = 360,
    bar: Bar | None = None,
) -> Curves:
    """Rows, functions, mean and bands of every method; without a method, the rows alone."""
    facets = len(methods) if len(methods) <= _COLUMNS else _COLUMNS - 1
    rows_of_panels = -(-max(len(methods), 1) // max(facets, 1))
    axes = [_axes(scene, False), _axes(scene, True)]
    now = axes[bar is not None and bar.focus]
    shown = {"range": now["y"], "label": "y"}
    behind = _hatches(scene) if methods else []
    before = _rows_and_truth(scene, _PLACED_INK if place else _INK)
    panels: list[Part] = []
    n_read = 0  # of the values that can be read off
    for one in methods:
        belief = _belief(one, scene, show, n_std)
        panel = {
            **shown,
            "title": METHOD_STYLES[one.method].label,
            "note": one.note,
            "colour": METHOD_STYLES[one.method].colour,
            "layers": [*behind, *belief, *before, *_mean(one)],
        }
        if bar is not None and one.moments:
            places = {"first": len(behind), "count": len(belief)}
            panel["live"] = {**places, **_for_knobs(one, scene, n_read)}
        n_read += len(one.x) > 0
        panels.append(panel)
    if not panels:
        panels = [{**shown, "title": "Rows", "colour": "text", "layers": [*behind, *before]}]
    more: Part = {}
    if bar is not None:
        more = {"focus": axes, "live": _live(methods, scene, n_std, bar)}
    if place:
        more["place"] = {"x": scene.x_rows.tolist(), "y": scene.y_rows.tolist()}  # come back
    return draw_curves(
        "soft-trees",
        alt,
        height if rows_of_panels == 1 else 1.15 * height / rows_of_panels,
        axis(now["x"], "x"),
        panels,
        _legend(methods, scene, show, n_std),
        _read(scene, methods),
        hint=_PLACE_HINT if place else READ_HINT,
        knobs=() if bar is None else bar.knobs,
        facets=max(facets, 1),
        **more,
    )


def _axes(scene: Scene, focus: bool) -> Part:
    """Of everything, or of where rows can lie with a little room beside them."""
    low, high = (float(end) for end in scene.y_range)
    left, right = float(scene.x[0]), float(scene.x[-1])
    if focus and scene.support.any():
        where = scene.x[scene.support]
        room = _BESIDE * float(where[-1] - where[0])
        left, right = max(left, float(where[0]) - room), min(right, float(where[-1]) + room)
        inside = [scene.y_rows[(scene.x_rows >= left) & (scene.x_rows <= right)]]
        if scene.true_mean is not None:
            inside.append(scene.true_mean[scene.support])
        found = np.concatenate(inside)
        if len(found) and found.max() > found.min():
            edge = _ABOVE * float(found.max() - found.min())
            low, high = max(low, float(found.min()) - edge), min(high, float(found.max()) + edge)
    return {"x": [left, right], "y": [low, high]}


def _for_knobs(one: Functions, scene: Scene, place: int) -> Part:
    """A method's moments for each number of functions, each sent once, and all its lines."""
    assert one.more is not None
    few = np.linspace(0, len(one.x) - 1, min(len(one.x), _BAND_X)).astype(np.int64)
    sent: list[Moments] = []
    which = []
    for moments in one.moments:
        same = (i for i, old in enumerate(sent) if np.array_equal(old.loc, moments.loc))
        which.append(next(same, len(sent)))
        if which[-1] == len(sent):
            sent.append(moments)
    colour = METHOD_STYLES[one.method].colour
    return {
        "x": rounded(one.x[few]),
        "places": few.tolist(),
        "moments": [
            {
                "loc": rounded(each.loc),
                "data": rounded(each.data),
                "knowledge": rounded(each.knowledge),
            }
            for each in sent
        ],
        "set": which,
        "notes": [each.note for each in sent],
        "most": len(one.more),
        "sheaf": pack_sheaf(one.x, one.more, scene.y_range, colour, 1.0),
        "read": place + (scene.true_mean is not None) if _on_grid(one, scene) else None,
    }


def _on_grid(one: Functions, scene: Scene) -> bool:
    """Whether values can be read off as they are sent."""
    return np.array_equal(one.x, scene.x)


def _live(methods: Sequence[Functions], scene: Scene, n_std: float, bar: Bar) -> Part:
    """What all panels share for knobs of the bar, as functions.js reads it."""
    return {
        "kind": "functions",
        "at": dict(bar.at),
        "shows": [{"functions": show != "bands", "bands": show != "functions"} for show in SHOWS],
        "lines": list(bar.shown),
        "draws": list(bar.draws),
        "sets": list(bar.behind),
        "n_std": n_std,
        "opacity": {"data": _DATA_OPACITY, "knowledge": _KNOWLEDGE_OPACITY},
        "fainter": _FAINTER,
        "legend": _legend(methods, scene, "both", n_std),
    }


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
            {
                "name": "sampled functions",
                "kind": "line",
                "colour": colour,
                "width": 0.8,
                "part": "functions",
            }
        )
    if methods and show != "functions":
        area = {"kind": "band", "colour": colour, "part": "bands"}
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
