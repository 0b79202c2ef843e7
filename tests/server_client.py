"""A visitor without a browser: it speaks Streamlit's protocol over a websocket, and uploads files.

Ten browsers would take both cores of a small machine for themselves; ten of these take next to
nothing, so that what is measured is the server. It keeps of a page what a visitor can act on:
widgets with their values, exceptions, and the sentences on it.
"""

from __future__ import annotations

import http.client
import socket
import time
import urllib.parse
import urllib.request
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import DoubleArray, FileUploaderState, StringArray
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

MOVABLE = ("slider", "number_input", "checkbox", "button_group")
_END = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR)
_XSRF = "_streamlit_xsrf"


class Client:
    """One tab: open pages, set widgets, drop files; each waits for the end of the run.

    Parameters
    ----------
    url : str
        Where the server answers.
    patience : float
        Seconds that a run may take.
    """

    def __init__(self, url: str, patience: float = 240.0) -> None:
        self.url, self.patience = url, patience
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=30) as answer:
            cookies = answer.headers.get_all("Set-Cookie") or []
        tokens = [text.split(";")[0] for text in cookies if text.startswith(_XSRF)]
        self._token = tokens[0].partition("=")[2] if tokens else ""
        address = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
        self._socket = connect(
            address,
            subprotocols=["streamlit", self._token] if self._token else ["streamlit"],  # type: ignore[list-item]
            additional_headers={"Cookie": f"{_XSRF}={self._token}"},
            max_size=None,
            open_timeout=60,
        )
        self.session = ""
        self.page, self.query = "", ""
        self.exceptions: list[str] = []
        self.widgets: dict[str, tuple[str, Any]] = {}
        self.texts: list[str] = []
        self._values: dict[str, tuple[str, Any]] = {}
        self._pages: dict[str, str] = {}  # hash by name
        self._seen: dict[str, ForwardMsg] = {}
        self._auto: dict[str, tuple[float, float]] = {}  # fragments that run by themselves
        self._new: dict[str, tuple[str, Any]] = {}  # widgets of the run that is under way
        self._new_auto: dict[str, tuple[float, float]] = {}

    def open(self, page: str, query: str = "") -> float:
        """Open a page by its address; return the seconds until its run ended."""
        self.page, self.query = page, query
        self.widgets, self._values, self._auto = {}, {}, {}
        return self._run(page_name=page)

    def rerun(self) -> float:
        """Run the page again as it is."""
        return self._run()

    def put(self, identity: str, field: str, value: Any) -> float:
        """Set a widget and run the page."""
        self._values[identity] = (field, value)
        return self._run()

    def move(self, identity: str, step: int) -> float:
        """Move a slider, a number, a switch or a choice by a step, within its range."""
        kind, proto = self.widgets[identity]
        now = self._values.get(identity, ("", None))[1]
        if kind == "checkbox":
            return self.put(identity, "bool_value", not (proto.default if now is None else now))
        if kind == "button_group":
            chosen = list(proto.default) if now is None else list(now.data)
            named = [option.content for option in proto.options]
            chosen = [named.index(c) if isinstance(c, str) else c for c in chosen]
            at = (chosen[0] if chosen else 0) + step
            picked = StringArray(data=[named[at % len(named)]])
            return self.put(identity, "string_array_value", picked)
        if kind == "slider":
            values = list(proto.default) if now is None else list(now.data)
            if proto.options or len(values) != 1:
                return self.rerun()
            moved = min(max(values[0] + step * (proto.step or 1), proto.min), proto.max)
            return self.put(identity, "double_array_value", DoubleArray(data=[moved]))
        value = proto.default if now is None else now
        value += step * (proto.step or 1)
        value = min(max(value, proto.min), proto.max) if proto.has_min and proto.has_max else value
        whole = proto.data_type == proto.INT
        return self.put(
            identity, "int_value" if whole else "double_value", int(value) if whole else value
        )

    def press(self, identity: str) -> float:
        """Press a button, and let it go."""
        seconds = self.put(identity, "trigger_value", True)
        self._values.pop(identity, None)
        return seconds

    def named(self, part: str) -> str:
        """The identity of the first widget whose label has ``part``; empty where there is none."""
        labelled = ((key, proto) for key, (_, proto) in self.widgets.items())
        return next((key for key, proto in labelled if part in getattr(proto, "label", "")), "")

    def send_file(self, name: str, data: bytes, gone_after: int | None = None) -> int:
        """Upload a file into the page's first uploader; return the HTTP status.

        With ``gone_after`` the connection is cut after so many bytes; the status is then 0.
        """
        zone = next((key for key, (kind, _) in self.widgets.items() if kind == "file_uploader"), "")
        if not zone:
            return 0
        asked = BackMsg()
        asked.file_urls_request.request_id = "files"
        asked.file_urls_request.session_id = self.session
        asked.file_urls_request.file_names.append(name)
        self._socket.send(asked.SerializeToString())
        while True:
            message = self._receive()
            if message.WhichOneof("type") == "file_urls_response":
                break
            self._take(message)
        urls = message.file_urls_response.file_urls[0]
        status = self._put_file(urls.upload_url, name, data, gone_after)
        if status == 204:
            state = FileUploaderState()
            info = state.uploaded_file_info.add(name=name, size=len(data), file_id=urls.file_id)
            info.file_urls.CopyFrom(urls)
            self.put(zone, "file_uploader_state_value", state)
        return status

    def close(self) -> None:
        """Close the tab."""
        self._socket.close()

    def vanish(self) -> None:
        """Be gone without a word, as a machine that lost its network."""
        self._socket.socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _put_file(self, path: str, name: str, data: bytes, gone_after: int | None) -> int:
        mark = "gbuqboundary"
        head = (
            f'--{mark}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
            "Content-Type: text/csv\r\n\r\n"
        ).encode()
        body = head + data + f"\r\n--{mark}--\r\n".encode()
        parts = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        headers = {
            "Content-Type": f"multipart/form-data; boundary={mark}",
            "Content-Length": str(len(body)),
            "X-Xsrftoken": self._token,
            "Cookie": f"{_XSRF}={self._token}",
        }
        connection.putrequest("PUT", urllib.parse.urlsplit(path).path)
        for key, value in headers.items():
            connection.putheader(key, value)
        connection.endheaders()
        if gone_after is not None:
            connection.send(body[:gone_after])
            time.sleep(0.05)
            connection.close()
            return 0
        connection.send(body)
        status = connection.getresponse().status
        connection.close()
        return status

    def _run(self, fragment: str = "", page_name: str = "") -> float:
        message = BackMsg()
        state = message.rerun_script
        state.query_string = self.query
        state.page_script_hash = "" if page_name else self._pages.get(self.page, "")
        state.page_name = page_name
        if fragment:
            state.fragment_id, state.is_auto_rerun = fragment, True
        state.widget_states.SetInParent()
        for identity, (field, value) in self._values.items():
            widget = state.widget_states.widgets.add(id=identity)
            if hasattr(value, "SerializeToString"):
                getattr(widget, field).CopyFrom(value)
            else:
                setattr(widget, field, value)
        began = time.perf_counter()
        self._socket.send(message.SerializeToString())
        self.texts = []
        while True:
            received = self._receive()
            self._take(received)
            if received.WhichOneof("type") != "script_finished":
                continue
            whole = received.script_finished in _END
            part = received.script_finished == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
            if whole:
                self.widgets, self._auto = dict(self._new), dict(self._new_auto)
            elif part:
                self.widgets.update(self._new)
                self._auto.update(self._new_auto)
            if whole or (part and fragment):
                return time.perf_counter() - began

    def wait(self, seconds: float) -> None:
        """Stay on the page for a while; what polls on it is run as a browser runs it."""
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            due = min((moment for _, moment in self._auto.values()), default=until)
            if due > now:
                time.sleep(min(due, until) - now)
                continue
            fragment = min(self._auto, key=lambda name: self._auto[name][1])
            interval, _ = self._auto[fragment]
            self._auto[fragment] = (interval, time.monotonic() + interval)
            self._run(fragment)

    def settle(self, seconds: float) -> bool:
        """Wait until nothing on the page polls any more, at most so long."""
        until = time.monotonic() + seconds
        while self._auto and time.monotonic() < until:
            self.wait(0.25)
        return not self._auto

    def _receive(self) -> ForwardMsg:
        data = self._socket.recv(timeout=self.patience)
        message = ForwardMsg()
        message.ParseFromString(data if isinstance(data, bytes) else data.encode())
        if message.WhichOneof("type") == "ref_hash":
            return self._seen[message.ref_hash]
        if message.hash and message.metadata.cacheable:
            self._seen[message.hash] = message
        return message

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.session = message.new_session.initialize.session_id or self.session
            self._new, self._new_auto = {}, {}
        elif kind == "navigation":
            self._pages = {
                page.url_pathname: page.page_script_hash for page in message.navigation.app_pages
            }
        elif kind == "auto_rerun":
            interval = message.auto_rerun.interval
            name = message.auto_rerun.fragment_id
            self._new_auto[name] = (interval, time.monotonic() + interval)
        elif kind == "stop_auto_rerun":
            for name in message.stop_auto_rerun.fragment_ids:
                self._auto.pop(name, None)
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._take_element(message.delta.new_element)

    def _take_element(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        proto = getattr(element, kind) if kind else None
        if kind == "exception":
            self.exceptions.append(f"{proto.type}: {proto.message}")
        elif kind == "text":
            self.texts.append(proto.body)
        elif proto is not None and hasattr(proto, "id") and proto.id:
            self._new[proto.id] = (kind, proto)
