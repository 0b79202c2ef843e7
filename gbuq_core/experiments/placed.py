"""Points that a reader places: what may be placed, and how a link writes it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from gbuq_core.errors import InvalidParameter

Points = tuple[tuple[float, ...], ...]  # x and y each, and the class of a point in a plane
MOST_POINTS = 400  # of a picture
MOST_COORDINATE = 1000.0  # to either side of 0
LEAST_POINTS = 5  # of a fit
POINT_DIGITS = 3  # decimals that a link keeps

_NUMBER = r"-?[0-9]{1,4}(?:\.[0-9]{1,9})?"
_POINTS = {2: f"{_NUMBER}_{_NUMBER}", 3: f"{_NUMBER}_{_NUMBER}_[01]"}  # by their numbers
# Of a text in a link, by how many numbers a point has
PATTERNS = {size: rf"(?:{point}(?:~{point}){{0,399}})?" for size, point in _POINTS.items()}
_WRITTEN = {2: "x_y with plain numbers, as in -1.25_0.5", 3: "x_y_class, as in -1.25_0.5_1"}

# Where a line begins when somebody wants to place points: a valley, a space, a slope.
# fmt: off
OWN_START: Points = (
    (-2.29, 0.8), (-2.2, 0.71), (-2.12, 0.62), (-2.06, 0.42),
    (-1.94, 0.35), (-1.87, 0.23), (-1.8, 0.09), (-1.69, -0.09),
    (-1.61, -0.14), (-1.53, -0.25), (-1.45, -0.43), (-1.35, -0.66),
    (-1.29, -0.67), (-1.19, -0.89), (-1.11, -0.82), (-1.01, -1.01),
    (-0.93, -0.88), (-0.85, -0.94), (-0.77, -0.99), (-0.68, -0.86),
    (-0.59, -0.78), (-0.51, -0.71), (-0.4, -0.75), (-0.32, -0.71),
    (-0.29, -0.53), (1.07, 0.93), (1.17, 0.88), (1.24, 0.81),
    (1.32, 0.51), (1.39, 0.55), (1.49, 0.51), (1.51, 0.28),
    (1.59, 0.13), (1.7, 0.14), (1.75, -0.01), (1.82, -0.07),
    (1.88, -0.28), (1.93, -0.48), (2.03, -0.48), (2.1, -0.62),
)
# fmt: on


def check_points(points: Any, size: int = 2) -> Points:
    """Points as tuples of floats, each rounded to the decimals that a link keeps."""
    if isinstance(points, str) or not isinstance(points, Iterable):
        raise InvalidParameter("points must be a list of pairs (x, y).")
    checked = tuple(_checked_point(i, point, size) for i, point in enumerate(points))
    if len(checked) > MOST_POINTS:
        raise InvalidParameter(
            f"There are {len(checked)} points, but at most {MOST_POINTS} are allowed: remove some."
        )
    return checked


def _checked_point(number: int, point: Any, size: int) -> tuple[float, ...]:
    try:
        values = tuple(float(value) for value in point)
    except (TypeError, ValueError, OverflowError):
        values = ()
    if len(values) != size:
        words = "a pair of numbers (x, y)" if size == 2 else "three numbers (x, y, class)"
        raise InvalidParameter(f"Point {number + 1} must be {words}.")
    for value in values:
        if not math.isfinite(value) or abs(value) > MOST_COORDINATE:
            raise InvalidParameter(
                f"Point {number + 1} must lie between -{MOST_COORDINATE:g} and "
                f"{MOST_COORDINATE:g}; got {value:g}."
            )
    return tuple(round(value, POINT_DIGITS) + 0.0 for value in values)  # + 0.0: no minus zero


def encode_points(points: Iterable[Iterable[float]]) -> str:
    """Points as text for a link: ``x_y~x_y``, of characters that need no escape in a URL."""
    return "~".join("_".join(map(_coordinate, point)) for point in points)


def _coordinate(value: float) -> str:
    text = f"{value:.{POINT_DIGITS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def decode_points(text: str, size: int = 2) -> Points:
    """The points of a link's text, checked; inverse of `encode_points` up to its rounding."""
    pairs = []
    for number, part in enumerate(text.split("~") if text else []):
        if number >= MOST_POINTS:
            raise InvalidParameter(f"There are more than {MOST_POINTS} points: remove some.")
        if not re.fullmatch(_POINTS[size], part):
            raise InvalidParameter(
                f"Point {number + 1} must be written {_WRITTEN[size]}; got {part[:40]!r}."
            )
        pairs.append([float(value) for value in part.split("_")])
    return check_points(pairs, size)


def why_no_fit(points: Points) -> str:
    """Why checked points are not enough for a fit, in a sentence; empty if they are."""
    if len(points) < LEAST_POINTS:
        return (
            f"Training needs at least {LEAST_POINTS} points, but there are {len(points)}: add "
            f"{LEAST_POINTS - len(points)}."
        )
    for axis, name in enumerate("xy"):
        if len({point[axis] for point in points}) == 1:
            return f"All points have {name} = {points[0][axis]:g}: add a point with another {name}."
    return ""
