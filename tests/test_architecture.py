"""The architecture, read off the source: who imports whom, how kernels look, sizes.

Beside each rule stand modules that break it, so that a rule that no longer sees anything is
noticed.
"""

import gc
import json
import subprocess
import sys
from functools import cache
from pathlib import Path, PurePosixPath

import architecture_rules as rules
import pytest

ROOT = Path(__file__).resolve().parents[1]
TOP_LEVEL = {
    *(
        ".ci",
        ".gitignore",
        ".streamlit",
        "Containerfile",
        "LICENSE",
        "README.md",
        "app.py",
        "pyproject.toml",
    ),
    *("requirements.txt", "requirements-dev.txt"),
    "server.py",  # the app for others, with its log and its limits
    "hatch_build.py",  # where hatchling looks for it
    *("CHANGELOG.md", "CITATION.cff", "docs", "mkdocs.yml"),
    *("benchmarks", "demos", "gbuq_core", "pages", "tests"),
}
SUFFIXES = {".py", ".pyi", ".js", ".css", ".html"}
NOT_OURS = {"__pycache__", ".venv", "venv", "node_modules", "catboost_info"}

KERNEL = "@njit(nogil=True, cache=True)\ndef f(x):\n    return x\n"
# Each rule with modules that break it.
RULES = {
    rules.streamlit_only_in_the_app: [
        ("gbuq_core/jobs.py", "def f():\n    import streamlit as st"),
        ("demos/heart.py", "from streamlit import write"),
        ("benchmarks/start.py", "from pages._ui import canvas"),
    ],
    rules.imports_point_down: [
        ("gbuq_core/metrics/crps.py", "from gbuq_core.boosting import BoostedEnsembleRegressor"),
        ("gbuq_core/errors.py", "from gbuq_core.jobs import Job"),
        ("gbuq_core/tables/scoring.py", "from gbuq_core.figures import panels"),
        ("gbuq_core/uncertainty.py", "from gbuq_core.figures.plots import plot_uncertainty"),
        ("gbuq_core/uncertainty.py", "def f():\n    from gbuq_core.figures.heart import draw"),
        ("gbuq_core/experiments/heart/fit.py", "from gbuq_core import make_heart"),
        ("gbuq_core/streaming/scoring.py", "from gbuq_core.experiments.heart.fit import run_heart"),
        ("gbuq_core/commands/fit.py", "def f():\n    from gbuq_core.experiments import heart"),
        ("gbuq_core/attic.py", ""),
    ],
    rules.methods_do_not_know_each_other: [
        ("gbuq_core/ibug/estimator.py", "import gbuq_core.boosting.base"),
    ],
    rules.figures_know_no_estimator: [
        ("gbuq_core/figures/heart.py", "from gbuq_core.experiments.heart.fit import run_heart"),
        ("gbuq_core/figures/heart.py", "from gbuq_core import BoostedEnsembleRegressor"),
    ],
    rules.pages_use_public_names: [
        ("pages/heart.py", "from gbuq_core.trees.binning import fit_bins"),
        ("pages/heart.py", "from gbuq_core.jobs import _clear_frames"),
        ("pages/heart.py", "from gbuq_core.boosting.noise_kernels import add_split_noise"),
        ("pages/heart.py", "from pages.home import draw"),
        ("pages/_ui/your_data/export.py", "def f():\n    from gbuq_core.commands import report"),
        ("pages/_ui/controls.py", "import sklearn"),
    ],
    rules.demos_know_the_core_only: [("demos/heart.py", "from tests.naive import slow")],
    rules.slow_libraries_are_imported_late: [
        ("gbuq_core/boosting/catboost_engine.py", "import catboost"),
        ("gbuq_core/baselines/forests.py", "from sklearn.ensemble import RandomForestRegressor"),
        ("gbuq_core/baselines/forests.py", "class A:\n    from sklearn import ensemble"),
    ],
    rules.the_core_starts_without_the_extras: [
        ("gbuq_core/figures/heart.py", "import plotly.graph_objects as go"),
    ],
    rules.only_the_cluster_knows_dask: [
        ("gbuq_core/parallel.py", "def f():\n    import distributed"),
        ("pages/heart.py", "from dask import delayed"),
        ("gbuq_core/tables/scoring.py", "def f():\n    from gbuq_core.cluster import open_cluster"),
        ("gbuq_core/commands/score.py", "from gbuq_core.cluster import open_cluster"),
    ],
    rules.kernels_import_kernels: [
        ("gbuq_core/trees/a_kernels.py", "from gbuq_core.validation import check_number"),
        ("gbuq_core/trees/a_kernels.py", "import os"),
    ],
    rules.kernels_live_in_kernel_files: [("gbuq_core/trees/binning.py", KERNEL)],
    rules.kernels_release_the_lock_and_are_cached: [
        ("gbuq_core/trees/a_kernels.py", KERNEL.replace("nogil=True, ", "")),
        ("gbuq_core/trees/a_kernels.py", KERNEL.replace(", cache=True", "")),
        ("gbuq_core/trees/a_kernels.py", KERNEL.replace("(nogil=True, cache=True)", "")),
        ("gbuq_core/trees/a_kernels.py", KERNEL.replace("cache", "fastmath=True, cache")),
    ],
    rules.kernels_take_few_arguments: [
        ("gbuq_core/trees/a_kernels.py", KERNEL.replace("f(x)", "f(a,b,c,d,e,f,g,h,i,j,k,l,m)")),
    ],
    rules.kernels_draw_from_counters: [("gbuq_core/trees/a_kernels.py", "x = np.random.normal()")],
    rules.no_parallel_kernels: [
        ("gbuq_core/trees/a_kernels.py", KERNEL.replace("cache", "parallel=True, cache")),
        ("gbuq_core/trees/a_kernels.py", "for i in numba.prange(3):\n    i"),
        ("tests/test_a.py", "from numba import prange"),
    ],
    rules.nothing_is_unpickled: [
        ("gbuq_core/model_files/fields.py", "import pickle"),
        ("gbuq_core/model_files/fields.py", "from joblib import load"),
        ("gbuq_core/model_files/fields.py", "np.load(path, allow_pickle=True)"),
        ("gbuq_core/tables/files.py", "pd.read_pickle(path)"),
        ("pages/home.py", "eval(text)"),
    ],
    rules.user_text_is_not_html: [("pages/home.py", "st.markdown(x, unsafe_allow_html=True)")],
    rules.numbers_and_tables_are_written_in_one_place: [
        ("pages/_ui/heart/picture.py", "f'{x:#.3g}'"),
        ("benchmarks/report.py", "'|:--|--:|'"),
    ],
    rules.small_tolerances_say_why: [
        ("tests/trees/test_binning.py", "assert a == pytest.approx(b, rel=1e-9)"),
        ("tests/trees/test_binning.py", 'EXACT = {"rtol": 1e-12, "atol": 0.0}'),
    ],
    rules.nothing_is_left_to_do: [("app.py", "# " + "todo later".upper())],
    rules.files_are_short: [
        ("app.py", "\n" * 61),
        ("pages/home.py", "\n" * 151),
        ("pages/_ui/canvas.py", "a = 1\n" * 501),
        ("pages/_ui/canvas.js", "\n" * 401),
    ],
    rules.no_room_without_a_name: [("gbuq_core/utils.py", "")],
}
# Rules of homes, each with small trees that break it: from paths to texts.
KNOBS = {"pages/_ui/knobs.py": "", "pages/_ui/heart/controls.py": "from pages._ui import knobs"}
HOMES = {
    rules.what_one_page_uses_lives_in_its_folder: [
        {"pages/heart.py": "from pages._ui.knobs import Knob", **KNOBS},
        {"pages/heart.py": "from pages._ui.heart.controls import STATE", **KNOBS},
        # Lessons read a page's knobs: that makes nothing shared.
        {
            "pages/heart.py": "from pages._ui.heart.controls import STATE",
            "pages/lessons.py": "from pages._ui.heart.controls import STATE",
            **KNOBS,
        },
        {
            "pages/heart.py": "from pages._ui import outer",
            "pages/_ui/outer.py": "def f():\n    from pages._ui.inner import g",
            "pages/_ui/inner.py": "",
            "app.py": "from pages._ui import outer",
            "pages/_ui/forgotten.py": "",
        },
    ],
    rules.pages_keep_out_of_other_pages_folders: [
        {"pages/spiral.py": "from pages._ui.heart.controls import STATE", **KNOBS},
        {"pages/_ui/spiral/look.py": "from pages._ui.heart import controls", **KNOBS},
        {"pages/_ui/canvas.py": "import pages._ui.heart.controls", **KNOBS},
        {
            "pages/_ui/lessons/links.py": "from pages._ui.heart.picture import draw",
            "pages/_ui/heart/picture.py": "",
        },
    ],
    rules.folders_do_not_know_each_other: [
        {
            f"{room}/heart/fit.py": f"from {room.replace('/', '.')}.spiral.regions import far",
            f"{room}/spiral/regions.py": "",
        }
        for room in ("gbuq_core/experiments", "gbuq_core/figures", "demos")
    ],
    rules.no_circle_of_imports: [
        {
            "gbuq_core/jobs.py": "from gbuq_core.progress import advance",
            "gbuq_core/progress.py": "def f():\n    from gbuq_core import seeding",
            "gbuq_core/seeding.py": "import gbuq_core.jobs",
        },
        {
            "gbuq_core/metrics/crps.py": "def f():\n    from gbuq_core.metrics import brier",
            "gbuq_core/metrics/__init__.pyi": "from gbuq_core.metrics.scores import brier",
            "gbuq_core/metrics/scores.py": "from gbuq_core.metrics.crps import mean",
        },
    ],
    rules.shared_files_say_what_they_are_for: [
        {"pages/_ui/__init__.py": '"""Shared."""', "pages/_ui/knobs.py": ""},
        {"pages/_ui/__init__.py": '"""Shared.\n\nknobs  settings\ngone  nothing\n"""', **KNOBS},
    ],
}
NOT_PYTHON_TOO = {
    rules.files_are_short,
    rules.nothing_is_left_to_do,
    rules.no_room_without_a_name,
}


