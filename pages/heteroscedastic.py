"""Noise that grows: does the model know its noise, and where it has seen nothing? (MACAU, 4.1)."""

from gbuq_core.study.heteroscedastic import HETEROSCEDASTIC
from pages._ui.study import show_study

show_study(HETEROSCEDASTIC)
