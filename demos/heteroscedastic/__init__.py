"""Lesson: what a forest knows of its noise, and of where it has never been."""

from demos.heteroscedastic.steps import LESSON

__all__ = ["LESSON"]
