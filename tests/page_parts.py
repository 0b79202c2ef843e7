"""What a standalone page carries for its renderers."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from typing import Any

from tests.figure_readers import unpack_curves


def blocks_of(page: str, kind: str) -> list[bytes]:
    """The packed figures of one kind ("sheet" or "curves"), in the page's order."""
    texts = re.findall(rf'<script type="text/plain" id="{kind}-\d+">(.*?)</script>', page)
    return [zlib.decompress(b64decode(text, validate=True)) for text in texts]


def curves_of(page: str) -> list[dict[str, Any]]:
    """The specifications of a page's figures of curves."""
    return [unpack_curves(block) for block in blocks_of(page, "curves")]
