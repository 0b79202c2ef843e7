"""A table from a database: what is read, what is refused, and that nothing is changed."""

import contextlib
import datetime
import sqlite3
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbuq_core.errors import InvalidParameter, TableError
from gbuq_core.tables import database, infer_schema, limits, read_query
from gbuq_core.tables.database import check_reads_only

sqlalchemy = pytest.importorskip("sqlalchemy")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as rows:
        rows.execute("CREATE TABLE cities (name TEXT, size REAL, n INTEGER, raw BLOB, mixed)")
        rows.executemany(
            "INSERT INTO cities VALUES (?, ?, ?, ?, ?)",
            [
                ("Ulm", 1.5, 1, b"x", 1),
                ("Bonn", 3, None, b"y", "b"),
                (None, None, 2**62, None, 2.5),
            ],
        )
    rows.close()
    return path


@pytest.fixture
def url(path):
    return f"sqlite:///{path}"


def test_rows_keep_their_kinds(url):
    table = read_query("SELECT * FROM cities", url)
    assert table.names == ["name", "size", "n", "mixed"]
    assert [str(kind) for kind in table.data.schema.types] == [
        "string",
        "double",
        "int64",
        "string",
    ]
    assert table.data["n"].to_pylist() == [1, None, 2**62]
    assert table.data["mixed"].to_pylist() == ["1", "b", "2.5"]
    assert '"raw" holds bytes' in table.notices[0]
    assert (table.source.format, table.source.name) == ("sql", "query")
    assert infer_schema(table).n_rows == 3


def test_columns_whose_rows_change_their_kind_are_joined(url, monkeypatch):
    monkeypatch.setattr(database, "_ROWS_AT_ONCE", 1)
    table = read_query("SELECT size, n, mixed, NULL AS blank FROM cities", url)
    assert table.data["mixed"].to_pylist() == ["1", "b", "2.5"]
    assert table.data["n"].to_pylist() == [1, None, 2**62]
    assert table.data["blank"].null_count == 3
    table = read_query("SELECT 1 AS a, 2 AS b UNION ALL SELECT 2.5, 3", url)
    assert table.data["a"].to_pylist() == [1.0, 2.5]


def test_long_whole_numbers_keep_their_digits():
    cells = [2**64 - 1, None, 5]
    assert database._column(cells).to_pylist() == [str(2**64 - 1), None, "5"]
    assert database._column([Decimal(10**20 + 1), 7]).to_pylist() == [str(10**20 + 1), "7"]
    assert database._column([Decimal("1.5"), Decimal("NaN"), 3]).type == "double"


def test_the_content_makes_the_digest(url):
    first = read_query("SELECT name, size FROM cities", url).source.digest
    assert read_query("SELECT name, size FROM cities", url).source.digest == first
    assert read_query("SELECT size, name FROM cities", url).source.digest != first
    assert read_query("SELECT name, size + 1 AS size FROM cities", url).source.digest != first


def test_percent_signs_and_colons_stand_for_themselves(url):
    table = read_query(
        "SELECT name, ':a %s' AS mark FROM cities WHERE name LIKE 'U%'", url, to_score=True
    )
    assert table.data.to_pylist() == [{"name": "Ulm", "mark": ":a %s"}]


def test_an_engine_stays_as_it_was(path):
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    read_query("SELECT * FROM cities", engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO cities (name) VALUES ('Köln')")
    assert read_query("SELECT name, size FROM cities", engine).n_rows == 4


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM cities",
        "SELECT 1; DELETE FROM cities",
        "WITH a AS (DELETE FROM cities RETURNING *) SELECT * FROM a",
        "SELECT * INTO copies FROM cities",
        "/* SELECT */ DROP TABLE cities",
        "-- SELECT\nUPDATE cities SET n = 1",
        "PRAGMA query_only = OFF",
        "ATTACH 'x' AS y",
        "SELECT 'it''s' ; DROP TABLE cities",
        "",
        "; SELECT 1",
    ],
)
def test_what_may_change_a_database_is_refused(query, url):
    with pytest.raises(InvalidParameter, match="The query"):
        read_query(query, url)


@pytest.mark.parametrize(
    "query",
    [
        "select 1 as a, 2 as b union all select 3, 4;",
        'SELECT 1 AS "update", 2 AS [drop] UNION ALL SELECT 3, 4 -- delete',
        "WITH t(a, b) AS (VALUES (1, 'insert;'), (2, 'it''s')) SELECT * FROM t",
        "(SELECT 1 AS a)",
        "SELECT updated_at, deleted FROM t",
    ],
)
def test_what_reads_only_is_allowed(query):
    check_reads_only(query)


def test_the_database_itself_refuses_to_be_changed(path, monkeypatch):
    monkeypatch.setattr(database, "check_reads_only", lambda query: None)
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    for where in (f"sqlite:///{path}", engine):
        with pytest.raises(TableError, match="The database refused the query"):
            read_query("DELETE FROM cities", where)
    assert read_query("SELECT name, size FROM cities", engine).n_rows == 3


@given(st.text())
def test_any_text_is_allowed_or_refused(query):
    with contextlib.suppress(InvalidParameter):
        check_reads_only(query)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("rows.db", "is not understood"),
        ("sqlite:///nowhere/rows.db", r"no file rows\.db"),
        ("klingon://user:secret@host/name", "is not understood|cannot be run|needs the package"),
        ("", "is not understood"),
    ],
)
def test_a_wrong_url_is_refused_and_no_password_is_shown(url, sentence):
    with pytest.raises((InvalidParameter, TableError), match=sentence) as refusal:
        read_query("SELECT 1", url)
    assert "secret" not in str(refusal.value)


def test_mistakes_in_the_query_are_told(url):
    with pytest.raises(TableError, match="no such table: towns"):
        read_query("SELECT * FROM towns", url)
    with pytest.raises(TableError, match="no rows"):
        read_query("SELECT name, size FROM cities WHERE 0", url)
    with pytest.raises(TableError, match="single column"):
        read_query("SELECT name FROM cities", url)


def test_queries_without_an_end_are_stopped(url, monkeypatch):
    endless = "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT {} FROM a"
    monkeypatch.setattr(limits, "MAX_CELLS", 100_000)
    with pytest.raises(TableError, match="keep fewer rows or columns"):
        read_query(endless.format("n, n AS m"), url)
    monkeypatch.setattr(database, "MOST_SECONDS", 0.1)
    with pytest.raises(TableError, match="interrupted"):
        read_query(endless.format("count(*)"), url)


def test_times_are_in_utc():
    zone = datetime.timezone(datetime.timedelta(hours=2))
    moment = datetime.datetime(2020, 1, 31, 14, tzinfo=zone)
    column = database._column([moment, datetime.date(2020, 1, 1), None])
    assert column.to_pylist() == [
        datetime.datetime(2020, 1, 31, 12),
        datetime.datetime(2020, 1, 1),
        None,
    ]
