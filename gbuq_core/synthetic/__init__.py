"""Synthetic data sets with their true mean and noise, and the regions that have training rows.

A larger set only appends rows. The first rows, the cell means and the standard normals behind the
noise stay the same, so a slider for the size or the noise changes nothing else.
"""

from gbuq_core.synthetic.blobs import (
    BLOBS_EXTENT,
    BLOBS_SIDE,
    MAX_BLOBS_NOISE,
    MIN_BLOBS_NOISE,
    BlobsData,
    blobs_log_density,
    blobs_posterior,
    make_blobs,
)
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
from gbuq_core.synthetic.friedman import FriedmanData, make_friedman
from gbuq_core.synthetic.heart import HeartData, make_heart
from gbuq_core.synthetic.moons import (
    MAX_MOONS_NOISE,
    MIN_MOONS_NOISE,
    MOONS_EXTENT,
    MOONS_SIDE,
    MoonsData,
    make_moons3,
    moons_log_density,
    moons_posterior,
)
from gbuq_core.synthetic.rings import (
    MAX_RINGS_NOISE,
    MIN_RINGS_NOISE,
    RING_RADII,
    RINGS_EXTENT,
    RINGS_SIDE,
    RingsData,
    make_rings,
    rings_log_density,
    rings_posterior,
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
    "BLOBS_EXTENT",
    "BLOBS_SIDE",
    "HOLE_CENTRE",
    "HOLE_RADIUS",
    "MAX_BLOBS_NOISE",
    "MAX_CURVE_NOISE",
    "MAX_MOONS_NOISE",
    "MAX_RINGS_NOISE",
    "MAX_RIPPLES_NOISE",
    "MAX_ROWS",
    "MAX_SPIRAL_NOISE",
    "MIN_BLOBS_NOISE",
    "MIN_MOONS_NOISE",
    "MIN_RINGS_NOISE",
    "MIN_SPIRAL_NOISE",
    "MOONS_EXTENT",
    "MOONS_SIDE",
    "RINGS_EXTENT",
    "RINGS_SIDE",
    "RING_RADII",
    "RIPPLES_SIDE",
    "BlobsData",
    "CurveData",
    "FriedmanData",
    "HeartData",
    "MoonsData",
    "RingsData",
    "RipplesData",
    "RipplesTruth",
    "SpiralData",
    "WaveData",
    "blobs_log_density",
    "blobs_posterior",
    "make_blobs",
    "make_daubechies",
    "make_friedman",
    "make_gap",
    "make_heart",
    "make_heteroscedastic",
    "make_moons3",
    "make_rings",
    "make_ripples",
    "make_spiral",
    "make_step",
    "make_tails",
    "make_wave",
    "moons_log_density",
    "moons_posterior",
    "rings_log_density",
    "rings_posterior",
    "ripples_truth",
    "spiral_density",
    "spiral_features",
    "spiral_log_density",
    "spiral_posterior",
]
