"""Which table is open: a built-in one or the reader's file, how it is read, what failed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.errors import GbuqError, MemoryLimitExceeded
from gbuq_core.tables import (
    ReadOptions,
    Schema,
    Table,
    infer_schema,
    load_builtin,
    read_table,
    sheet_names,
    suggest_target,
)
from pages._ui.notices import show_notice
from pages._ui.your_data.state import TABLE, UPLOADED

MAX_MEGABYTES = 250  # as .streamlit/config.toml and the reader

# Session keys, declared once.
UPLOAD, SECOND = "upload", "upload_second"
_DIGESTS, _LAST_OPEN, _FAILED = "_data_digests", "_data_last_open", "_data_failed"

_DELIMITERS = {
    "automatic": None,
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "bar": "|",
    "space": " ",
}
_ENCODINGS = {
    "automatic": None,
    "UTF-8": "utf-8",
    "Windows-1252": "cp1252",
    "Latin-1": "latin-1",
    "UTF-16": "utf-16",
}
_DECIMALS = {"automatic": None, "point": ".", "comma": ","}
_HEADERS = {"automatic": None, "yes": True, "no": False}


class Opened(NamedTuple):
    """A table that is open.

    ``key`` identifies its content and how it was read; ``suggested`` is its likely target;
    ``about`` says what it is, for a built-in one; ``options`` are what the reader chose.
    """

    key: str
    table: Table
    schema: Schema
    suggested: str
    about: str
    is_upload: bool
    options: ReadOptions = ReadOptions()


class _Read(NamedTuple):
    """What reading gave: a table with its schema, or a sentence."""

    table: Table | None
    schema: Schema | None
    error: str


def drop_zone() -> None:
    """The place to drop a file; a new one is opened at once."""
    st.file_uploader(
        "Your own table: CSV, TSV, Excel or Parquet",
        key=UPLOAD,
        max_upload_size=MAX_MEGABYTES,
        on_change=_open_upload,
        help="The file stays in the memory of this server while the tab is open. No other session "
        "sees it, and it is not stored.",
    )


def drop_second() -> None:
    """The place to drop a second file, which is scored by the models of the first."""
    with st.popover("Score a second file", type="tertiary"):
        st.file_uploader(
            "A second file, scored by a model of the first",
            key=SECOND,
            max_upload_size=MAX_MEGABYTES,
            help="It needs the columns of the first file, in any order. Other columns are ignored.",
        )


def open_table(choice: str) -> Opened | None:
    """Open what is chosen; where it cannot be read, say why and keep the table before."""
    last: Opened | None = st.session_state.get(_LAST_OPEN)
    st.session_state[_FAILED] = ""
    upload = st.session_state.get(UPLOAD)
    if choice == UPLOADED and upload is None:
        if last is None:
            show_notice("No file is open. Drop one above, or choose a built-in table.", "open")
            return _remember(_builtin(TABLE.default))
        show_notice(f"No file is open. You still see {_shown_name(last)}.", "open")
        return last
    if choice != UPLOADED:
        return _remember(_builtin(choice))
    chosen = _chosen_options(_digest_of(upload))
    read = _read_upload(upload, chosen)
    if read.table is None or read.schema is None:
        sentences = [read.error]
        if last is not None:
            sentences.append(f"You still see {_shown_name(last)}.")
        show_notice(sentences, "open", tone="error")
        st.session_state[_FAILED] = _digest_of(upload)
        if sheets := _sheets_of(_digest_of(upload), upload):
            _draw_sheet_options(_digest_of(upload), sheets, key="sheets-of-failed")
        else:
            _draw_options(_digest_of(upload), key="options-of-failed")
        return last if last is not None else _remember(_builtin(TABLE.default))
    options = tuple(read.table.source.options)
    key = f"{read.table.source.digest}:{options}"
    suggested = suggest_target(read.schema)
    return _remember(Opened(key, read.table, read.schema, suggested, "", True, chosen))


def open_second(opened: Opened) -> tuple[str, Table | None]:
    """Key and table of the second file, if there is one; a sentence where it cannot be read.

    What the reader chose about the first file's text holds for the second.
    """
    upload = st.session_state.get(SECOND)
    if upload is None:
        return "", None
    read = _read_upload(upload, opened.options, to_score=True)
    if read.table is None:
        show_notice(f"The second file cannot be scored. {read.error}", "second", tone="error")
        return "", None
    return f"{read.table.source.digest}:{tuple(read.table.source.options)}", read.table


def show_reading(opened: Opened) -> None:
    """How a text file was read, and controls to read it otherwise."""
    st.text(opened.table.source.summary)
    digest = opened.table.source.digest
    if not opened.is_upload or st.session_state.get(_FAILED) == digest:
        return  # where it failed, the controls are beside the error
    if opened.table.source.format == "csv":
        _draw_options(digest, key="options-of-open")
    if opened.table.source.format == "excel":
        _draw_sheet_options(digest, opened.table.source.sheets, key="sheets-of-open")


def _draw_sheet_options(digest: str, sheets: Sequence[str], key: str) -> None:
    """Controls to read another sheet of this workbook, or its first row otherwise."""
    with st.container(horizontal=True, gap="small", key=key):
        st.selectbox("Sheet", sheets, key=_option_key("Sheet", digest), width=300)
        st.selectbox("Header", list(_HEADERS), key=_option_key("Header", digest), width=150)


def _draw_options(digest: str, key: str) -> None:
    """Controls to read this file in another way."""
    choices = (
        ("Delimiter", _DELIMITERS),
        ("Encoding", _ENCODINGS),
        ("Decimal mark", _DECIMALS),
        ("Header", _HEADERS),
    )
    with st.container(horizontal=True, gap="small", key=key):
        for label, values in choices:
            st.selectbox(label, list(values), key=_option_key(label, digest), width=150)


def _chosen_options(digest: str) -> ReadOptions:
    def chosen(label: str, values: dict[str, Any]) -> Any:
        return values[st.session_state.get(_option_key(label, digest), "automatic")]

    return ReadOptions(
        chosen("Delimiter", _DELIMITERS),
        chosen("Encoding", _ENCODINGS),
        chosen("Decimal mark", _DECIMALS),
        chosen("Header", _HEADERS),
        st.session_state.get(_option_key("Sheet", digest)),
    )


def _option_key(label: str, digest: str) -> str:
    return f"_read:{label}:{digest[:16]}"


def _open_upload() -> None:
    """A dropped file is what the reader wants to see; one that is taken away is not."""
    if st.session_state.get(UPLOAD) is not None:
        st.session_state[TABLE.key] = UPLOADED


def _remember(opened: Opened) -> Opened:
    st.session_state[_LAST_OPEN] = opened
    return opened


def _shown_name(opened: Opened) -> str:
    name = " ".join(opened.table.source.name.split())
    return f'the table "{name[:60]}"'


def _digest_of(upload: Any) -> str:
    """SHA-256 of an uploaded file, computed once."""
    digests = st.session_state.setdefault(_DIGESTS, {})
    if upload.file_id not in digests:
        digests[upload.file_id] = hashlib.sha256(upload.getbuffer()).hexdigest()
    return str(digests[upload.file_id])


def _read_upload(upload: Any, options: ReadOptions, to_score: bool = False) -> _Read:
    try:
        name = upload.name.encode("utf-8", errors="replace").decode()
        return _read_bytes(_digest_of(upload), name, options, to_score, upload)
    except MemoryLimitExceeded as error:  # not kept: there may be room in a moment
        return _Read(None, None, str(error))


# Of the session: another reader's file, or its name, is nobody else's to see.
@st.cache_resource(max_entries=6, show_spinner="Reading the file", scope="session")
def _read_bytes(
    digest: str, name: str, options: ReadOptions, to_score: bool, _upload: Any
) -> _Read:
    _upload.seek(0)
    try:
        table = read_table(_upload, name, options, to_score=to_score)
        return _Read(table, None if to_score else infer_schema(table), "")
    except MemoryLimitExceeded:
        raise
    except GbuqError as error:
        return _Read(None, None, str(error))


@st.cache_resource(max_entries=6, show_spinner=False, scope="session")
def _sheets_of(digest: str, _upload: Any) -> tuple[str, ...]:
    return sheet_names(_upload.getvalue())


@st.cache_resource(max_entries=6, show_spinner=False)
def _builtin(name: str) -> Opened:
    loaded = load_builtin(name.replace(" ", "_"))
    about = loaded.about
    return Opened(
        f"builtin:{name}", loaded.table, loaded.schema, about.target, about.description, False
    )
