"""Synthetic data sets, each with its true mean and noise, and where it has training rows at all.

Growing a set only appends rows: the first rows, the cell means and the standard normals behind
the noise stay as they are, so that a slider of the size or the noise changes nothing else.
"""

from gbuq_core.synthetic.draws import MAX_ROWS
from gbuq_core.synthetic.heart import HeartData, make_heart
from gbuq_core.synthetic.spiral import (
    MAX_SPIRAL_NOISE,
    MIN_SPIRAL_NOISE,
    SpiralData,
    make_spiral,
    spiral_density,
    spiral_features,
    spiral_log_density,
    spiral_posterior,
)
from gbuq_core.synthetic.wave import WaveData, make_wave

__all__ = [
    "MAX_ROWS",
    "MAX_SPIRAL_NOISE",
    "MIN_SPIRAL_NOISE",
    "HeartData",
    "SpiralData",
    "WaveData",
    "make_heart",
    "make_spiral",
    "make_wave",
    "spiral_density",
    "spiral_features",
    "spiral_log_density",
    "spiral_posterior",
]
