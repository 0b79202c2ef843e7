"""Files that outlive a reload, for a quarter of an hour, and the end of them at the reader's wish.

The browser keeps a random token in the tab's sessionStorage; who knows it gets the files back. A
reload is a new session for Streamlit, with the same token.
"""

from __future__ import annotations

import io
import re
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import streamlit as st
from streamlit.runtime.caching.cache_resource_api import clear_session_cache
from streamlit.runtime.scriptrunner import get_script_run_ctx

from gbuq_core.jobs import release_memory
from pages._ui.leaving import Later, give_back_memory

KEPT_MINUTES = 15
_MOST_BYTES = 2**30  # of the files of all tabs that are closed
_TOKEN = re.compile("[0-9a-f]{32}")

# Session keys, declared once.
_KEY, _ANSWERED = "_data_token", "_data_token_answered"
TAB_KEYS = (_KEY, _ANSWERED)  # what stays when a session's data are deleted

_MOUNT = st.components.v2.component(
    "gbuq_tab_token",
    js="""
const NAME = "gbuq-tab-token";
export default function ({ data, setStateValue }) {
  let token = "";
  try {
    token = sessionStorage.getItem(NAME) ?? "";
    if (!/^[0-9a-f]{32}$/.test(token)) {
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      token = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      sessionStorage.setItem(NAME, token);
    }
  } catch {
    token = "none";  // the browser lets pages store nothing
  }
  if (data.known !== token) setStateValue("token", token);
}
""",
)


class KeptFile(NamedTuple):
    """An uploaded file: what it was called, its bytes, which the upload shares, and its id."""

    name: str
    data: bytes
    file_id: str


class Restored(io.BytesIO):
    """A kept file in the place of an upload."""

    def __init__(self, file: KeptFile) -> None:
        super().__init__(file.data)
        self.name = file.name
        self.size = len(file.data)
        self.file_id = file.file_id


class _Tab:
    """The files of one token, the sessions that have it, and when they go if none has."""

    def __init__(self) -> None:
        self.files: dict[str, KeptFile] = {}
        self.sessions: set[str] = set()
        self.ends = float("inf")

    @property
    def n_bytes(self) -> int:
        return sum(len(file.data) for file in self.files.values())


class KeptFiles:
    """Files by token and place, until `KEPT_MINUTES` after the last session of a token ended.

    Of those without a session, the ones that would end first go first above ``most_bytes``.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, most_bytes: int = _MOST_BYTES
    ) -> None:
        self._clock, self._most_bytes = clock, most_bytes
        self._tabs: dict[str, _Tab] = {}
        self._lock = threading.Lock()

    def hold(self, token: str, session: str) -> None:
        """A session with that token is there: its files stay."""
        with self._lock:
            self._purge()
            tab = self._tabs.setdefault(token, _Tab())
            tab.sessions.add(session)
            tab.ends = float("inf")

    def let_go(self, token: str, session: str) -> None:
        """A session has ended; its files stay for a while if it was the last one."""
        with self._lock:
            tab = self._tabs.get(token)
            if tab is not None:
                tab.sessions.discard(session)
                if not tab.sessions:
                    tab.ends = self._clock() + 60 * KEPT_MINUTES
            self._purge()

    def put(self, token: str, place: str, file: KeptFile) -> None:
        """Keep a file of a token that a session holds."""
        with self._lock:
            if token in self._tabs:
                self._tabs[token].files[place] = file

    def get(self, token: str, place: str) -> KeptFile | None:
        """The file of a token in a place, if it is still there."""
        with self._lock:
            self._purge()
            tab = self._tabs.get(token)
            return None if tab is None else tab.files.get(place)

    def delete(self, token: str, place: str | None = None) -> None:
        """Drop one file of a token, or all of them."""
        with self._lock:
            tab = self._tabs.get(token)
            if tab is not None:
                for name in list(tab.files) if place is None else [place]:
                    tab.files.pop(name, None)

    def purge(self) -> None:
        """Drop what has ended; a timer calls it, because nobody else may come."""
        with self._lock:
            self._purge()

    def _purge(self) -> None:
        now = self._clock()
        closed = sorted((tab.ends, token) for token, tab in self._tabs.items() if not tab.sessions)
        left = sum(self._tabs[token].n_bytes for _, token in closed)
        for ends, token in closed:
            n_bytes = self._tabs[token].n_bytes
            if ends <= now or left > self._most_bytes or not n_bytes:
                left -= n_bytes
                del self._tabs[token]


class _Hold(NamedTuple):
    token: str
    session: str


def keep_tab() -> None:
    """Learn the tab's token from the browser; draws nothing."""
    with st.container(key="tab-token"):
        known = st.session_state.get(_KEY, "")
        answer = _MOUNT(key="_tab_token", data={"known": known}, on_token_change=_no_op)
    token = answer.get("token")
    if isinstance(token, str) and token:
        st.session_state[_ANSWERED] = True
        st.session_state[_KEY] = token
    token = st.session_state.get(_KEY, "")
    if _TOKEN.fullmatch(token):
        _hold(token)


