"""Which table is open: a built-in one or the reader's file, how it is read, what failed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.errors import GbuqError, InvalidData, LimitReached, MemoryLimitExceeded
from gbuq_core.given_models.reading import MAX_MEGABYTES as MAX_MODEL_MEGABYTES
from gbuq_core.jobs import RUNNER
from gbuq_core.session_limits import SMALLER_MODEL, SMALLER_TABLE
from gbuq_core.tables import (
    ReadOptions,
    Schema,
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
from pages._ui.your_data.state import FIND, NOTHING, UPLOADED, open_next

MAX_MEGABYTES = 250  # as .streamlit/config.toml and the reader

# Session keys, declared once.
UPLOAD, SECOND, MODEL = "upload", "upload_second", "upload_model"
PROJECT, ROWS = "upload_project", "upload_rows"  # a model of `gbuq fit`, and rows for it to score
_PLACES = (UPLOAD, SECOND, MODEL, PROJECT, ROWS)
REFUSED = "_data_refused_model"  # why the model of `gbuq fit` that was dropped last is not open
_SECOND_CHANGED = "_data_second_changed"
_HELD = "_data_held"  # uploads by their place
STAYS = (
    "The file stays in the memory of this server while the tab is open, and "
    f"{KEPT_MINUTES} minutes longer, so that a reload keeps it. No other session sees it, and it "
    "is not stored on a disk."
)
_DIGESTS, _LAST_OPEN, _FAILED = "_data_digests", "_data_last_open", "_data_failed"
_ADMITTED = "_data_admitted"  # uploads that were within the limits when they came
_DELETED = "_data_deleted"  # how often, by place
_QUERY, _QUERY_ERROR, _FROM_DATABASE = "_data_query", "_data_query_error", "_data_from_database"
# What is made of a table: of its files, results, edits of columns and ways to read.
_OF_DATA = ("_data", "_jobs", "_kept", "_columns:", "_read:")

_AUTOMATIC = "automatic"
# How a text file can be read: a control's label, its field of `ReadOptions`, and its choices.
_WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "Delimiter": (
        "delimiter", {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": " "}
    ),
    "Encoding": (
        "encoding",
        {"UTF-8": "utf-8", "Windows-1252": "cp1252", "Latin-1": "latin-1", "UTF-16": "utf-16",
         "Windows-1250": "cp1250", "Windows-1251": "cp1251", "GB 18030": "gb18030", "Big5": "big5",
         "Shift JIS": "cp932", "EUC-KR": "cp949", "Mac Roman": "mac_roman"},
    ),
    "Decimal mark": ("decimal", {"point": ".", "comma": ","}),
    "Header": ("header", {"yes": True, "no": False}),
    "Skip rows": ("skip_rows", {str(n): n for n in range(11)}),
    "Totals and footers": ("keep_rows", {"keep": True}),
}  # fmt: skip
_OF_SHEETS = ("Header", "Skip rows", "Totals and footers")


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


def hold(place: str, upload: Any) -> None:
    """Keep an upload in its place while the session lasts, whichever controls are drawn."""
    held(place)
    st.session_state[_HELD][place] = upload


def held(place: str) -> Any:
    """The upload that the session has in a place."""
    return st.session_state.setdefault(_HELD, {}).get(place)


def keep_uploads(open_other: Callable[[Any], None]) -> None:
    """Keep what is held for a reload too, once the browser has told its token."""
    keep_tab()
    if handed := st.session_state.pop(HANDED, None):  # by the page Start
        if _is_project(handed):
            open_other(handed)
        else:
            hold(UPLOAD, handed)
            _leave_others()
    for place in _PLACES:
        keep_upload(place, held(place))


def drop_zone(
    place: str, label: str, meaning: str | None, take: Callable[[], object], most: int = 0
) -> None:
    """The place to drop a file; ``take`` is called with each new one, and ``most`` is in MB."""
    limit = most_megabytes()
    limit = min(limit, most) if most else limit
    key = widget_key(place)
    st.file_uploader(label, key=key, max_upload_size=limit, on_change=take, help=meaning)


def drop_table(open_other: Callable[[Any], None], meaning: str | None = STAYS) -> None:
    """The place to drop a table, or a model of `gbuq fit`, which ``open_other`` opens."""

    def take() -> None:
        if not _take_model(UPLOAD, open_other) and _take(UPLOAD):
            _show_upload()

    label = "Drop a table: CSV, TSV, Excel or Parquet; or a model of gbuq fit"
    drop_zone(UPLOAD, label, meaning, take)


def drop_rows(open_other: Callable[[Any], None]) -> None:
    """The place to drop rows that the open model scores, or another model."""

    def take() -> None:
        if not _take_model(ROWS, open_other):
            _take(ROWS)

    drop_zone(ROWS, "Drop the rows to score: CSV, TSV, Excel or Parquet", STAYS, take)


def _take_model(place: str, open_other: Callable[[Any], None]) -> bool:
    """Open what was dropped in a place if it is a model of `gbuq fit`; whether it is."""
    upload = st.session_state.get(widget_key(place))
    if upload is None or not _is_project(upload):
        return False
    open_other(upload)
    _empty_uploaders(place)  # to take it away would take away the table that was open
    return True


def take_model(upload: Any) -> None:
    """Hold a model of `gbuq fit` in the place of the table that was open: in a callback."""
    st.session_state.pop(_FROM_DATABASE, None)
    hold(PROJECT, upload)
    hold(UPLOAD, None)
    forget_upload(UPLOAD)
    open_next(UPLOADED)


def open_rows() -> Table | None:
    """The rows that the open model scores, if there are any; says so where they cannot be read."""
    upload = upload_in(ROWS)
    if upload is None:
        return None
    read = _read_upload(upload, ReadOptions(), to_score=True)
    if read.table is None:
        show_notice(read.error, "rows", tone="error")
    return read.table


def _is_project(upload: Any) -> bool:
    return str(upload.name).lower().endswith(".gbuq")


def drop_second() -> None:
    """The place to drop a second file, which is scored by the models of the first."""
    drop_zone(
        SECOND,
        "A second file, scored by a model of the first",
        "It needs the columns of the first file, in any order. Other columns are ignored.",
        _take_second,
    )
    if upload_in(SECOND) is not None:
        _draw_remove_second("remove-second")


def drop_model() -> None:
    """The place to drop a model that exists already, which judges the rows of the table."""
    drop_zone(
        MODEL,
        "A model trained on this table: CatBoost, LightGBM or XGBoost",
        "CatBoost as cbm or JSON, LightGBM as text, XGBoost as JSON or UBJ. Pickles are never "
        "opened. The file is read by a process of its own with limits of time and memory, and "
        "nothing is trained.",
        partial(_take, MODEL),
        MAX_MODEL_MEGABYTES,
    )


def has_own_data() -> bool:
    """Whether a file, a model of `gbuq fit` or rows of a database are open."""
    own = upload_in(UPLOAD) is not None or upload_in(PROJECT) is not None
    return own or _FROM_DATABASE in st.session_state


def most_megabytes() -> int:
    """What the page lets through as a file; `SessionLimits.check_upload` sees to the rest."""
    most = RUNNER.limits.upload_megabytes
    return MAX_MEGABYTES if most is None else min(MAX_MEGABYTES, most)


def _draw_remove_second(key: str) -> None:
    st.button("Remove the second file", key=key, on_click=_remove_second)


def second_was_changed() -> bool:
    """Whether a second file came or went since the page was drawn: a fragment's business."""
    return bool(st.session_state.get(_SECOND_CHANGED))


