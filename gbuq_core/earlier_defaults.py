"""What a link, a project or a settings file of an earlier version means by what it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

VERSION = 4  # of links and settings files: ``v=4``

_TREES = {"method": "sglb"}  # two clocks, without a law around them

# Defaults where those of the next version are others: by version (that of 0.2 has no number), by
# page and knob, as links write them, and by command and option. Whoever changes a default that may
# be left out adds the old one here.
EARLIER_DEFAULTS: Mapping[str, Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "": {"gaussians": {"every": True}, "your-data": {"trees": 300, "depth": 4}},
        "3": {
            "your-data": {"method": "SGLB"},
            **dict.fromkeys(("score", "fit", "explain", "report"), _TREES),
        },
    }
)
VERSIONS = (*filter(None, EARLIER_DEFAULTS), str(VERSION))


def earlier_defaults(version: str, name: str) -> dict[str, Any]:
    """What a version had for a page or command where today's default is another.

    >>> earlier_defaults("3", "score"), earlier_defaults("4", "score")
    ({'method': 'sglb'}, {})
    """
    defaults: dict[str, Any] = {}
    for each in reversed(tuple(EARLIER_DEFAULTS)):
        defaults |= EARLIER_DEFAULTS[each].get(name, {})
        if each == version:
            return defaults
    return {}
