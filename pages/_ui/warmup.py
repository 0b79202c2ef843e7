"""What is done once when the server starts, in a thread of its own.

Kernels are compiled in other processes if need be, and loaded on tiny arrays, so that nobody's
first slider waits for them; what somebody has asked for goes first. Then what is alive is frozen:
Python's collector need not walk through every library again after each run.
"""

from __future__ import annotations

import gc
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pkgutil import resolve_name

import streamlit as st

from gbuq_core.compilers import COMPILERS
from gbuq_core.jobs import RUNNER
from gbuq_core.kernel_steps import STEPS

_PATIENCE_SECONDS = 60.0  # where somebody always fits something
_COMPILING_SECONDS = 600.0
_LOOK_SECONDS = 0.05
# A page hands over each of its elements with a system call, and then waits until another thread
# gives the interpreter back: after 5 ms by default, seventy times a run.
_SWITCH_SECONDS = 0.001

_DONE = threading.Event()
_LOG = logging.getLogger(__name__)


@st.cache_resource(show_spinner=False)
def start_warm_up() -> threading.Thread:
    """Start the warm-up the first time anybody opens the app; later calls cost nothing."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    thread = threading.Thread(target=_warm_up, name="gbuq-warm-up", daemon=True)
    thread.start()
    return thread


def is_warm() -> bool:
    """Whether the warm-up of the first pages has ended, well or not."""
    return _DONE.is_set()


def _neighbours() -> None:
    """Nobody's first picture of neighbours waits for its libraries, nor for scipy's tables."""
    from gbuq_core.study.neighbours_fit import NeighboursSettings, library_missing, run_neighbours

    if not library_missing(NeighboursSettings().library):
        run_neighbours(NeighboursSettings(rows=60, trees=3, k=5))


def _heteroscedastic() -> None:
    from gbuq_core.study.heteroscedastic import (
        HETEROSCEDASTIC,
        METHODS,
        HeteroscedasticSettings,
    )

    small = HeteroscedasticSettings(rows=200, subsample=0.8, trees=4, test_rows=100, ood_rows=100)
    methods = tuple(method for method in small.methods if not METHODS[method].missing())
    HETEROSCEDASTIC.run(replace(small, methods=methods))


def _warm_up_of(package: str) -> Callable[[], None]:
    return lambda: resolve_name(f"gbuq_core.{package}.warmup:warm_up")()  # imported by it


# What is compiled for each group of pages, and what then loads it; those of the first pages first,
# and no others before the fit that somebody waits for meanwhile.
FIRST_KERNELS = ("gaussian_boosting", "predicting", "neighbours", "laws")
NEXT_KERNELS = ("two_classes", "three_classes", "chains")
FIRST_STEPS = (_warm_up_of("boosting"), _warm_up_of("sampling"))
LATER_STEPS = (_neighbours, _warm_up_of("soft_trees"), _warm_up_of("macau"), _heteroscedastic)


def _warm_up() -> None:
    _compile(FIRST_KERNELS)
    _let_pages_go_first()
    _compile(NEXT_KERNELS)
    _take(FIRST_STEPS)
    _DONE.set()
    _compile(STEPS)
    _take(LATER_STEPS)


def _compile(names: Iterable[str]) -> None:
    """Let other processes do it; what somebody asks for meanwhile goes first."""
    COMPILERS.begin(names)
    COMPILERS.wait(_COMPILING_SECONDS)


def _take(steps: tuple[Callable[[], None], ...]) -> None:
    for step in steps:
        _let_pages_go_first()
        try:
            step()
        except Exception:  # a page that needs what failed here will say so itself
            _LOG.exception("A part of the warm-up failed")
    gc.collect()
    gc.freeze()


def _let_pages_go_first() -> None:
    """Somebody's fit must not share the processor with what is for other pages."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while RUNNER.busy and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
