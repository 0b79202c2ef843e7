"""docs/command_line.md: every command in it runs, and it names every command and exit code."""

import contextlib
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gbuq_core.__main__ import main
from gbuq_core.commands.interrupting import INTERRUPTED
from gbuq_core.commands.parser import BAD_INPUT, NOBODY_READS, build_parser

ROOT = Path(__file__).resolve().parents[2]
DOCS = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", DOCS, flags=re.DOTALL)


COMMANDS = [line for block in blocks("console") for line in block.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("docs")
    rng = np.random.default_rng(0)
    x, group = rng.uniform(-2, 2, 120), rng.choice(["a", "b"], 120)
    frame = pd.DataFrame({"x": x, "group": group, "y": x**2 + rng.normal(0, 0.1, 120)})
    frame[:100].to_csv(path / "rows.csv", index=False)
    frame[100:].to_csv(path / "new.csv", index=False)
    (path / "gbuq.toml").write_text(blocks("toml")[0])
    return path


@pytest.fixture(scope="module")
def ran(folder):
    """The exit codes of all commands, one after the other in one folder."""
    with contextlib.chdir(folder):
        return {line: main(shlex.split(line)[1:]) for line in COMMANDS}


def test_every_command_runs(ran, folder):
    assert len(COMMANDS) == 14
    assert set(ran.values()) == {0}
    written = {"scored.csv", "report.html", "rows.gbuq", "later.csv", "later.html"}
    assert written <= {path.name for path in folder.iterdir()}
    assert len(pd.read_csv(folder / "later.csv")) == 20


def test_every_command_and_exit_code_is_named():
    parser = build_parser("gbuq", "1.2")
    (commands,) = (a.choices for a in parser._actions if a.dest == "command")
    assert re.findall(r"^\| `gbuq (\w+)`", DOCS, flags=re.MULTILINE) == list(commands)
    codes = list(map(int, re.findall(r"^\| (\d+) \|", DOCS, flags=re.MULTILINE)))
    assert codes == [0, BAD_INPUT, INTERRUPTED, NOBODY_READS]
