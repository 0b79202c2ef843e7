"""Lesson: how to read a scoreboard, and what its numbers cannot say."""

from demos.scoreboard.steps import LESSON

__all__ = ["LESSON"]
