"""One file a paper: what its tables are made of, and the numbers that it has published.

`PROTOCOLS` holds a `Protocol` for each, by the name that ``python -m benchmarks.tables --tables``
takes.
"""

from collections.abc import Mapping

from benchmarks.protocols import cyclical, ibug, law, macau, ours, sglb, soft_trees
from benchmarks.tables.protocol import EFFORTS, Found, Protocol, Published, Score, Task

__all__ = ["EFFORTS", "PROTOCOLS", "Found", "Protocol", "Published", "Score", "Task"]

PROTOCOLS: Mapping[str, Protocol] = {
    protocol.key: protocol
    for protocol in (
        *(room.PROTOCOL for room in (sglb, cyclical, ibug, soft_trees, macau, ours)),
        law.TAILS,
        law.SHAPES_KNOWN,
    )
}
