"""Curves over one x axis, drawn as SVG by JavaScript of our own.

A slider that refits moves such a figure at every step. Plotly takes 60 to 100 ms to draw it and
mounts it anew each time, with a blank frame in between; this takes a few and stays in place.
The numbers and tick marks of its axes come from the canvas renderer's own parts.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
