"""Lesson: how many functions fit the same rows, and what does a soft tree know of them?"""

from demos.soft_trees.steps import LESSON

__all__ = ["LESSON"]
