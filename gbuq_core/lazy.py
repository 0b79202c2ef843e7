"""Packages whose names load when they are used (PEP 562).

What a package offers stands once, in ``__init__.pyi`` beside its ``__init__.py``: imports and
``__all__``, which type checkers and editors read. Running code reads the same lines, and imports
the module that defines a name when somebody asks for that name.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from gbuq_core.errors import MissingPackage


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package that has an ``__init__.pyi``.

    Modules of the package are found as its attributes too, whether somebody imported them or not.

    >>> get, names, offered = lazy_names("gbuq_core.synthetic")
    >>> get("make_heart").__module__, "make_heart" in names(), "make_heart" in offered
    ('gbuq_core.synthetic.heart', True, True)
    """
    homes, offered = _read_stub(package)

    def __getattr__(name: str) -> Any:
        if name in homes:
            module, there = homes[name]
            value = getattr(importlib.import_module(module), there)
        else:
            value = _submodule(package, name)
        setattr(sys.modules[package], name, value)  # the next time nobody asks here
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return __getattr__, __dir__, offered


_NEEDED = {
    "catboost": "CatBoost models need", "lightgbm": "LightGBM models need",
    "xgboost": "XGBoost models need", "ngboost": "NGBoost needs", "stochtree": "XBART needs",
    "mapie": "Conformal prediction needs", "shtab": "Completion needs",
}  # fmt: skip


def import_optional(module: str) -> Any:
    """A module, imported at its first use, or one sentence if it cannot be."""
    try:
        return importlib.import_module(module)
    except (ImportError, OSError, ValueError) as error:  # ValueError: XGBoost without OpenMP
        raise MissingPackage(_describe_missing(module.partition(".")[0], error)) from error


def why_missing(module: str) -> str:
    """Why a module cannot be imported, as one sentence; empty if it can, and it is."""
    try:
        import_optional(module)
    except MissingPackage as error:
        return str(error)
    return ""


def _describe_missing(package: str, error: Exception) -> str:
    """What to install.

    >>> _describe_missing("lightgbm", ModuleNotFoundError(name="lightgbm"))
    'LightGBM models need the package lightgbm, which is not installed: pip install lightgbm.'
    """
    needed = f"{_NEEDED.get(package, 'This needs')} the package {package}, which"
    if isinstance(error, ModuleNotFoundError) and error.name == package:
        return f"{needed} is not installed: pip install {package}."
    if any(name in str(error) for name in ("libgomp", "libomp")):
        return (
            f"{needed} needs OpenMP, and this system has none: apt install libgomp1 on Debian and "
            "Ubuntu, brew install libomp on macOS."
        )
    reason = str(error).strip().partition("\n")[0].rstrip(".")
    return f"{needed} is installed but does not load ({reason}): install it again."


def _submodule(package: str, name: str) -> Any:
    path = f"{package}.{name}"
    if not name.startswith("_"):
        try:
            return importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
    raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)


def _read_stub(package: str) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Of each name its module and what it is called there; and ``__all__``."""
    module = sys.modules[package]
    loader: Any = module.__spec__.loader if module.__spec__ else None
    content = loader.get_data(str(PurePath(str(module.__file__)).with_name("__init__.pyi")))
    homes: dict[str, tuple[str, str]] = {}
    offered: list[str] = []
    for node in ast.parse(content).body:
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                homes[name.asname or name.name] = (str(node.module), name.name)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            offered = ast.literal_eval(node.value)
    return homes, offered
