"""Synthetic data sets, each with its true mean and noise, and where it has training rows at all.

Growing a set only appends rows: the first rows, the cell means and the standard normals behind
the noise stay as they are, so that a slider of the size or the noise changes nothing else.
"""

from gbuq_core.synthetic.curves import (
    MAX_CURVE_NOISE,
    CurveData,
    make_daubechies,
    make_gap,
    make_heteroscedastic,
    make_step,
    make_tails,
)
from gbuq_core.synthetic.draws import MAX_ROWS
from gbuq_core.synthetic.heart import HeartData, make_heart
from gbuq_core.synthetic.moons import (
    MAX_MOONS_NOISE,
    MIN_MOONS_NOISE,
    MOONS_EXTENT,
    MOONS_SIDE,
    MoonsData,
    make_moons3,
    moons_posterior,
)
from gbuq_core.synthetic.ripples import (
    HOLE_CENTRE,
    HOLE_RADIUS,
    MAX_RIPPLES_NOISE,
    RIPPLES_SIDE,
    RipplesData,
    RipplesTruth,
    make_ripples,
    ripples_truth,
)
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
    "HOLE_CENTRE",
    "HOLE_RADIUS",
    "MAX_CURVE_NOISE",
    "MAX_MOONS_NOISE",
    "MAX_RIPPLES_NOISE",
    "MAX_ROWS",
    "MAX_SPIRAL_NOISE",
    "MIN_MOONS_NOISE",
    "MIN_SPIRAL_NOISE",
    "MOONS_EXTENT",
    "MOONS_SIDE",
    "RIPPLES_SIDE",
    "CurveData",
    "HeartData",
    "MoonsData",
    "RipplesData",
    "RipplesTruth",
    "SpiralData",
    "WaveData",
    "make_daubechies",
    "make_gap",
    "make_heart",
    "make_heteroscedastic",
    "make_moons3",
    "make_ripples",
    "make_spiral",
    "make_step",
    "make_tails",
    "make_wave",
    "moons_posterior",
    "ripples_truth",
    "spiral_density",
    "spiral_features",
    "spiral_log_density",
    "spiral_posterior",
]
