"""Files that no command can use: one sentence and the exit code 2, and nothing is written."""

import pytest
from command_parts import printed, refusal

TABLE = "x,y\n" + "".join(f"{k % 7},{k % 7 + 0.1 * (k % 3)}\n" for k in range(40))
FILES = ["none.csv", "folder", "/dev/null", "empty", "binary", "a\0b"]
LINES = [
    "info {}",
    "score {} --target y --out o.csv",
    "score rows.csv {} --target y --out o.csv --trees 5 --ensemble virtual",
    "score rows.csv --target y --out o.csv --model {}",
    "score --project {} --out o.csv",
    "fit {} --target y --out o.gbuq",
    "explain {} --target y --row 1",
    "explain rows.csv --target y --row 1 --model {}",
    "explain --project {} --row 1",
    "report {} --target y --out o.html",
    "report --project {} --out o.html",
    "compare {} --target y --methods sgb",
    *(f"{name} --config {{}}" for name in ("app", "score", "fit", "info", "explain", "compare")),
    *(f"{name} --config {{}}" for name in ("report", "methods")),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "rows.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", LINES)
def test_every_file_that_cannot_be_used_is_one_sentence(line, folder, capsys):
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    for file in FILES:
        words = [word.replace("{}", file) for word in line.split()]
        refusal(capsys, *words)
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_settings_file_names_the_file_to_look_at(folder, capsys):
    (folder / "gbuq.toml").write_text("[info]\nfile = 'rows.csv'\n")
    assert "rows.csv holds a table" in printed(capsys, "info", "--config", "gbuq.toml")
    assert "give FILE" in refusal(capsys, "info")
