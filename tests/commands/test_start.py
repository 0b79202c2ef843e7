"""What a command loads before it answers: no library where none is needed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Each in the same process, the ones that may load most at the end.
LINES = {
    "version": (["--version"], 0),
    "help": (["--help"], 0),
    "help of score": (["score", "--help"], 0),
    "no command": ([], 2),
    "unknown command": (["scoer"], 2),
    "unknown option": (["score", "rows.csv", "--hepl"], 2),
    "no target": (["score", "rows.csv", "--out=out.csv"], 2),
    "no table": (["score", "--target=y", "--out=out.csv"], 2),
    "no such file": (["score", "gone.csv", "--target=y", "--out=out.csv"], 2),
    "no such second file": (["score", "rows.csv", "gone.csv", "--target=y", "--out=out.csv"], 2),
    "no such project": (["score", "rows.csv", "--project=gone.gbuq", "--out=out.csv"], 2),
    "no such model": (["score", "rows.csv", "--target=y", "--model=gone.txt", "--out=out.csv"], 2),
    "no such file to look at": (["info", "gone.csv"], 2),
    "no such folder": (["fit", "rows.csv", "--target=y", "--out=gone/out.gbuq"], 2),
    "unknown method": (["score", "rows.csv", "--target=y", "--method=sgbl", "--out=out.csv"], 2),
    "bad depth": (["score", "rows.csv", "--target=y", "--depth=99", "--out=out.csv"], 2),
    "bad trees": (["fit", "rows.csv", "--target=y", "--trees=0", "--out=out.gbuq"], 2),
    "bad level": (["score", "rows.csv", "--target=y", "--level=2", "--out=out.csv"], 2),
    "bad seed": (["explain", "rows.csv", "--target=y", "--row=1", "--seed=-1"], 2),
    "bad member": (["compare", "rows.csv", "--target=y", "--methods=sgbl"], 2),
    "contradiction": (["score", "rows.csv", "--target=y", "--next-rows=3", "--out=out.csv"], 2),
    "methods": (["methods"], 0),
    "methods for programs": (["methods", "--json"], 0),
    "completion": (["completion", "bash"], 0),
}
RUN = """
import contextlib, io, json, sys
from gbuq_core.__main__ import main

def libraries():
    own = {name.split(".")[0] for name in sys.modules} - {"gbuq_core", "shtab"}
    return sorted(own & {"numpy", "pandas", "scipy", "sklearn", "numba", "pyarrow", "joblib"})

answers = {"": [0, "", libraries()]}
for name, words in json.loads(sys.argv[1]):
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        try:
            code = main(words)
        except SystemExit as stopped:
            code = stopped.code or 0
    answers[name] = [code, errors.getvalue(), libraries()]
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    (folder / "rows.csv").write_text("x,y\n1,2\n3,4\n")
    lines = [(name, words) for name, (words, _) in LINES.items()]
    process = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(lines)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@pytest.mark.parametrize("name", LINES)
def test_an_answer_that_needs_no_library_loads_none(answers, name):
    code, words, loaded = answers[name]
    assert code == LINES[name][1], words
    assert loaded == []
    if code == 2:
        assert len(words.splitlines()) == 1


def test_importing_the_command_loads_no_library(answers):
    assert answers[""][2] == []


NAMES = """
import json, sys
import gbuq_core
answers = {}
for name in ("make_heart", "Uncertainty", "BoostedEnsembleRegressor", "sample_mixture"):
    getattr(gbuq_core, name)
    answers[name] = sorted(part for part in sys.modules if part.startswith("gbuq_core."))
print(json.dumps(answers))
"""


def test_a_name_loads_what_it_needs():
    process = subprocess.run(
        [sys.executable, "-c", NAMES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded_by = {name: set(loaded) for name, loaded in json.loads(process.stdout).items()}
    rooms = {name: {part.split(".")[1] for part in loaded} for name, loaded in loaded_by.items()}
    assert not rooms["make_heart"] & {"boosting", "tables", "trees", "metrics"}
    assert not rooms["Uncertainty"] & {"boosting", "tables", "trees"}
    assert "boosting" in rooms["BoostedEnsembleRegressor"]
    others = {"tables", "projects", "ibug", "macau", "soft_trees", "sampling", "baselines"}
    assert not rooms["BoostedEnsembleRegressor"] & {*others, "experiments", "unfamiliarity"}
    assert "gbuq_core.boosting.catboost_engine" not in loaded_by["BoostedEnsembleRegressor"]


# The signal comes when a module is about to be imported, in the process that `gbuq` is.
INTERRUPTED = """
import os, runpy, signal, sys

class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[0]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background is deaf to it
sys.argv.pop(0)
sys.meta_path.insert(0, Interrupts())
runpy.run_module("gbuq_core", run_name="__main__")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
@pytest.mark.parametrize("module", ["gbuq_core.commands.score", "numpy", "scipy"])
def test_control_c_while_libraries_load_is_one_line(module, tmp_path):
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n3,4\n")
    words = [module, "score", "rows.csv", "--target=y", "--out=out.csv"]
    process = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (process.returncode, process.stdout) == (130, "")
    assert process.stderr == "Stopped; nothing was written.\n"
    assert not (tmp_path / "out.csv").exists()
