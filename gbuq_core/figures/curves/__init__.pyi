from gbuq_core.figures.curves.packing import pack_curves, unpack_curves
from gbuq_core.figures.curves.page import PLAYED_PARTS, Curves, curves_source, curves_styles

__all__ = [
    "PLAYED_PARTS",
    "Curves",
    "curves_source",
    "curves_styles",
    "pack_curves",
    "unpack_curves",
]
