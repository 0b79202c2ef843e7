"""The knob of a step's picture, which the browser works out while it is moved.

Its bar shows one knob. The formulas also need the values of the others, which stand still unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gbuq_core.figures.handles import LiveKnob, live_knob
from gbuq_core.glossary import VIEWS
from gbuq_core.knobs import Knob

_ALL = "all"
_HELP = "Nothing is retrained."
_SHOWN = Knob(
    "shown", "Members", "ladder", _ALL, choices=("2", "3", "4", "5", "7", "10", "15", "20", _ALL),
    help=f"Uses only this many members. {_HELP}",
)  # fmt: skip
_KNOBS = (
    Knob(
        "step", "K, trees between cuts", "integer", 50, 10, 200, step=10,
        help=f"The model is cut every so many trees. {_HELP}",
    ),
    Knob(
        "start", "Start of the cuts", "number", 0.5, 0.0, 0.9, step=0.05,
        help=f"The share of the trees before the first cut. {_HELP}",
    ),
    Knob(
        "burn_in", "Cycles left out", "integer", 0, 0, 5, step=1,
        help=f"The first cycles give no member. {_HELP}",
    ),
    Knob(
        "flag", "Flag the most unknown cells (%)", "ladder", 0,
        choices=(0, 1, 5, 10, 20, 30, 40, 50),
        help="Hatches these cells in each map of knowledge uncertainty.",
    ),
    Knob("unit", "Uncertainty as", "choice", "std", choices=VIEWS),
    Knob("log", "Logarithmic colours for knowledge", "switch", True),
    Knob("scale", "Colour scales", "choice", "shared", choices=("shared", "own")),
)  # fmt: skip


def one_knob(key: str, values: dict[str, Any], most: int) -> Sequence[LiveKnob]:
    """The knob of that key for the reader, and those that stand still, for the formulas.

    Examples
    --------
    >>> knobs = one_knob("log", {"log": True, "unit": "std"}, 10)
    >>> [knob.key for knob in knobs if knob.needs is None]
    ['log']
    >>> [knob.key for knob in knobs]
    ['shown', 'unit', 'log']
    """
    fewer = tuple(n for n in _SHOWN.choices if n == _ALL or int(n) < most)
    found = [
        live_knob(
            Knob("shown", _SHOWN.label, "ladder", _ALL, choices=fewer, help=_SHOWN.help), _ALL
        )
    ]
    found += [live_knob(knob, values[knob.key]) for knob in _KNOBS if knob.key in values]
    never = -1  # no place of any knob
    return [one if one.key == key else one._replace(needs={one.key: (never,)}) for one in found]
