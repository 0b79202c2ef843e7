"""Odd names, encodings, devices and targets on the command line: one sentence, exit code 2."""

import os
import sqlite3

import numpy as np
import openpyxl
import pandas as pd
import pytest
from command_parts import refusal

from gbuq_core.__main__ import main
from gbuq_core.tables import decoding, files, read_table

FAST = ["--method=sglb", "--trees", "20", "--depth", "2", "--learning-rate", "0.1", "--target", "y"]


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.csv"
    x = np.arange(40) % 9
    pd.DataFrame({"x": x, "y": 2.5 * x}).to_csv(path, index=False)
    return path


def test_a_device_without_an_end_is_read_up_to_the_limit(monkeypatch, capsys, tmp_path):
    for module in (decoding, files):
        monkeypatch.setattr(module, "MAX_FILE_BYTES", 10_000)
    assert "more than" in refusal(
        capsys, "score", "/dev/zero", "--out", tmp_path / "out.csv", *FAST
    )


def test_a_pipe_is_not_replaced_by_a_file(train, tmp_path, capsys):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    linked = tmp_path / "linked.csv"
    linked.symlink_to(pipe)
    for out in (pipe, linked):
        assert "device or a pipe" in refusal(capsys, "score", train, "--out", out, *FAST)
    assert pipe.is_fifo()
    assert linked.is_symlink()


@pytest.mark.parametrize("out", ["-", "/dev/stdout"])
def test_rows_go_to_the_standard_output_and_words_do_not(train, tmp_path, capsysbinary, out):
    path = tmp_path / "out.csv"
    assert main(["score", str(train), "--out", str(path), *FAST]) == 0
    capsysbinary.readouterr()
    assert main(["score", str(train), "--out", out, *FAST]) == 0
    written, words = capsysbinary.readouterr()
    assert written == path.read_bytes()
    assert b"On rows held out" in words


def test_text_in_the_target_of_the_second_file_is_reported(train, tmp_path, capsys):
    new = tmp_path / "new.csv"
    new.write_text("x,y\n" + "\n".join(f"{i % 9},{'abc' if i == 3 else i}" for i in range(30)))
    out = tmp_path / "out.csv"
    assert main(["score", str(train), str(new), "--out", str(out), *FAST]) == 0
    assert '1 row with text in the target "y" of the second' in capsys.readouterr().err
    assert read_table(out).n_rows == 30


def test_a_sheet_of_an_excel_file(tmp_path, capsys):
    book = openpyxl.Workbook()
    book.active.append(["only a cover"])
    sheet = book.create_sheet("data")
    for row in [["x", "y"], *[[k % 9, 2.5 * (k % 9)] for k in range(40)]]:
        sheet.append(row)
    path, out = tmp_path / "book.xlsx", tmp_path / "out.csv"
    book.save(path)
    assert "no sheet" in refusal(capsys, "score", path, "--out", out, "--sheet", "nothing", *FAST)
    assert main(["score", str(path), "--sheet", "data", "--out", str(out), *FAST]) == 0
    assert read_table(out).n_rows == 40


def test_rows_of_a_query(train, tmp_path, capsys):
    path, out = tmp_path / "rows.db", tmp_path / "out.csv"
    with sqlite3.connect(path) as rows:
        pd.read_csv(train).to_sql("points", rows, index=False)
    rows.close()
    database = ["--sql", "SELECT x, y FROM points WHERE x < 8", "--url", f"sqlite:///{path}"]
    assert main(["score", *database, "--out", str(out), *FAST]) == 0
    assert read_table(out).n_rows == int((pd.read_csv(train)["x"] < 8).sum())
    assert main(["score", str(train), *database, "--out", str(out), *FAST]) == 0
    assert read_table(out).n_rows == 40  # of the file, which is NEW
