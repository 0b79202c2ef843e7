"""Options that keep compiling kernels short: of those that Python calls, and of their parts."""

from __future__ import annotations

from typing import Any

# No wrappers that nobody calls, and no checks of divisors.
OUTER: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
INNER: dict[str, Any] = {**OUTER, "no_cpython_wrapper": True}
