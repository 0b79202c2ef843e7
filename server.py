"""Run with ``streamlit run server.py`` where others use the app: limits, log, readiness, errors.

It serves `app.py`, and differs from it in six ways: a wrong file of limits ends the start with one
sentence; fits and errors are logged (`pages._ui.journal`); ``/ready`` says whether the kernels are
loaded; pages go before fits where both want a core, and threads wait less for each other; memory
that is freed goes back to the system; an error that no page expected is shown as a sentence with a
reference. ``docs/deploy.md`` tells the rest.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gbuq_core.jobs import let_pages_go_first, return_freed_arrays
from pages._ui.journal import note_error, start_log
from pages._ui.limiting import limit_sessions
from pages._ui.notices import show_notice
from pages._ui.warmup import is_warm, start_warm_up

# A page hands over each of its elements with a system call, and then waits until another thread
# gives the interpreter back: after 5 ms by default, seventy times a run.
_SWITCH_SECONDS = 0.001

start_log()
return_freed_arrays()
sys.setswitchinterval(_SWITCH_SECONDS)
let_pages_go_first()
if problem := limit_sessions():
    raise SystemExit(problem)


async def ready(_request: Request) -> JSONResponse:
    """Whether a first fit need not wait for its kernels: status 200, or 503 until then."""
    warm = is_warm()
    return JSONResponse({"ready": warm}, 200 if warm else 503, {"Cache-Control": "no-store"})


@asynccontextmanager
async def begin(_app: st.App) -> AsyncIterator[None]:
    """Load the kernels before anybody comes."""
    start_warm_up()
    yield


def show_error(error: Exception) -> bool:
    """Show what no page expected as a sentence, with the reference that the log has."""
    reference = note_error(error, "page")
    show_notice(
        [
            f"This page met an error ({type(error).__name__}). Load it again; your files are kept "
            "for some minutes.",
            f"If it comes back, tell who runs this server the reference {reference}.",
        ],
        f"page-{reference}",
        tone="error",
    )
    return True


app = st.App(
    Path(__file__).with_name("app.py"),
    routes=[Route("/ready", ready)],
    lifespan=begin,
    on_script_error=show_error,
)
