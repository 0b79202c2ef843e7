"""Notes beside numba's cache of which steps of `kernel_steps` have been compiled."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from gbuq_core import numba_cache

_PACKAGE = Path(__file__).parent


def finished_mark(name: str) -> Path | None:
    """The file that says that the step ``name`` has been compiled.

    Its name holds what numba's own index goes by (the sources, the versions, the processor), so it
    says nothing about another machine that shares the cache. None where nothing can be written.
    """
    environment, place = _environment(), _place()  # numba's import chooses a place first
    return None if place is None else place / f"{name}-{environment}.compiled"


@cache
def _place() -> Path | None:
    """The package's own folder where numba keeps its kernels."""
    folder = numba_cache._numba_folder(_PACKAGE)
    places = [_PACKAGE / "__pycache__", numba_cache._user_cache() / folder]
    if directory := os.environ.get("NUMBA_CACHE_DIR"):
        places = [Path(directory) / folder]
    return next((place for place in places if numba_cache._is_writable(place)), None)


@cache
def _environment() -> str:
    import llvmlite
    import numba
    from numba.core import config

    target = llvmlite.binding
    processor = config.CPU_NAME or target.get_host_cpu_name()  # type: ignore[attr-defined]
    features = config.CPU_FEATURES  # type: ignore[attr-defined]
    if features is None:
        features = target.get_host_cpu_features().flatten()
    # Numba goes by when its source was written, too.
    written = [
        source.stat().st_mtime
        for source in sorted(_PACKAGE.rglob("*.py"))
        if source.name.endswith("_kernels.py") or source.name == "seeding.py"
    ]
    versions = (numba.__version__, llvmlite.__version__, sys.version)
    facts = (numba_cache.kernel_digest(), written, versions, processor, features)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
