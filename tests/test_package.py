"""The package: what its core and its extras need, one source of its version, the files in it.

`.ci/package` builds it for real and installs it.
"""

import importlib.util
import re
import runpy
import signal
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import architecture_rules as rules
import pytest
from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

import gbuq_core
from gbuq_core import IBUGRegressor
from gbuq_core.__main__ import main
from gbuq_core.errors import InvalidParameter

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = (ROOT / "requirements.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def split():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook.split_requirements


@pytest.fixture(scope="module")
def metadata():
    """What hatchling writes into the package, the hook included."""
    return ProjectMetadata(str(ROOT), PluginManager())


def names(requirements):
    return {re.match(r"[\w.-]+", requirement)[0].lower() for requirement in requirements}


def test_comment_lines_divide_the_requirements(split):
    text = """# Written by hand.
    # core: what the library needs
    numpy>=2,<3
    # A comment says: no group begins here.
    scipy>=1  # for statistics

    # App: the rest
    # of it
    plotly[express]>=7; python_version > "3.10"  # a chart
    """
    assert split(text) == {
        "core": ["numpy>=2,<3", "scipy>=1"],
        "app": ['plotly[express]>=7; python_version > "3.10"'],
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("numpy\n# core: library\nscipy", "no group above the line numpy"),
        ("# core: one\nnumpy\n# core: two\nscipy", "the group core twice"),
        ("# core: library\n-r other.txt", "no option of pip; got -r other.txt"),
        ("# app: pages\nstreamlit", "no group core"),
        ("# core: library\nnumpy\n# note: a remark", "no requirement in the group note"),
        ("", "no group core"),
    ],
)
def test_requirements_that_cannot_be_divided_are_refused(split, text, reason):
    with pytest.raises(ValueError, match=reason):
        split(text)


def test_each_requirement_is_of_the_core_or_of_the_app(metadata):
    core, extras = metadata.core.dependencies, metadata.core.optional_dependencies
    assert set(extras) == {"app", "sql", "notebook", "cluster", "docs"}
    listed = [line for line in REQUIREMENTS.splitlines() if line and not line.startswith("#")]
    assert names(core) | names(extras["app"]) | names(extras["sql"]) == names(listed)
    assert len(core) + len(extras["app"]) + len(extras["sql"]) == len(listed)
    assert "streamlit" in names(extras["app"])
    assert names(extras["notebook"]) == {"anywidget"}
    assert names(extras["cluster"]) == {"dask", "distributed"}
    assert names(extras["sql"]) == {"sqlalchemy"}
    assert names(extras["docs"]) == {
        *("mkdocs-material", "mkdocstrings", "mkdocstrings-python", "ziamath")
    }


def test_the_rule_on_imports_knows_what_only_the_app_needs(metadata):
    extras = metadata.core.optional_dependencies
    only = set.union(*(names(extras[extra]) for extra in ("app", "sql", "notebook", "cluster")))
    assert only <= set(rules.NOT_IN_THE_CORE)


def test_the_version_has_one_source(metadata):
    assert metadata.version == gbuq_core.__version__
    assert not re.search(r"^version\s*=", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)


def test_this_python_is_within_the_range(metadata):
    assert metadata.core.python_constraint.contains(".".join(map(str, sys.version_info[:3])))


def test_the_command_does_what_the_module_does(metadata, monkeypatch, capsys):
    (command,) = metadata.core.scripts.items()
    assert EntryPoint(command[0], command[1], "console_scripts").load() is main
    with pytest.raises(SystemExit) as stopped:
        main(["score", "--help"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {command[0]} score ")
    monkeypatch.setattr(sys, "argv", ["gbuq_core", "score", "--help"])
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # Ctrl-C stays the tests' own
    with pytest.raises(SystemExit):
        runpy.run_path(str(ROOT / "gbuq_core/__main__.py"), run_name="__main__")
    assert capsys.readouterr().out.startswith("usage: python -m gbuq_core score ")


def test_the_wheel_holds_all_of_the_core_and_the_app():
    builder = WheelBuilder(str(ROOT))
    packed = {file.distribution_path for file in builder.recurse_included_files()}
    left_out = {".pyc", ".nbi", ".nbc", ".sha256", ".compiled", ".lock"}  # of this machine
    ours = {
        ("gbuq_app/" * (room != "gbuq_core")) + path.relative_to(ROOT).as_posix()
        for room in ("gbuq_core", "pages", "demos")
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix not in left_out and path.parent.name != "__pycache__"
        if room != "demos" or path.suffix != ".png"  # of README and the guides
    }
    alone = {"app.py", "docs/departures.md", ".streamlit/config.toml"}
    assert packed == ours | {f"gbuq_app/{name}" for name in alone}
    assert {Path(name).suffix for name in packed} >= {".py", ".js", ".css", ".csv"}
    assert "gbuq_core/py.typed" in packed


def test_the_names_that_ci_imports_exist():
    script = (ROOT / ".ci/package").read_text(encoding="utf-8")
    lines = re.findall(r"^from gbuq_core.*$", script, re.MULTILINE)
    assert lines
    exec("\n".join(lines), {})


def test_a_missing_catboost_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)
    table = gbuq_core.make_heteroscedastic(n=60, random_state=0)
    with pytest.raises(InvalidParameter, match=r"pip install catboost, or pass a base_model\.$"):
        IBUGRegressor().fit(table.X, table.y)
