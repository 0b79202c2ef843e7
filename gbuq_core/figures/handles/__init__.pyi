from gbuq_core.figures.handles.knobs import (
    KNOB_PARTS,
    LiveKnob,
    knobs_styles,
    live_knob,
    read_live_knobs,
)
from gbuq_core.figures.handles.page import HANDLE_PARTS, Handle, handles_styles, slider_source

__all__ = [
    "HANDLE_PARTS",
    "KNOB_PARTS",
    "Handle",
    "LiveKnob",
    "handles_styles",
    "knobs_styles",
    "live_knob",
    "read_live_knobs",
    "slider_source",
]
