"""Beyond the rows: what does a model say where it has seen nothing? (the law of several voices)."""

from gbuq_core.study.beyond import BEYOND
from pages._ui.study import show_study

show_study(BEYOND)
