"""Options from a TOML file, JSON, and what all commands have."""

import json
import sys

import pytest
from command_parts import refusal

from gbuq_core.__main__ import main
from gbuq_core.commands.parser import build_parser, run_command
from gbuq_core.commands.settings_file import read_settings


@pytest.fixture
def read(tmp_path):
    """What `gbuq score` would take from a settings file with this text, and what was typed."""

    def parsed(text, *typed):
        path = tmp_path / "gbuq.toml"
        path.write_text(text, encoding="utf-8")
        parser = build_parser("gbuq", "1.2")
        (commands,) = (a.choices for a in parser._actions if a.dest == "command")
        words = [*typed, "--config", str(path)]
        settings = read_settings(commands["score"], "score", words, commands)
        options = parser.parse_args(["score", *settings.words, *words])
        return options, settings.files

    return parsed


WHOLE = """
[score]
train = "rows.csv"
target = "price"
out = "out.csv"
trees = 300
learning_rate = 0.05
truncation-step = 5
drop = ["id", "comment"]
conformal = true
header = true
unfamiliarity = false

[score.kind]
code = "category"

[score.missing]
x = [-999, "NA"]

[compare]
methods = ["sglb", "knn"]
"""


def test_a_file_sets_what_the_line_could(read):
    options, files = read(WHOLE)
    assert files == {"train": "rows.csv"}
    assert (options.target, options.trees, options.learning_rate) == ("price", 300, 0.05)
    assert (options.truncation_step, options.conformal) == (5, True)
    assert (options.header, options.unfamiliarity) == ("yes", "no")
    assert (options.drop, options.kind) == (["id", "comment"], ["code=category"])
    assert options.missing == ["x=-999,NA"]


def test_the_line_wins(read):
    options, _ = read(WHOLE, "--trees=40", "--drop", "z", "--unfam", "yes")
    assert (options.trees, options.drop, options.unfamiliarity) == (40, ["z"], "yes")
    assert options.learning_rate == 0.05


def test_a_file_alone_is_enough(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(
        "x,y\n" + "".join(f"{k % 7},{k % 7 + 0.1 * (k % 3)}\n" for k in range(40))
    )
    (tmp_path / "a.toml").write_text(
        '[score]\ntrain = "rows.csv"\ntarget = "y"\nout = "out.csv"\ntrees = 20\ndepth = 2\n'
        'ensemble = "virtual"\nunfamiliarity = false\njson = true\nseed = 3\n'
    )
    assert main(["score", "--config", "a.toml"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["rows"], record["task"], record["out"]) == (40, "regression", "out.csv")
    assert (record["plan"]["n_trees"], record["plan"]["seed"]) == (20, 3)
    assert record["scores"]["rmse"] < record["scores"]["baseline_rmse"]
    assert (tmp_path / "out.csv").read_text().startswith("x,y,prediction,")


BAD_FILES = {
    "[score]\ntres = 3": '"gbuq.toml" sets "tres", but gbuq score has no such option',
    "[score]\nconfig = 'b.toml'": 'sets "config"',
    "[score]\ntrees = 'many'": "invalid int value",
    "[score]\ntrees = [": "no valid TOML",
    "[score]\nconformal = 1": "conformal must be true or false",
    "[score]\ntrees = 2020-01-01": "trees must be a text or a number",
    "[scores]\ntrees = 3": "no such command",
    "trees = 3": "outside a table",
    "[compare]\ntrees = 3": "no table [score]",
    "": "no table [score]",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_what_a_file_must_not_say_is_one_sentence(text, tmp_path, capsys):
    path = tmp_path / "gbuq.toml"
    path.write_text(text)
    assert BAD_FILES[text] in refusal(capsys, "score", "t.csv", f"--config={path}")


def test_files_that_are_no_settings_are_one_sentence(tmp_path, capsys):
    (tmp_path / "latin.toml").write_bytes(b"[score]\ntarget = '\xe9'")
    (tmp_path / "huge.toml").write_bytes(b"#" * 1_000_001)
    (tmp_path / "deep.toml").write_bytes(b"x = " + b"[" * 100_000)
    for name, sentence in {
        "none.toml": "no settings file",
        ".": "no settings file",
        "latin.toml": "no text in UTF-8",
        "huge.toml": "too large",
        "deep.toml": "nested too deeply",
        "x\0y": "no settings file",
    }.items():
        assert sentence in refusal(capsys, "score", "t.csv", "--config", tmp_path / name)
    assert "expected one argument" in refusal(capsys, "score", "--config")


def test_a_reader_that_goes_is_no_error(monkeypatch, capfd):
    def gone(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr("builtins.print", gone)
    kept = sys.stdout

    class Closed:
        flush = staticmethod(gone)
        fileno = staticmethod(lambda: 9999)

    monkeypatch.setattr("os.dup2", lambda new, old: None)
    monkeypatch.setattr(sys, "stdout", Closed())
    code = run_command(["methods"], "gbuq", "1.2")
    monkeypatch.setattr(sys, "stdout", kept)
    assert code == 141
