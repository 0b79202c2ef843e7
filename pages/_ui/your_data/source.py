"""Which table is open: a built-in one or the reader's file, how it is read, what failed."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple

import streamlit as st

from gbuq_core.errors import GbuqError, InvalidData, LimitReached, MemoryLimitExceeded
from gbuq_core.given_models.reading import MAX_MEGABYTES as MAX_MODEL_MEGABYTES
from gbuq_core.jobs import RUNNER
from gbuq_core.session_limits import SMALLER_MODEL, SMALLER_TABLE
from gbuq_core.tables import (
    ReadOptions,
    Schema,
    Source,
    Table,
    infer_schema,
    load_builtin,
    read_query,
    read_table,
    sheet_names,
    suggest_target,
)
from gbuq_core.tables.cleaning import columns_like
from pages._ui.handing import HANDED
from pages._ui.jobs_glue import session_user
from pages._ui.notices import show_notice
from pages._ui.your_data.keeping import (
    KEPT_MINUTES,
    TAB_KEYS,
    delete_uploads,
    forget_upload,
    has_answered,
    keep_tab,
    keep_upload,
    remove_uploads,
    restored,
)
from pages._ui.your_data.opened_project import (
    PROJECT,
    close_project,
    leave_project_table,
    project_table,
)
from pages._ui.your_data.state import FIND, TABLE, UPLOADED

MAX_MEGABYTES = 250  # as .streamlit/config.toml and the reader

# Session keys, declared once.
UPLOAD, SECOND, MODEL = "upload", "upload_second", "upload_model"
_PLACES = (UPLOAD, SECOND, PROJECT, MODEL)
_DIGESTS, _LAST_OPEN, _FAILED = "_data_digests", "_data_last_open", "_data_failed"
_HANDED = "_data_handed"  # the file that another page handed over
_ADMITTED = "_data_admitted"  # uploads that were within the limits when they came
_DELETED = "_data_deleted"  # how often, by place
_QUERY, _QUERY_ERROR, _FROM_DATABASE = "_data_query", "_data_query_error", "_data_from_database"
# What is made of a table: of its files, results, edits of columns and ways to read.
_OF_DATA = ("_data", "_jobs", "_kept", "_columns:", "_read:")

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
    keep_tab()
    st.file_uploader(
        "Your own table: CSV, TSV, Excel or Parquet",
        key=widget_key(UPLOAD),
        max_upload_size=most_megabytes(),
        on_change=_open_upload,
        help="The file stays in the memory of this server while the tab is open, and "
        f"{KEPT_MINUTES} minutes longer, so that a reload keeps it. No other session sees it, and "
        "it is not stored on a disk.",
    )
    if handed := st.session_state.pop(HANDED, None):
        _leave_others()
        st.session_state[_HANDED] = handed
    keep_upload(UPLOAD, st.session_state.get(widget_key(UPLOAD), st.session_state.get(_HANDED)))
    upload = upload_in(UPLOAD)
    own = upload is not None or project_table() is not None
    if own or _FROM_DATABASE in st.session_state:
        with st.container(horizontal=True, vertical_alignment="center", key="own-data"):
            if upload is not None and st.session_state.get(widget_key(UPLOAD)) is None:
                st.text(f"Still open: {' '.join(upload.name.split())[:60]}")
            st.button("Delete my data", key="delete-data", type="tertiary", on_click=delete_data,
                      help="Removes your files, and what was computed from them, from the memory "
                      "of this server at once.")  # fmt: skip


def most_megabytes() -> int:
    """What the page lets through as a file; `SessionLimits.check_upload` sees to the rest."""
    most = RUNNER.limits.upload_megabytes
    return MAX_MEGABYTES if most is None else min(MAX_MEGABYTES, most)


def drop_second() -> None:
    """The place to drop a second file, which is scored by the models of the first."""
    with st.popover("Score a second file", type="tertiary"):
        st.file_uploader(
            "A second file, scored by a model of the first",
            key=widget_key(SECOND),
            max_upload_size=most_megabytes(),
            on_change=_change_second,
            help="It needs the columns of the first file, in any order. Other columns are ignored.",
        )
    keep_upload(SECOND, st.session_state.get(widget_key(SECOND)))
    if upload_in(SECOND) is not None:
        _draw_remove_second("remove-second", "tertiary")


def _draw_remove_second(key: str, look: Literal["secondary", "tertiary"] = "secondary") -> None:
    st.button("Remove the second file", key=key, type=look, on_click=_remove_second)


def _remove_second() -> None:
    """Take the second file away: a button's callback. All that is about the first stays."""
    forget_upload(SECOND)
    remove_uploads([st.session_state.get(widget_key(SECOND))])
    _empty_uploaders(SECOND)


