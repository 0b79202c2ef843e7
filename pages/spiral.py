"""Spiral: does one long model know what an ensemble knows? (cyclical SGLB; Malinin et al. 2021)."""

from gbuq_core.study.spiral import SPIRAL
from pages._ui.study import show_study

show_study(SPIRAL)
