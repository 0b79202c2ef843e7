"""Lesson: which training rows a prediction comes from, and what they know of its uncertainty."""

from demos.neighbours.steps import LESSON

__all__ = ["LESSON"]
