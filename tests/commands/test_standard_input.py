"""`-` in place of a file: the table comes from the standard input."""

import io

import numpy as np
import pandas as pd
import pytest
from command_parts import printed, record_of, refusal

from gbuq_core.__main__ import main

FAST = ["--target=y", "--trees=20", "--depth=3", "--ensemble=virtual", "--unfamiliarity=no"]


@pytest.fixture(scope="module")
def rows():
    x = np.random.default_rng(0).uniform(-2, 2, 60)
    return pd.DataFrame({"x": x, "y": x**2}).round(4).to_csv(index=False)


@pytest.fixture
def typed(rows, tmp_path, monkeypatch):
    """The table as a file here, and as what the standard input holds."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(rows)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(rows.encode())))
    return tmp_path


def again(rows, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(rows.encode())))


@pytest.mark.parametrize(
    "files", [["-"], ["-", "rows.csv"], ["rows.csv", "-"]], ids=lambda files: " ".join(files)
)
def test_it_is_scored_as_a_file_is(typed, files):
    assert main(["score", *files, *FAST, "--out=piped.csv", "--quiet"]) == 0
    named = ["rows.csv"] * len(files)
    assert main(["score", *named, *FAST, "--out=named.csv", "--quiet"]) == 0
    assert (typed / "piped.csv").read_bytes() == (typed / "named.csv").read_bytes()


def test_a_project_scores_it_and_a_row_is_explained(typed, rows, monkeypatch, capsys):
    assert main(["fit", "-", *FAST[:-1], "--out=own.gbuq", "--with-data", "--quiet"]) == 0
    again(rows, monkeypatch)
    words = ["score", "-", "--project=own.gbuq", "--unfamiliarity=no", "--out=o.csv", "--quiet"]
    assert main(words) == 0
    assert len(pd.read_csv(typed / "o.csv")) == 60
    again(rows, monkeypatch)
    capsys.readouterr()
    assert record_of(capsys, "explain", "-", *FAST, "--row=3")["row"] == 3
    again(rows, monkeypatch)
    assert printed(capsys, "info", "-").startswith("standard input holds a table: 60 rows")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-", "-", *FAST], "The standard input can be read once: name a file for TRAIN or"),
        (["-", "rows.csv", *FAST, "--stream"], "--stream needs TRAIN and NEW: the standard input"),
        (["rows.csv", "--target=y", "--model=-"], 'There is no model file "-": check the path.'),
    ],
)
def test_what_cannot_be_piped_is_one_sentence(typed, words, sentence, capsys):
    assert refusal(capsys, "score", *words, "--out=o.csv").startswith(sentence)


def test_too_much_is_refused_without_reading_on(typed, monkeypatch, capsys):
    class Endless(io.RawIOBase):
        n_read = 0

        def readable(self):
            return True

        def readinto(self, into):
            into[:] = b"1,2\n1,2\n"[: len(into)] * (len(into) // 8) + b"\n" * (len(into) % 8)
            self.n_read += len(into)
            return len(into)

    source = Endless()
    monkeypatch.setattr("gbuq_core.tables.MAX_FILE_BYTES", 10_000)
    monkeypatch.setattr("gbuq_core.tables.decoding.MAX_FILE_BYTES", 10_000)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(source)))
    assert "limit" in refusal(capsys, "score", "-", *FAST, "--out=o.csv")
    assert source.n_read < 100_000


def test_a_closed_input_is_one_sentence(typed, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", None)
    sentence = refusal(capsys, "score", "-", *FAST, "--out=o.csv")
    assert sentence == "The standard input is closed: name a file."
