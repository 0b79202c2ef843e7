"""Lesson: how many functions fit the same rows, and what a tree that is soft knows of them."""

from demos.soft_trees.steps import LESSON

__all__ = ["LESSON"]
