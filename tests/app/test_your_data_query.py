"""A table from the deployment's database, read by a query on the page."""

import sqlite3

import pandas as pd
import pytest
import streamlit as st
from streamlit import config
from streamlit.runtime.secrets import secrets_singleton

from tests.app.your_data_page import open_page, says, settle

pytest.importorskip("sqlalchemy")


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as rows:
        x = [k % 9 for k in range(50)]
        frame = pd.DataFrame({"x": x, "y": [2.5 * k for k in x], "secret": "s"})
        frame.to_sql("points", rows, index=False)
    rows.close()
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(f'[connections.sql]\nurl = "sqlite:///{path}"\n')
    files = config.get_option("secrets.files")
    config.set_option("secrets.files", [str(secrets)])
    secrets_singleton._reset()
    st.cache_resource.clear()  # a connection of another test
    yield open_page()
    config.set_option("secrets.files", files)
    secrets_singleton._reset()
    st.cache_resource.clear()


def read(at, query):
    at.text_area(key="_data_query").set_value(query)
    at.button(key="read-query").click().run()
    return settle(at)


def test_a_query_opens_its_rows_and_one_that_changes_something_is_refused(page):
    at = read(page, "DELETE FROM points")
    assert says(at, "must begin with SELECT")
    assert at.session_state["table"] == "diabetes"
    at = read(at, "SELECT * FROM nowhere")
    assert says(at, "no such table")
    at = read(at, "SELECT x, y FROM points WHERE x < 8")
    assert not at.exception
    assert at.session_state["table"] == "your file"
    assert says(at, "Read from a database, with 2 columns.")
    at.button(key="delete-data").click().run()
    settle(at)
    assert at.session_state["table"] == "none"
    assert not says(at, "Read from a database")


def test_without_secrets_there_is_no_place_for_queries():
    at = open_page()
    assert [area for area in at.text_area if area.key == "_data_query"] == []