@cache
def modules():
    modules_read = []
    ours = [ROOT / name for name in TOP_LEVEL]  # no walk through an environment's libraries
    for path in (*ours, *(path for folder in ours for path in folder.rglob("*"))):
        relative = path.relative_to(ROOT)
        if path.suffix in SUFFIXES and not NOT_OURS.intersection(relative.parts):
            text = path.read_text(encoding="utf-8")
            modules_read.append(rules.Module(PurePosixPath(relative), text))
    gc.disable()  # which would look through millions of nodes again and again
    for module in modules_read:
        if module.path.suffix == ".py":
            rules.nodes_by_kind(module)
    gc.freeze()
    gc.enable()
    return modules_read


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps(rule):
    complaints = {
        str(module.path): bad
        for module in modules()
        if (module.path.suffix == ".py" or rule in NOT_PYTHON_TOO) and (bad := rule(module))
    }
    assert complaints == {}


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [(rule, *broken) for rule, cases in RULES.items() for broken in cases],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_rule_is_seen(rule, path, text):
    assert rule(rules.Module(PurePosixPath(path), text))


@pytest.mark.parametrize("rule", HOMES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps_a_rule_of_homes(rule):
    assert rule(modules()) == {}


@pytest.mark.parametrize(
    ("rule", "tree"),
    [(rule, broken) for rule, cases in HOMES.items() for broken in cases],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_rule_of_homes_is_seen(rule, tree):
    assert rule([rules.Module(PurePosixPath(path), text) for path, text in tree.items()])


def test_what_lives_in_its_home_is_not_complained_of():
    texts = {
        "app.py": "from pages._ui import style",
        "pages/heart.py": "from pages._ui.heart.controls import STATE",
        "pages/spiral.py": "from pages._ui.knobs import Knob",
        "pages/lessons.py": "from pages._ui.lessons.links import OPENERS",
        "pages/_ui/__init__.py": '"""Shared.\n\nknobs  settings\nstyle  looks\n"""',
        "pages/_ui/lessons/links.py": "from pages._ui.heart import controls",
        "pages/_ui/style.py": "",
        "gbuq_core/figures/heart/maps.py": "from gbuq_core.figures.canvas.panels import Panel",
        "gbuq_core/figures/canvas/panels.py": "from gbuq_core.figures.colour import mix",
        "gbuq_core/figures/colour.py": "",
        **KNOBS,
    }
    tree = [rules.Module(PurePosixPath(path), text) for path, text in texts.items()]
    assert [rule(tree) for rule in HOMES] == [{}] * len(HOMES)


def test_what_explains_the_code_does_not_make_a_file_long():
    docstring = '"""' + "said\n" * 600 + '"""\n'
    text = docstring + "# why\n\n" * 600 + "def f():\n    " + docstring + "    return 1\n" * 498
    module = rules.Module(PurePosixPath("gbuq_core/ibug/base.py"), text)
    assert rules.count_code_lines(module) == 499
    assert rules.files_are_short(module) == []


def test_the_whole_tree_is_walked():
    assert {"gbuq_core", "tests", "pages"} <= {module.top for module in modules()}
    kernels = [module for module in modules() if module.is_kernels]
    assert kernels
    for module in kernels:
        assert [*rules.compiled_functions(module), *rules.inlined_functions(module)]


def test_nothing_unexpected_at_the_top():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    assert {name.split("/")[0] for name in listed.stdout.splitlines()} <= TOP_LEVEL


# What is loaded after each of three imports, told by one process: it takes seconds to start.
LOADED = """
import json, sys
import gbuq_core
loaded = {"library": list(sys.modules)}
import gbuq_core.errors, gbuq_core.validation
records = ("gbuq_core.methods", "gbuq_core.knobs")
for name in [name for name in sys.modules if name.startswith(records)]:
    del sys.modules[name]  # samplers have their numbers from the records
before = set(sys.modules)
import gbuq_core.methods
loaded["records"] = sorted(set(sys.modules) - before)
import gbuq_core.figures.surface
loaded["surface"] = list(sys.modules)
print(json.dumps(loaded))
"""


@pytest.fixture(scope="module")
def loaded():
    process = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name: set(modules) for name, modules in json.loads(process.stdout).items()}


def test_the_library_starts_without_the_app_and_the_slow_libraries(loaded):
    assert "gbuq_core" in loaded["library"]
    assert not loaded["library"] & {
        "streamlit",
        "plotly",
        "altair",
        "gbuq_core.figures",
        *rules.SLOW_LIBRARIES,
    }


def test_reading_records_loads_no_estimator(loaded):
    own = {name for name in loaded["records"] if name.split(".")[0] not in sys.stdlib_module_names}
    assert {name for name in own if ".methods" not in name} == {"gbuq_core.knobs"}


def test_plotly_is_imported_with_the_first_surface_only(loaded):
    assert "gbuq_core.figures.surface" in loaded["surface"]
    assert "plotly" not in loaded["surface"]
