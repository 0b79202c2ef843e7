"""Options of numba's compiler that keep compiling short, for the kernels of all rooms.

Each call's code is optimised again in its caller, so small functions used once are inlined
(``inline="always"``) and no call is more than a few levels deep.
"""

from __future__ import annotations

from typing import Any

# A wrapper for C is never needed, and dividing by zero gives infinity as in NumPy, not an exception
# on every division's path.
OUTER: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
# A wrapper for Python is needed only where Python calls.
INNER: dict[str, Any] = {**OUTER, "no_cpython_wrapper": True}
