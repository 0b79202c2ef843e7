"""Two clocks: is the stated uncertainty true? (stopping of the mean and of the scale)."""

from gbuq_core.study.two_clocks import TWO_CLOCKS
from pages._ui.study import show_study

show_study(TWO_CLOCKS)