def drop_model() -> None:
    """The place to drop a model that exists already, which judges the rows of the table."""
    with st.popover("A model you have", type="tertiary"):
        st.file_uploader(
            "A model trained on this table: CatBoost, LightGBM or XGBoost",
            key=widget_key(MODEL),
            max_upload_size=min(MAX_MODEL_MEGABYTES, most_megabytes()),
            on_change=_change_model,
            help="CatBoost as cbm or JSON, LightGBM as text, XGBoost as JSON or UBJ. Pickles are "
            "never opened. The file is read by a process of its own with limits of time and "
            "memory, and nothing is trained.",
        )
    keep_upload(MODEL, st.session_state.get(widget_key(MODEL)))


def open_model() -> tuple[str, Any] | None:
    """Digest and upload of the open model, if any; says so where it is more than allowed."""
    upload = upload_in(MODEL)
    if upload is None:
        return None
    try:
        admit(upload, SMALLER_MODEL)
    except LimitReached as error:
        sentences = [f"Your model was not opened. {error}", "Everything else is as it was."]
        show_notice(sentences, "model-refused", tone="error")
        return None
    return _digest_of(upload), upload


def _change_model() -> None:
    """A model that is taken away is not kept for a reload."""
    if st.session_state.get(widget_key(MODEL)) is None:
        forget_upload(MODEL)


def drop_query() -> None:
    """Where the deployment has a database: the place to write a query, which is run at a click."""
    if not _has_database():
        return
    with st.popover("Read from the database", type="tertiary"):
        st.text_area(
            "A SELECT, whose rows become the table",
            key=_QUERY,
            height=140,
            max_chars=20_000,
            help="It only reads: queries that may change the database are refused.",
        )
        st.button("Read", key="read-query", on_click=_read_database)
        if error := st.session_state.get(_QUERY_ERROR):
            show_notice(error, "query", tone="error")


def _has_database() -> bool:
    """Whether the deployment's secrets have a connection called sql."""
    try:
        return "sql" in st.secrets.get("connections", {})
    except FileNotFoundError:  # no secrets at all
        return False


def _read_database() -> None:
    """Run the query: a button's callback. What it gives is opened, in place of a file."""
    st.session_state[_QUERY_ERROR] = ""
    try:
        table = read_query(st.session_state.get(_QUERY) or "", st.connection("sql").engine)
        RUNNER.limits.check_rows(table.n_rows)
        schema = infer_schema(table)
    except GbuqError as error:
        st.session_state[_QUERY_ERROR] = str(error)
        return
    leave_project_table()
    st.session_state[_FROM_DATABASE] = _Read(table, schema, "")
    st.session_state[TABLE.key] = UPLOADED


def upload_in(place: str) -> Any:
    """The upload in a place, or the one that was there before the page was loaded again."""
    upload = st.session_state.get(widget_key(place))
    if upload is None and place == UPLOAD:
        upload = st.session_state.get(_HANDED)
    return upload if upload is not None else restored(place)


def delete_data() -> None:
    """Drop the reader's files and all that was made of them: a button's callback."""
    forget_upload()
    RUNNER.hold_files(session_user(), 0)
    delete_uploads([st.session_state.get(widget_key(place)) for place in _PLACES])
    close_project()
    leave_project_table()
    _empty_uploaders(*_PLACES)
    for key in list(st.session_state):
        if str(key).startswith(_OF_DATA) and key not in (*TAB_KEYS, _DELETED):
            del st.session_state[key]
    st.session_state.update({TABLE.key: TABLE.default, FIND.key: FIND.default})


def widget_key(place: str) -> str:
    """The key of an uploader; a new one after its file was deleted, since it cannot be emptied."""
    times = st.session_state.get(_DELETED, {}).get(place, 0)
    return f"{place}-{times}" if times else place


def _empty_uploaders(*places: str) -> None:
    deleted = st.session_state.get(_DELETED, {})
    more = {place: deleted.get(place, 0) + 1 for place in places}
    st.session_state[_DELETED] = {**deleted, **more}


def open_table(choice: str) -> Opened | None:
    """Open what is chosen; where it cannot be read, say why and keep the table before."""
    last: Opened | None = st.session_state.get(_LAST_OPEN)
    st.session_state[_FAILED] = ""
    queried: _Read | None = st.session_state.get(_FROM_DATABASE)
    if choice == UPLOADED and queried is not None and queried.table and queried.schema:
        suggested = suggest_target(queried.schema)
        key = f"sql:{queried.table.source.digest}"
        return _remember(Opened(key, queried.table, queried.schema, suggested, "", True))
    of_project = project_table()
    if choice == UPLOADED and of_project is not None:
        table = of_project.table
        key = f"{table.source.digest}:{tuple(table.source.options)}"
        suggested = suggest_target(of_project.schema)
        options = table.source.options
        return _remember(Opened(key, table, of_project.schema, suggested, "", True, options))
    upload = upload_in(UPLOAD)
    if choice == UPLOADED and upload is None:
        if last is None:
            gone = f"The server keeps a file for {KEPT_MINUTES} minutes after its tab is closed."
            sentences = ["No file is open. Drop one above, or choose a built-in table."]
            show_notice([*sentences, gone] if has_answered() else sentences, "open")
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


