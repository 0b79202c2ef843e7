"""One value that can be dragged, and the parts of what draws it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gbuq_core.figures.sources import join_scripts, read_styles

_HERE = Path(__file__).parent

_CALLS = _HERE.parent / "canvas" / "calls.js"

HANDLE_PARTS = (_HERE / "handles.js",)  # after the curves' parts, stream.js among them


class Handle(NamedTuple):
    """A value that can be dragged or typed."""

    name: str  # the user's word for it; drawn as plain text
    kind: str  # {"slide", "choose"}: A slider, or a list of choices
    texts: tuple[str, ...]  # what stands at each of its places
    at: int  # the place where it stands
    own: int  # the place to which it is put back
    text: str  # what the box beside it holds
    changed: bool = False  # whether it can be put back
    note: str = ""  # a warning about the value

    @property
    def spec(self) -> dict[str, Any]:
        """As handles.js reads it."""
        return {**self._asdict(), "texts": list(self.texts)}


@cache
def handles_styles() -> str:
    """Return the style sheet of the handles, which goes after that of the knobs."""
    return read_styles(_HERE / "handles.css")


@cache
def slider_source() -> str:
    """Return what watches a page's own sliders as the text of one ES module."""
    return join_scripts((_CALLS, _HERE / "stream.js", _HERE / "sliders.js"))
