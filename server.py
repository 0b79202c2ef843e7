"""Run with ``streamlit run server.py`` where others use the app: limits, log, readiness, errors.

It serves `app.py`, and differs from it in seven ways: a wrong file of limits ends the start with a
sentence; fits and errors are logged (`pages._ui.journal`); ``/ready`` says whether the kernels are
loaded; pages go before fits where both want a core; memory that is freed goes back to the system;
an error that no page expected is shown as a sentence with a reference; a shared link has a title, a
sentence and a picture. ``docs/deploy.md`` tells the rest.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from html import escape
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from streamlit import config
from streamlit.runtime.pages_manager import PagesManager

from gbuq_core.jobs import let_pages_go_first, return_freed_arrays
from pages._ui.cards import PICTURES
from pages._ui.journal import note_error, start_log
from pages._ui.limiting import limit_sessions
from pages._ui.notices import show_notice
from pages._ui.site_map import NAME, PAGES, Entry
from pages._ui.warmup import is_warm, start_warm_up

_INDEX = Path(st.__file__).with_name("static") / "index.html"
_LIKE_START = "heteroscedastic-light.webp"  # of pages that have no card

start_log()
return_freed_arrays()
let_pages_go_first()
# Streamlit takes the folder for its older navigation until the first session has run, and shows
# that one's dialogue for an address that no page has.
PagesManager.uses_pages_directory = False
if problem := limit_sessions():
    raise SystemExit(problem)


async def ready(_request: Request) -> JSONResponse:
    """Whether a first fit need not wait for its kernels: status 200, or 503 until then."""
    warm = is_warm()
    return JSONResponse({"ready": warm}, 200 if warm else 503, {"Cache-Control": "no-store"})


async def page(entry: Entry, request: Request) -> HTMLResponse:
    """Streamlit's page with what a link to it shows elsewhere; nothing of the query is in it."""
    own = f"{entry.url_path}-light.webp"
    picture = own if (PICTURES / own).exists() else _LIKE_START
    properties = {
        "description": entry.question,
        "og:title": entry.tab,
        "og:description": entry.question,
        "og:image": str(request.url_for("preview", path=picture)),
        "og:site_name": NAME,
        "og:type": "website",
        "twitter:card": "summary_large_image",
    }
    tags = [
        f'<meta name="{name}" property="{name}" content="{escape(properties[name])}">'
        for name in properties
    ]
    head = "\n".join([f"<title>{escape(entry.tab)}</title>", *tags])
    html = re.sub("<title>.*?</title>", lambda _: head, _INDEX.read_text("utf-8"), count=1)
    return HTMLResponse(html, headers={"Cache-Control": "no-cache"})


def routes() -> list[Route | Mount]:
    """What the server answers beside Streamlit."""
    base = "/".join(["", *filter(None, config.get_option("server.baseUrlPath").split("/"))])
    return [
        Route("/ready", ready),
        Mount(f"{base}/preview", StaticFiles(directory=PICTURES), name="preview"),
        *(Route(f"{base}/{entry.url_path}", partial(page, entry)) for entry in PAGES),
    ]


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
    routes=routes(),
    lifespan=begin,
    on_script_error=show_error,
)
