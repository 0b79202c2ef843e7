"""A method that is declared in one file is on a page, in the command line and in exported code."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from gbuq_core.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]

# All that somebody writes for a new method: its estimator, and its record.
MADE_UP = """
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from gbuq_core import Uncertainty
from gbuq_core.knobs import Knob
from gbuq_core.methods import Builder, Costs, Method, declare_method


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
        costs=Costs(fit=0.001),
    )
)
"""

ON_THE_PAGE = """
import made_up
from tests.app.heteroscedastic_page import open_heteroscedastic, picture

at = open_heteroscedastic(methods="Straight line", trees="50")
assert not at.exception, at.exception
(chosen,) = [box for box in at.multiselect if box.key == "methods"]
assert "Straight line" in chosen.options, chosen.options
assert chosen.value == ["Straight line"], chosen.value
(panel,) = picture(at)["panels"]
assert panel["title"] == "Straight line", panel["title"]
assert "#123456" in {layer.get("colour") for layer in panel["layers"]}
print("found")
"""

IN_EXPORTED_CODE = """
import made_up
from gbuq_core.experiments.heteroscedastic.export import heteroscedastic_code
from gbuq_core.experiments.heteroscedastic.plan import HeteroscedasticSettings

settings = HeteroscedasticSettings(methods=("straight_line", "gnll"), rows=500, trees=20)
code = heteroscedastic_code(settings)
assert "from made_up import StraightLine" in code, code
exec(code)
print("found")
"""

IN_THE_COMMAND = """
import sys
import made_up
from gbuq_core.__main__ import main
from gbuq_core.tables.predicting import table_methods

assert "straight_line" in table_methods("regression")
assert "straight_line" not in table_methods("classification")
sys.exit(main(sys.argv[1:]))
"""


def run(folder, code, *arguments):
    (folder / "made_up.py").write_text(MADE_UP)
    paths = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True,
        cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, timeout=300,
    )  # fmt: skip


def test_it_is_on_the_heteroscedastic_page(tmp_path):
    done = run(tmp_path, ON_THE_PAGE)
    assert done.stdout.strip().endswith("found"), done.stderr[-2000:]


def test_it_is_in_exported_code(tmp_path):
    done = run(tmp_path, IN_EXPORTED_CODE)
    assert "Straight line: CRPS" in done.stdout, done.stderr[-2000:]
    assert "GNLL: CRPS" in done.stdout
    assert done.stdout.strip().endswith("found")


def test_it_is_a_method_of_the_command_line(tmp_path):
    x = np.linspace(0.0, 1.0, 60)
    table = pd.DataFrame({"x": x, "y": 2.0 * x + 0.1 * np.sin(40.0 * x)})
    table.to_csv(tmp_path / "rows.csv", index=False)
    out = tmp_path / "out.csv"
    arguments = ["score", tmp_path / "rows.csv", "--target", "y", "--out", out]
    done = run(tmp_path, IN_THE_COMMAND, *arguments, "--method", "straight_line", "--trees", "3")
    assert done.returncode == 0, done.stderr[-2000:]
    found = pd.read_csv(out)
    np.testing.assert_allclose(found.prediction, 2.0 * x, atol=0.1)
    np.testing.assert_allclose(found.total_uncertainty, found.data_uncertainty)
    assert "straight_line" not in METHODS