def _take_second() -> None:
    st.session_state[_SECOND_CHANGED] = True
    _take(SECOND)


def _remove_second() -> None:
    """Take the second file away: a button's callback. All that is about the first stays."""
    st.session_state[_SECOND_CHANGED] = True
    remove_uploads([held(SECOND)])
    hold(SECOND, None)
    forget_upload(SECOND)
    _empty_uploaders(SECOND)


def _take(place: str) -> bool:
    """Hold what was dropped in a place, or forget what was taken away; whether a file is there."""
    upload = st.session_state.get(widget_key(place))
    hold(place, upload)
    if upload is None:
        forget_upload(place)
    return upload is not None


def _show_upload() -> None:
    """A dropped file is what the reader wants to see."""
    _leave_others()
    open_next(UPLOADED)


def _leave_others() -> None:
    """What was opened before a file that is new."""
    st.session_state.pop(_FROM_DATABASE, None)
    st.session_state[REFUSED] = ""
    _leave_model()


def _leave_model() -> None:
    """Put the model of `gbuq fit` and its rows away."""
    for place in (PROJECT, ROWS):
        remove_uploads([held(place)])
        hold(place, None)
        forget_upload(place)
    _empty_uploaders(ROWS)


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
    return digest_of(upload), upload


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
    _leave_model()
    st.session_state[_FROM_DATABASE] = _Read(table, schema, "")
    open_next(UPLOADED)


def upload_in(place: str) -> Any:
    """The upload in a place, or the one that was there before the page was loaded again."""
    upload = held(place)
    return upload if upload is not None else restored(place)


