"""Lesson: a table of one's own, which rows to doubt, and what the scores are worth."""

from demos.your_data.steps import LESSON

__all__ = ["LESSON"]
