"""Scripts and style sheets as they are sent to the browser: joined, without indentation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def join_scripts(parts: Iterable[Path]) -> str:
    """The scripts one after the other, as the text of one ES module.

    Indentation and whole-line comments are left out: Streamlit sends the text with each update.
    """
    lines = []
    for part in parts:
        for line in part.read_text(encoding="utf-8").splitlines():
            text = line.strip()
            if text and not text.startswith("//"):
                lines.append(text)
    return "\n".join(lines) + "\n"


def read_styles(path: Path) -> str:
    """A style sheet without indentation."""
    text = path.read_text(encoding="utf-8")
    return "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"
