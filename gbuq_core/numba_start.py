"""The cache of compiled kernels is made ready when numba is first imported, by whomever.

See `gbuq_core.numba_cache`. Who needs no kernel neither loads numba nor reads all sources.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def prepare_with_numba() -> None:
    """Have the cache made ready before numba decorates its first function, once."""
    if "numba" in sys.modules:
        _before()
        _after()
    elif not any(isinstance(finder, _NumbaFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NumbaFinder())


class _NumbaFinder(MetaPathFinder):
    """Notices the first import of numba, and leaves finding it to the usual finders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The usual spec of numba, whose loader also prepares the cache; None for all others."""
        if name != "numba":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is None or spec.loader is None:
            return spec
        _before()
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _after()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _before() -> None:
    from gbuq_core.numba_cache import drop_stale_kernels, ensure_writable_cache

    ensure_writable_cache()
    drop_stale_kernels()


def _after() -> None:
    from gbuq_core.numba_cache import do_without_cache_when_full

    do_without_cache_when_full()
