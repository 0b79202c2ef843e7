"""Models of every method are kept: the same numbers in another process, or one sentence before."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gbuq_core.errors import InvalidParameter, MissingPackage, ProjectError
from gbuq_core.methods import METHODS
from gbuq_core.methods.record import _METHODS, Builder, Method
from gbuq_core.model_files.archive import read_archive, write_archive
from gbuq_core.projects import (
    fit_project,
    making,
    open_project,
    project_bytes,
    restore_project,
    score_project,
)
from gbuq_core.projects.container import read_container, write_container
from gbuq_core.projects.models import CATBOOST, NEWER
from gbuq_core.tables import Edits, ScorePlan, edit_schema, infer_schema, score_table, to_csv_bytes
from gbuq_core.tables.plan import BOOSTED, table_methods
from tests.project_parts import plan_of, small_table

CASES = [
    (task, key)
    for task in ("regression", "classification")
    for key in table_methods(task)
    if key not in BOOSTED
]
TARGETS = {"regression": "y", "classification": "level"}


def fitted(task, key, table, **more):
    used = {"x": False} if METHODS[key].complete else {}  # x has gaps
    return fit_project(table, TARGETS[task], edits=Edits.of(used=used), plan=plan_of(key, **more))


@pytest.fixture(scope="module", autouse=True)
def _ask_once():
    """What is asked about the split comes from small models, which no method changes."""
    ask, asked = making.ask_about_split, {}

    def ask_once(table, training, plan):
        key = plan.scale, training.target.name, *(feature.name for feature in training.features)
        if key not in asked:
            asked[key] = ask(table, training, plan)
        return asked[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(making, "ask_about_split", ask_once)
        yield


@pytest.fixture(scope="module")
def table():
    return small_table(200)


@pytest.fixture(scope="module")
def new():
    return small_table(30, 1, "new.csv")


_ELSEWHERE = """
import hashlib, json, sys
from pathlib import Path
from gbuq_core.projects import open_project, score_project
from gbuq_core.tables import read_table, to_csv_bytes
from gbuq_core.trees.importers import catboost_source

try_in_a_process, tried = catboost_source._try_in_a_process, []

def try_once(content):  # each of its many models would take a second
    if not tried:
        tried.append(content)
        try_in_a_process(content)

catboost_source._try_in_a_process = try_once
folder, digests = Path(sys.argv[1]), {}
new = read_table(folder / "new.csv", to_score=True)
for path in folder.glob("*.gbuq"):
    project = open_project(path, trust=True)
    frame = score_project(project, new).frame
    digests[path.stem] = hashlib.sha256(to_csv_bytes(frame)).hexdigest()
print(json.dumps(digests))
"""


def test_another_process_gives_the_same_numbers(table, new, tmp_path):
    """The scored rows before a project was written, and in one other process for all methods."""
    here = {}
    (tmp_path / "new.csv").write_bytes(to_csv_bytes(new.data.to_pandas()))
    for task, key in CASES:
        if METHODS[key].missing():
            continue
        project = fitted(task, key, table)
        (tmp_path / f"{task} {key}.gbuq").write_bytes(project_bytes(project))
        frame = score_project(project, new).frame
        here[f"{task} {key}"] = hashlib.sha256(to_csv_bytes(frame)).hexdigest()
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == here


@pytest.mark.parametrize(
    ("task", "key", "more"),
    [
        ("regression", "knn", {}),
        ("regression", "macau_basic", {"scale": "log"}),
        ("regression", "vst", {"split": "time", "split_column": "day"}),
        ("classification", "vrf", {"split": "group", "split_column": "group"}),
    ],
)
def test_the_scored_table_comes_back(task, key, more, table, new):
    used = {"x": False} if METHODS[key].complete else {}
    schema = edit_schema(table, infer_schema(table), {}, used, {})
    scored = score_table(table, TARGETS[task], schema=schema, plan=plan_of(key, **more), new=new)
    content = project_bytes(fitted(task, key, table, **more))
    again = restore_project(open_project(content), table, new)
    pd.testing.assert_frame_equal(again.frame, scored.frame, check_exact=True)
    assert repr(again.scores) == repr(scored.scores)


class StraightLine:
    """A method of somebody's own, whose class has no ``save``."""