def delete_data() -> None:
    """Drop the reader's files and all that was made of them: a button's callback."""
    forget_upload()
    RUNNER.hold_files(session_user(), 0)
    delete_uploads([held(place) for place in _PLACES])
    _empty_uploaders(*_PLACES)
    for key in list(st.session_state):
        if str(key).startswith(_OF_DATA) and key not in (*TAB_KEYS, _DELETED):
            del st.session_state[key]
    st.session_state[FIND.key] = FIND.default
    open_next(NOTHING)


def widget_key(place: str) -> str:
    """The key of an uploader; a new one after its file was deleted, since it cannot be emptied."""
    times = st.session_state.get(_DELETED, {}).get(place, 0)
    return f"{place}-{times}" if times else place


def _empty_uploaders(*places: str) -> None:
    deleted = st.session_state.get(_DELETED, {})
    more = {place: deleted.get(place, 0) + 1 for place in places}
    st.session_state[_DELETED] = {**deleted, **more}


def open_table(choice: str) -> Opened | None:
    """Open what is chosen, if anything; a file that cannot be read leaves the table before."""
    last: Opened | None = st.session_state.get(_LAST_OPEN)
    if choice == NOTHING:
        return None
    st.session_state[_FAILED] = ""
    queried: _Read | None = st.session_state.get(_FROM_DATABASE)
    if choice == UPLOADED and queried is not None and queried.table and queried.schema:
        suggested = suggest_target(queried.schema)
        key = f"sql:{queried.table.source.digest}"
        return _remember(Opened(key, queried.table, queried.schema, suggested, "", True))
    upload = upload_in(UPLOAD)
    if choice == UPLOADED and upload is None:
        if has_answered() or st.context.url is None:
            gone = f"The server keeps a file for {KEPT_MINUTES} minutes after its tab is closed."
            show_notice(["No file is open: drop it here to go on.", gone], "open")
        return None
    if choice != UPLOADED:
        return _remember(_builtin(choice))
    chosen = _chosen_options(digest_of(upload))
    read = _read_upload(upload, chosen)
    if read.table is None or read.schema is None:
        sentences = [read.error]
        if last is not None:
            sentences.append(f"You still see {_shown_name(last)}.")
        show_notice(sentences, "open", tone="error")
        st.session_state[_FAILED] = digest_of(upload)
        digest = digest_of(upload)
        _draw_options(digest, "options-of-failed", _sheets_of(digest, upload))
        return last
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
    st.session_state.pop(_SECOND_CHANGED, None)
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
    if opened.table.source.format in ("csv", "excel"):
        _draw_options(digest, "options-of-open", opened.table.source.sheets)


def _draw_options(digest: str, key: str, sheets: Sequence[str] = ()) -> None:
    """Controls to read this file in another way, or another sheet of a workbook."""
    with st.container(horizontal=True, gap="small", key=key):
        if sheets:
            st.selectbox("Sheet", sheets, key=_option_key("Sheet", digest), width=300)
        for label in _OF_SHEETS if sheets else _WAYS:
            choices = [_AUTOMATIC, *_WAYS[label][1]]
            st.selectbox(label, choices, key=_option_key(label, digest), width=150)


def _chosen_options(digest: str) -> ReadOptions:
    chosen = {
        field: values.get(st.session_state.get(_option_key(label, digest)))
        for label, (field, values) in _WAYS.items()
    }
    return ReadOptions(**chosen, sheet=st.session_state.get(_option_key("Sheet", digest)))


def _option_key(label: str, digest: str) -> str:
    return f"_read:{label}:{digest[:16]}"


def _remember(opened: Opened) -> Opened:
    st.session_state[_LAST_OPEN] = opened
    return opened


def _shown_name(opened: Opened) -> str:
    name = " ".join(opened.table.source.name.split())
    return f'the table "{name[:60]}"'


def digest_of(upload: Any) -> str:
    """SHA-256 of an uploaded file, computed once."""
    digests = st.session_state.setdefault(_DIGESTS, {})
    if upload.file_id not in digests:
        digests[upload.file_id] = hashlib.sha256(upload.getbuffer()).hexdigest()
    return str(digests[upload.file_id])


def _read_upload(upload: Any, options: ReadOptions, to_score: bool = False) -> _Read:
    try:
        name = upload.name.encode("utf-8", errors="replace").decode()
        if _is_project(upload):
            return _Read(None, None, "This is a model: drop it in the place of the first file.")
        admit(upload)
        return _read_bytes(digest_of(upload), name, options, to_score, upload)
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
