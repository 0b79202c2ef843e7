"""Lessons: a module or a folder each, computed live, on the Lessons page or in a file.

``python -m demos.<name> --out lesson.html`` writes one.
"""

from __future__ import annotations

from importlib import import_module

# In the order in which they are best taken.
NAMES = (
    "heart",
    "gaussians",
    "spiral",
    "neighbours",
    "soft_trees",
    "heteroscedastic",
    "novelty",
    "two_clocks",
    "beyond",
    "your_data",
)


def load_lessons():
    """Return every lesson, in order.

    >>> [lesson.name for lesson in load_lessons()][-2:]
    ['beyond', 'your_data']
    """
    return tuple(import_module(f"demos.{name}").LESSON for name in NAMES)