@pytest.fixture
def own_method(monkeypatch):
    method = Method(
        key="straight",
        label="Straight line",
        about="",
        paper="",
        colour="#010203",
        builders={"regression": Builder(of=f"{__name__}:StraightLine", takes=())},
        yields=("total",),
    )
    monkeypatch.setitem(_METHODS, "straight", method)


def test_what_cannot_be_kept_is_refused_before_training(own_method, table):
    with pytest.raises(InvalidParameter, match="Straight line cannot be kept in a project"):
        fit_project(table, "y", plan=ScorePlan(method="straight"))


def test_trees_of_catboost_need_trust(table, new):
    pytest.importorskip("catboost")
    content = project_bytes(fitted("regression", "knn_cb", table))
    opened = open_project(content)
    assert opened.models is None
    assert opened.why_no_models == CATBOOST
    with pytest.raises(ProjectError, match=r"--trust\)"):
        restore_project(opened, table, new)


def test_a_missing_package_is_told(table, monkeypatch):
    pytest.importorskip("ngboost")
    content = project_bytes(fitted("regression", "ngboost", table))
    sentence = "NGBoost is not installed: choose another method, or install the package ngboost."
    monkeypatch.setattr(Method, "missing", lambda self: sentence)
    assert open_project(content).why_no_models == sentence

    def fail(package):
        raise MissingPackage(f"It needs {package}.")

    monkeypatch.undo()
    monkeypatch.setattr("gbuq_core.model_files.libraries.import_optional", fail)
    assert open_project(content).why_no_models == "It needs ngboost."


def changed(content, header=(), estimator=(), plan=(), version=None):
    """The project with values of its first model and of its plan changed, all digests right."""
    about, members = container_of(content)
    own, arrays = read_archive(members["models/000.npz"])
    inner, parts = read_archive(arrays["estimator"].tobytes())
    for name, value in dict(estimator).items():
        node = inner["model"]
        node[name] = {**node[name], **value} if isinstance(value, dict) else value
    own.update(header)
    arrays["estimator"] = np.frombuffer(write_archive(plain(inner), parts), np.uint8)
    members["models/000.npz"] = write_archive(plain(own), arrays)
    state, kept = read_archive(members["state.npz"])
    state["plan"] = {**state["plan"], **dict(plan)}
    members["state.npz"] = write_archive(plain(state), kept)
    return write_container(about, members)


def container_of(content):
    about, members = read_container(content)
    return {key: about[key] for key in ("project", "table_notices", "written_by")}, members


def plain(header):
    return {key: header[key] for key in header if key not in ("format", "version", "arrays")}


ODD = {
    "class": {"estimator": {"class": "DistanceScore"}},
    "parameter": {"estimator": {"fields": {"scoring": "crps"}}},
    "columns": {"header": {"columns": ["y"]}},
    "complete": {"header": {"complete": ["z"]}},
    "levels": {"header": {"levels": [["kind", ["a", "b"], []]]}},
    "level twice": {"header": {"levels": [["kind", ["a", "b", "b"], []]]}},
    "level of a number": {"header": {"levels": [["kind", ["a", "b", 1e300], []]]}},
    "no levels": {"header": {"levels": None}},
    "knob": {"plan": {"knobs": [["n_neighbors", 3]]}},
    "knob out of range": {"plan": {"knobs": [["scoring", "rmse"]]}},
    "method": {"plan": {"method": "gp"}},
    "seed": {"plan": {"seed": 1}},
}


@pytest.mark.parametrize("name", ODD)
def test_a_model_that_is_not_the_plans_is_refused(name, table):
    content = project_bytes(fitted("regression", "knn", table))
    assert open_project(changed(content)).models is not None
    with pytest.raises(ProjectError, match="damaged"):
        open_project(changed(content, **ODD[name]))


def test_models_that_a_newer_version_alone_knows_are_left_out(table, monkeypatch):
    project = fitted("regression", "knn", table)
    monkeypatch.setattr("gbuq_core.projects.container.MINOR", 3)
    content = project_bytes(replace(project, level=0.7))
    later = changed(content, header={"kind": "model of tomorrow"})
    opened = open_project(later)
    assert (opened.models, opened.why_no_models) == (None, NEWER)
    assert opened.level == 0.7
    assert open_project(content).models is not None
    assert np.isfinite(score_project(open_project(content), table).predictions.loc).all()
