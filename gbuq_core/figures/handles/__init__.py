"""Values that a reader drags: sliders and boxes whose picture moves with the hand.

``stream.js`` sends messages one at a time, the newest first; ``handles.js`` draws the list of
values and tells when one is reached for, moved and let go. What a moved value does to the picture
is the business of the figure that is built on them (`gbuq_core.figures.table.editing`).
"""

from gbuq_core.figures.handles.page import HANDLE_PARTS, Handle, handles_styles

__all__ = ["HANDLE_PARTS", "Handle", "handles_styles"]
