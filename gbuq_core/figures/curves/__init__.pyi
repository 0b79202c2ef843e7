from gbuq_core.figures.curves.packing import pack_curves
from gbuq_core.figures.curves.page import (
    PLAYED_PARTS,
    READ_HINT,
    Curves,
    curves_source,
    curves_styles,
    draw_curves,
)

__all__ = [
    "PLAYED_PARTS",
    "READ_HINT",
    "Curves",
    "curves_source",
    "curves_styles",
    "draw_curves",
    "pack_curves",
]
