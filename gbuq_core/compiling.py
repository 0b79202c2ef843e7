"""Options of numba's compiler that keep compiling short, for the kernels of all rooms.

Each call's code is optimised again in its caller, so small functions used once are inlined
(``inline="always"``) and no call is more than a few levels deep.

What unpacks a kernel's arguments for Python takes three times as long to compile as the kernel
itself where these are tuples of dozens of arrays. `lean` leaves it out of all that a kernel calls,
though Python may call those kernels too: they are compiled for it when it does.
"""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

from numba import njit
from numba.core.dispatcher import Dispatcher

# A wrapper for C is never needed, and dividing by zero gives infinity as in NumPy, not an exception
# on every division's path.
OUTER: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
# A wrapper for Python is needed only where Python calls.
INNER: dict[str, Any] = {**OUTER, "no_cpython_wrapper": True}


def lean(kernel: Any) -> Any:
    """The kernel for Python, made of kernels that only kernels can call.

    What it calls must stand above it. Its ``py_func`` is the function as it was.
    """
    made = _twin(kernel, {"no_cfunc_wrapper": True})
    made.py_func = kernel.py_func
    return made


@cache
def inner(kernel: Any) -> Any:
    """The kernel that `lean` kernels call in place of this one."""
    if "no_cpython_wrapper" in kernel.targetoptions:
        return kernel
    return _twin(kernel, {"no_cfunc_wrapper": True, "no_cpython_wrapper": True})


def _twin(kernel: Any, options: dict[str, bool]) -> Any:
    """The same function with other options, whose calls go to `inner` kernels.

    Numba's cache knows a function by its name, and so the twin has another one.
    """
    function: FunctionType = kernel.py_func
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        called = scope.get(name)
        if isinstance(called, Dispatcher) and "inline" not in called.targetoptions:
            scope[name] = inner(called)
    twin = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__doc__, twin.__module__ = function.__doc__, function.__module__
    twin.__qualname__ = f"{function.__qualname__}.{'_'.join(options)}"
    given = {name: value for name, value in kernel.targetoptions.items() if name != "nopython"}
    made = njit(**{**given, **options})(twin)
    if function.__code__.co_filename.endswith(".py"):  # an example's has no file to stand beside
        made.enable_caching()
    return made