def has_answered() -> bool:
    """Whether the browser has told its token, or that it has none."""
    return bool(st.session_state.get(_ANSWERED))


def keep_upload(place: str, upload: Any) -> None:
    """Keep an upload for a reload; a place without one is left as it is."""
    token = st.session_state.get(_KEY, "")
    if upload is not None and _TOKEN.fullmatch(token):
        name = upload.name.encode("utf-8", errors="replace").decode()
        _files().put(token, place, KeptFile(name, upload.getvalue(), upload.file_id))


def restored(place: str) -> Restored | None:
    """The file that was in a place before the reload, if it is still kept."""
    token = st.session_state.get(_KEY, "")
    file = _files().get(token, place) if _TOKEN.fullmatch(token) else None
    return None if file is None else Restored(file)


def _has_token() -> bool:
    """Whether the browser keeps a token, so that something can be kept for a reload."""
    return bool(_TOKEN.fullmatch(st.session_state.get(_KEY, "")))


def keep_bytes(place: str, data: bytes) -> None:
    """Keep something that is no upload for a reload."""
    if _has_token():
        _files().put(st.session_state[_KEY], place, KeptFile(place, data, place))


def kept_bytes(place: str) -> bytes:
    """What was kept in a place; empty where there is nothing."""
    file = _files().get(st.session_state[_KEY], place) if _has_token() else None
    return b"" if file is None else file.data


def forget_upload(place: str | None = None) -> None:
    """Drop what is kept of this tab, in one place or in all."""
    token = st.session_state.get(_KEY, "")
    if token:
        _files().delete(token, place)


def remove_uploads(uploads: Sequence[Any]) -> None:
    """Drop uploaded files from Streamlit's own memory."""
    context = get_script_run_ctx()
    for upload in uploads:
        if context is not None and upload is not None:
            context.uploaded_file_mgr.remove_file(context.session_id, upload.file_id)


def delete_uploads(uploads: Sequence[Any]) -> None:
    """The same, and all that this session's caches hold."""
    remove_uploads(uploads)
    context = get_script_run_ctx()
    if context is not None:
        clear_session_cache(context.session_id)
    give_back_memory()


def _no_op() -> None:
    """Streamlit reruns the page when the token arrives; there is nothing more to do."""


@st.cache_resource(show_spinner=False)
def _files() -> KeptFiles:
    return KeptFiles()


def _let_go(hold: _Hold) -> None:
    _files().let_go(hold.token, hold.session)
    _PURGE.ask()


def _purge() -> None:
    _files().purge()
    release_memory()


_PURGE = Later(60 * KEPT_MINUTES + 1, 5.0, _purge)


@st.cache_resource(scope="session", on_release=_let_go, show_spinner=False)
def _hold(token: str) -> _Hold:
    session = uuid.uuid4().hex
    _files().hold(token, session)
    return _Hold(token, session)
