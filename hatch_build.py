"""What pip installs with gbuq, read from requirements.txt while the package is built.

Hatchling looks for its hook at this place, also in an unpacked source distribution.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

CORE = "core"
_HEADING = re.compile(r"#\s*(\w+):")


class RequirementsHook(MetadataHookInterface):
    """The group "core" becomes the dependencies; each other group becomes an extra of its name."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in the fields that pyproject.toml calls dynamic."""
        groups = split_requirements(Path(self.root, "requirements.txt").read_text("utf-8"))
        metadata["dependencies"] = groups.pop(CORE)
        metadata["optional-dependencies"] = {**groups, **self.config["extras"]}


def split_requirements(text: str) -> dict[str, list[str]]:
    """Divide the lines of a requirements file into groups.

    A comment line such as ``# app: what the app needs`` begins the group "app". Other comments and
    empty lines do not count.

    Raises
    ------
    ValueError
        If a requirement stands before the first group, if a group begins twice or is empty, if a
        line is an option of pip, or if the group "core" is missing.
    """
    groups: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in map(str.strip, text.splitlines()):
        if heading := _HEADING.match(line):
            name = heading[1].lower()
            if name in groups:
                raise ValueError(f"requirements.txt begins the group {name} twice.")
            current = groups[name] = []
        requirement = re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip()
        if not requirement:
            continue
        if requirement.startswith("-"):
            raise ValueError(f"requirements.txt may hold no option of pip; got {requirement}.")
        if current is None:
            raise ValueError(f"requirements.txt has no group above the line {requirement}.")
        current.append(requirement)
    if CORE not in groups:
        raise ValueError(f"requirements.txt has no group {CORE}: begin it with a line # {CORE}:")
    if empty := [name for name, group in groups.items() if not group]:
        raise ValueError(f"requirements.txt has no requirement in the group {empty[0]}.")
    return groups
