"""Whether what a method needs is installed, told without importing it."""

from __future__ import annotations

import importlib.util


def package_missing(label: str, package: str) -> str:
    """Why a method cannot be used, in a sentence; empty if it can.

    Examples
    --------
    >>> package_missing("A forest", "gbuq_core")
    ''
    >>> package_missing("A tree of life", "no_package")
    'A tree of life is not installed: choose another method, or install the package no_package.'
    """
    if importlib.util.find_spec(package) is not None:
        return ""
    return f"{label} is not installed: choose another method, or install the package {package}."
