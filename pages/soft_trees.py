"""Soft trees: how many functions fit the same points? (Cinquin et al. 2022)."""

from gbuq_core.study.soft_trees import SOFT_TREES
from pages._ui.study import show_study

show_study(SOFT_TREES)
