"""A method that is declared in one file is on a page, in the command line and in exported code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gbuq_core.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]

# All that somebody writes for a new method: its estimator, and its record.
MADE_UP = """
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from gbuq_core import Uncertainty
from gbuq_core.knobs import Knob
from gbuq_core.methods import Builder, Method, declare_method


class StraightLine(RegressorMixin, BaseEstimator):
    def __init__(self, n_trees=7, random_state=None):
        self.n_trees, self.random_state = n_trees, random_state

    def fit(self, X, y):
        X = np.asarray(X, dtype=float)
        self.line_ = np.polyfit(X[:, 0], y, 1)
        self.variance_ = float(np.var(y - np.polyval(self.line_, X[:, 0])))
        return self

    def predict(self, X):
        return np.polyval(self.line_, np.asarray(X, dtype=float)[:, 0])

    def predict_uncertainty(self, X):
        variance = np.full(len(X), self.variance_)
        return Uncertainty(variance, variance, np.zeros(len(X)))


declare_method(
    Method(
        key="straight_line",
        label="Straight line",
        about="One line and one variance.",
        paper="None",
        colour="#123456",
        builders={"regression": Builder(of="made_up:StraightLine", takes=("random_state",))},
        yields=("total", "data"),
        knobs=(Knob("n_trees", "Trees", "integer", 7, 1, 1000),),
    )
)
"""

ON_THE_PAGE = """
from tests.app.experiment_page import curves, open_page

at = open_page("heteroscedastic", methods="Straight line", trees="50")
assert not at.exception, at.exception
(chosen,) = [box for box in at.multiselect if box.key == "methods"]
assert "Straight line" in chosen.options, chosen.options
assert chosen.value == ["Straight line"], chosen.value
(panel,) = curves(at, "heteroscedastic")["panels"]
assert panel["title"] == "Straight line", panel["title"]
assert "#123456" in {layer.get("colour") for layer in panel["layers"]}
print("found")
"""

IN_EXPORTED_CODE = """
from gbuq_core.study.heteroscedastic import HETEROSCEDASTIC, HeteroscedasticSettings

settings = HeteroscedasticSettings(methods=("straight_line", "gnll"), rows=500, trees=20)
code = HETEROSCEDASTIC.python(settings)
assert "from made_up import StraightLine" in code, code
exec(code)
print("found")
"""

IN_THE_COMMAND = """
from gbuq_core.__main__ import main
from gbuq_core.tables.plan import table_methods

assert "straight_line" in table_methods("regression")
assert "straight_line" not in table_methods("classification")
assert main(sys.argv[1:]) == 0
print("found")
"""


# All three in one process, which takes seconds to start; each has a namespace of its own.
IN_ONE_PROCESS = """
import contextlib, io, json, sys, traceback
import made_up

printed = {}
for name, code in json.loads(sys.stdin.read()).items():
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            exec(code, {"__name__": "__main__", "sys": sys})
        except BaseException:
            traceback.print_exc()
    printed[name] = out.getvalue()
print(json.dumps(printed))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("made_up")


@pytest.fixture(scope="module")
def printed(folder):
    """What each of the three printed."""
    (folder / "made_up.py").write_text(MADE_UP)
    x = np.linspace(0.0, 1.0, 60)
    table = pd.DataFrame({"x": x, "y": 2.0 * x + 0.1 * np.sin(40.0 * x)})
    table.to_csv(folder / "rows.csv", index=False)
    arguments = ["score", folder / "rows.csv", "--target", "y", "--out", folder / "out.csv"]
    arguments += ["--method", "straight_line", "--trees", "3"]
    codes = {"command": IN_THE_COMMAND, "code": IN_EXPORTED_CODE, "page": ON_THE_PAGE}
    paths = os.pathsep.join([str(folder), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", IN_ONE_PROCESS, *map(str, arguments)],
        capture_output=True,
        text=True,
        input=json.dumps(codes),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_it_is_on_the_heteroscedastic_page(printed):
    assert printed["page"].strip().endswith("found"), printed["page"][-2000:]


def test_it_is_in_exported_code(printed):
    assert "Straight line, total" in printed["code"], printed["code"][-2000:]
    assert "GNLL, total" in printed["code"]
    assert printed["code"].strip().endswith("found"), printed["code"][-2000:]


def test_it_is_a_method_of_the_command_line(printed, folder):
    assert printed["command"].strip().endswith("found"), printed["command"][-2000:]
    scores = pd.read_csv(folder / "out.csv")
    np.testing.assert_allclose(scores.prediction, 2.0 * np.linspace(0.0, 1.0, 60), atol=0.1)
    np.testing.assert_allclose(scores.total_uncertainty, scores.data_uncertainty)
    assert "straight_line" not in METHODS
