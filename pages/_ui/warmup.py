"""What is done once when the server starts, in a thread of its own.

Kernels are loaded on tiny arrays, so that nobody's first slider waits for them. Then what is
alive is frozen: Python's collector need not walk through every library again after each run.
"""

from __future__ import annotations

import gc
import logging
import threading

import streamlit as st

from gbuq_core.boosting.warmup import warm_up as warm_up_boosting
from gbuq_core.experiments.heteroscedastic import run_hetero
from gbuq_core.experiments.heteroscedastic_plan import HeteroSettings, method_missing
from gbuq_core.experiments.neighbours_look import run_neighbours
from gbuq_core.experiments.neighbours_plan import NeighboursSettings, library_missing
from gbuq_core.macau.warmup import warm_up as warm_up_macau
from gbuq_core.sampling.warmup import warm_up as warm_up_sampling
from gbuq_core.soft_trees.warmup import warm_up as warm_up_soft_trees

_DONE = threading.Event()
_LOG = logging.getLogger(__name__)


@st.cache_resource(show_spinner=False)
def start_warm_up() -> threading.Thread:
    """Start the warm-up the first time anybody opens the app; later calls cost nothing."""
    thread = threading.Thread(target=_warm_up, name="gbuq-warm-up", daemon=True)
    thread.start()
    return thread


def is_warm() -> bool:
    """Whether the warm-up has ended, well or not."""
    return _DONE.is_set()


def _warm_up() -> None:
    try:
        warm_up_boosting()
        warm_up_sampling()
        gc.collect()
        gc.freeze()
        _DONE.set()
        # Nobody's first picture of neighbours waits for its libraries, nor for scipy's tables.
        if not library_missing(NeighboursSettings().library):
            run_neighbours(NeighboursSettings(rows=60, trees=3, k=5))
        warm_up_soft_trees()
        warm_up_macau()
        small = HeteroSettings(rows=200, subsample=0.8, trees=4, test_rows=100, ood_rows=100)
        methods = tuple(method for method in small.methods if not method_missing(method))
        run_hetero(small._replace(methods=methods))
        gc.collect()
        gc.freeze()
    except Exception:  # a page that needs what failed here will say so itself
        _LOG.exception("The warm-up failed")
    finally:
        _DONE.set()