def open_second(
    opened: Opened, schema: Schema, edits: Hashable, needed: tuple[str, ...]
) -> tuple[str, Table | None]:
    """Key and table of the second file, if there is one that can be scored.

    Where it cannot be read, or is no table like the first, a sentence says so beside a button that
    removes it, and the page is that of the first file alone.
    """
    upload = upload_in(SECOND)
    if upload is None:
        return "", None
    read, refusal = _read_upload(upload, opened.options, to_score=True), ""
    key = ""
    if read.table is not None:
        key = f"{read.table.source.digest}:{tuple(read.table.source.options)}"
        refusal = _why_unlike(key, opened.key, edits, needed, schema, read.table)
    if read.table is None or refusal:
        with st.container(key="refused-second"):
            sentences = [
                f"The second file cannot be scored. {read.error or refusal}",
                f"You see {_shown_name(opened)} alone. Drop another second file, or remove this "
                "one.",
            ]
            show_notice(sentences, "second", tone="error")
            _draw_remove_second("remove-refused-second")
        return "", None
    return key, read.table


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


def choose_options(source: Source) -> None:
    """Read the file with this digest as it was read before, once it is dropped."""
    options, digest = source.options, source.digest
    if source.format == "excel":
        st.session_state[_option_key("Sheet", digest)] = options.sheet
        st.session_state[_option_key("Header", digest)] = _label_of(_HEADERS, options.header)
    if source.format == "csv":
        for label, values, value in (
            ("Delimiter", _DELIMITERS, options.delimiter),
            ("Encoding", _ENCODINGS, options.encoding),
            ("Decimal mark", _DECIMALS, options.decimal),
            ("Header", _HEADERS, options.header),
        ):
            st.session_state[_option_key(label, digest)] = _label_of(values, value)


def _label_of(values: dict[str, Any], value: Any) -> str:
    return next((label for label, one in values.items() if one == value), "automatic")


def _option_key(label: str, digest: str) -> str:
    return f"_read:{label}:{digest[:16]}"


def _open_upload() -> None:
    """A dropped file is what the reader wants to see; one that is taken away is not."""
    _leave_others()
    if st.session_state.get(widget_key(UPLOAD)) is not None:
        st.session_state[TABLE.key] = UPLOADED
    else:
        forget_upload(UPLOAD)


def _leave_others() -> None:
    """What was opened before a file that is new."""
    for key in (_FROM_DATABASE, _HANDED):
        st.session_state.pop(key, None)
    leave_project_table()


def _change_second() -> None:
    """A second file that is taken away is not kept for a reload."""
    if st.session_state.get(widget_key(SECOND)) is None:
        forget_upload(SECOND)


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
        if name.lower().endswith(".gbuq"):
            return _Read(None, None, 'This is a project: drop it under "Open a project".')
        admit(upload)
        return _read_bytes(_digest_of(upload), name, options, to_score, upload)
    except (LimitReached, MemoryLimitExceeded) as error:  # there may be room in a moment
        return _Read(None, None, str(error))


def admit(upload: Any, advice: str = SMALLER_TABLE) -> None:
    """Raise `LimitReached` for a file that is too much for this session; an open one stays open.

    ``advice`` is how to get a smaller one.
    """
    files = [upload_in(place) for place in _PLACES]
    RUNNER.hold_files(session_user(), sum(file.size for file in files if file is not None))
    admitted: set[str] = st.session_state.setdefault(_ADMITTED, set())
    if upload.file_id not in admitted:
        RUNNER.limits.check_upload(upload.size, advice)
        RUNNER.check_held(session_user())
        admitted.add(upload.file_id)


# Of the session: another reader's file, or its name, is nobody else's to see.
@st.cache_resource(max_entries=6, show_spinner="Reading the file", scope="session")
def _read_bytes(
    digest: str, name: str, options: ReadOptions, to_score: bool, _upload: Any
) -> _Read:
    _upload.seek(0)
    try:
        table = read_table(_upload, name, options, to_score=to_score)
        RUNNER.limits.check_rows(table.n_rows)
        return _Read(table, None if to_score else infer_schema(table), "")
    except MemoryLimitExceeded:
        raise
    except GbuqError as error:
        return _Read(None, None, str(error))


@st.cache_resource(max_entries=16, show_spinner=False, scope="session")
def _why_unlike(
    digest: str,
    first: str,
    edits: Hashable,
    needed: tuple[str, ...],
    _schema: Schema,
    _second: Table,
) -> str:
    """Why a model of the first file cannot score the second; empty if it can."""
    try:
        columns_like(_second, _schema, needed)
    except InvalidData as error:
        return str(error)
    return ""


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
