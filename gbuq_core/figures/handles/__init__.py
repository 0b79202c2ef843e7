"""Values that a reader drags: sliders and boxes whose picture moves with the hand.

``stream.js`` sends messages one at a time, the newest first; ``handles.js`` draws the list of
values and tells when one is reached for, moved and let go. What a moved value does to the picture
is the business of the figure that is built on them (`gbuq_core.figures.table.editing`).
``knobs.js`` draws the bar of a picture that works its knobs out by itself, and tells the page when
one is let go. ``sliders.js`` draws nothing: it watches the page's own sliders while they are
dragged.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
