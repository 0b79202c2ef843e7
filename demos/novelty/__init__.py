"""Lesson: what makes a place new to a model, and which scores notice."""

from demos.novelty.steps import LESSON

__all__ = ["LESSON"]
