"""What a link, a project or a settings file without a version means by what it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

VERSION = 3  # of links and settings files: ``v=3``

# Defaults of 0.2 where today's are others: by page and knob, as links write them, and by command
# and option. Whoever changes a default that may be left out adds the old one here.
DEFAULTS_OF_0_2: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"gaussians": {"every": True}, "your_data": {"trees": 300, "depth": 4}}
)
