"""Lesson: what does a forest know about its noise, and about places without rows?"""

from demos.heteroscedastic.steps import LESSON

__all__ = ["LESSON"]
