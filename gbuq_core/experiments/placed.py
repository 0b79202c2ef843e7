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
POINT_DIGITS = 3  # decimals that a link keeps

_NUMBER = r"-?[0-9]{1,4}(?:\.[0-9]{1,9})?"
_POINTS = {2: f"{_NUMBER}_{_NUMBER}", 3: f"{_NUMBER}_{_NUMBER}_[01]"}  # by their numbers
# Of a text in a link, by how many numbers a point has
PATTERNS = {size: rf"(?:{point}(?:~{point}){{0,399}})?" for size, point in _POINTS.items()}
_WRITTEN = {2: "x_y with plain numbers, as in -1.25_0.5", 3: "x_y_class, as in -1.25_0.5_1"}


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
