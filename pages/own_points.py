"""Own points: every method on points that the reader places."""

from gbuq_core.study.own_points import OWN_POINTS
from pages._ui.experiment import show_single
from pages._ui.own_points.controls import STATE, act, draw_own_points

show_single(OWN_POINTS, STATE, ("where", "adds"), acts=act, below=draw_own_points)
