"""What becomes of a session after its tab has been closed."""

import asyncio
import gc
import inspect
import threading
import weakref
from unittest.mock import MagicMock

import pytest
from streamlit.runtime import Runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.session_manager import SessionInfo
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from pages._ui import jobs_glue, leaving
from pages._ui.leaving import Later, drop_stored_sessions


async def new_session():
    return AppSession(ScriptData("app.py"), MagicMock(), MagicMock(), None, {})


@pytest.mark.parametrize(("ttl", "held"), [(60.0, True), (0.0, False)])
def test_a_stored_session_is_dropped_once_nobody_can_come_back_to_it(monkeypatch, ttl, held):
    storage = MemorySessionStorage(ttl_seconds=ttl)
    manager = WebsocketSessionManager(storage, MagicMock(), MagicMock(), None)
    assert "self._session_mgr = " in inspect.getsource(Runtime.__init__)
    monkeypatch.setattr(leaving.runtime, "exists", lambda: True)
    monkeypatch.setattr(
        leaving.runtime, "get_instance", lambda: MagicMock(_session_mgr=manager, spec=Runtime)
    )
    session = asyncio.run(new_session())
    state = session.session_state
    state["result"] = "large"
    there = weakref.ref(session)
    storage.save(SessionInfo(client=None, session=session))
    del session
    drop_stored_sessions()
    gc.collect()
    assert ("result" in state, there() is not None) == (held, held)


def test_work_is_done_once_for_all_who_ask_at_about_the_same_time():
    later = Later(60.0, 60.0, gc.collect)
    waiting = threading.active_count()
    for _ in range(20):
        later.ask()
    assert len(later._due) <= 2
    assert threading.active_count() <= waiting + 1


def test_work_that_fails_is_done_the_next_time():
    calls = []
    done = threading.Semaphore(0)

    def work():
        calls.append(1)
        done.release()
        if len(calls) == 1:
            raise RuntimeError("once")

    later = Later(0.0, 0.01, work)
    for _ in range(2):
        later.ask()
        assert done.acquire(timeout=20)


def test_a_page_that_is_left_asks_for_it(monkeypatch):
    asked = []
    monkeypatch.setattr(jobs_glue, "session_ended", lambda: asked.append(1))
    jobs_glue._drop_user("nobody")
    assert asked == [1]
