"""What all tests share: seeds, reference data, and the difference between a skip and a failure."""

import gc
import hashlib
import os
import sys
from pathlib import Path

# Threads of OpenMP (LightGBM, XGBoost, scikit-learn) and of OpenBLAS would otherwise burn a core
# while they wait for work, a core that the other worker needs. The libraries read this when they
# are loaded; what they compute stays the same.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2^4 cycles instead of 2^26

import numpy as np
import pytest
from hypothesis import settings
from small_models import SMALL

from gbuq_core.compilers import COMPILERS
from gbuq_core.kernel_steps import STEPS
from gbuq_core.resources import available_memory_bytes, usable_cores

# Compiled modules are kept beside the sources, as the kernels are: each of the many processes that
# tests start would otherwise compile the whole library again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Nearly all that importing and collecting make stays, and looking through it for garbage again and
# again would take a quarter of that time.
gc.disable()

ROOT = Path(__file__).resolve().parents[1]
MAIN = sys.modules["__main__"]
DRAWN = {}  # the state after the import, of each module's generators
COMPILING_SECONDS = 900
WORKER_BYTES = 3 * 2**30  # a worker with its servers, its Chromium or a hostile file

# The same examples in each run, and no time limit: a first call compiles kernels.
settings.register_profile("gbuq", derandomize=True, deadline=None, database=None)
settings.load_profile("gbuq")


def pytest_xdist_auto_num_workers():
    """With ``-n auto`` three workers share two cores, if memory allows: each waits often."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    by_memory = available_memory_bytes() // WORKER_BYTES
    return max(1, min(usable_cores() * 3 // 2, by_memory))


def pytest_ignore_collect(collection_path):
    """Leave helpers and the scripts that Streamlit runs alone: no doctest is in them."""
    name = collection_path.name
    return True if name.endswith(".py") and not name.startswith("test_") else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look through the package for doctests, but not through files of tests, which have none."""
    collectors = yield
    return [collector for collector in collectors if type(collector) is pytest.Module]


def pytest_runtest_setup(item):
    """Set back what a test before may have left: the app in ``__main__``, and drawn numbers.

    A child would run the app that Streamlit leaves there. What a test draws from a generator of its
    module must not depend on the tests that its worker ran before.
    """
    sys.modules["__main__"] = MAIN
    for name, value in vars(item.module).items() if hasattr(item, "module") else ():
        if isinstance(value, np.random.Generator):
            start = DRAWN.setdefault((item.module, name), value.bit_generator.state)
            value.bit_generator.state = start


def pytest_collection_finish():
    """Look for garbage from here on, but only in what tests make."""
    gc.freeze()
    gc.enable()


def seed_of(name):
    """A seed from a test's own name: adding or moving a test changes no other test's rows."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


@pytest.fixture
def rng(request):
    """A generator of the test's own."""
    return np.random.default_rng(seed_of(request.node.name))


@pytest.fixture(scope="session")
def scoringrules():
    """The library without numba, whose kernels take five seconds to compile at each import."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "numba", None)
        import scoringrules
    return scoringrules


@pytest.fixture(scope="session")
def require_or_fail():
    """``require_or_fail(there, reason)``: skip without a tool, or fail where CI must have it."""

    def require(there, reason):
        if not there and os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(f"CI must have what this test needs: {reason}")
        if not there:
            pytest.skip(reason)

    return require


def compile_all_kernels():
    """Compile what is not in the cache, in processes beside each other."""
    COMPILERS.begin(STEPS, asked=True)
    assert COMPILERS.wait(COMPILING_SECONDS), "the kernels are still being compiled"


def pytest_sessionstart(session):
    """Before workers start: they would otherwise wait for each other in the middle of tests.

    Tests of single files get the kernels that they need when they fit something.
    """
    config = session.config
    folders = all(Path(given.split("::")[0]).is_dir() for given in config.args)
    has_workers = getattr(config.option, "numprocesses", None)
    if has_workers and folders and not hasattr(config, "workerinput"):
        compile_all_kernels()


@pytest.fixture(scope="session")
def compiled_kernels():
    """The kernels are in the cache: no page has to wait a minute for them."""
    compile_all_kernels()


@pytest.fixture(scope="session", autouse=True)
def strangers_files_are_read_by_forks():
    """A file that is read in a process of its own costs seconds, which its libraries take."""
    from benchmarks.nursery import Nurseries
    from gbuq_core.given_models import reading
    from gbuq_core.tables import workbook
    from gbuq_core.trees.importers import catboost_source

    nurseries = Nurseries()
    with pytest.MonkeyPatch.context() as patch:
        for module in (reading, workbook, catboost_source) if hasattr(os, "fork") else ():
            patch.setattr(module, "ask_process", nurseries.ask)
        yield
    nurseries.close()


# Where pages and commands show what small models beside the table's find: looked at elsewhere.
SHOW_SMALL_MODELS = {
    "app", "benchmarks", "commands", "given_models", "lenses", "projects", "stacking", "streaming",
    "tables",
}  # fmt: skip
TELL_THEIR_NUMBERS = {"test_lessons", "test_saved_links", "test_same_units"}


@pytest.fixture(scope="module", autouse=True)
def small_models(request):
    """Half of what scoring a small table costs is judging how foreign or alike its rows are."""
    folder, name = request.path.parent.name, request.path.stem
    if folder not in SHOW_SMALL_MODELS or name in TELL_THEIR_NUMBERS:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        for module, sizes in SMALL.items():
            for name, size in sizes.items():
                patch.setattr(f"{module}.{name}", size)
        yield


@pytest.fixture(scope="session")
def shared_directory(tmp_path_factory):
    """One directory for all workers."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session", autouse=True)
def lessons_are_computed_once(shared_directory):
    """Steps of lessons are minutes of work, which the site's build and their tests share."""
    (shared_directory / "lessons").mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GBUQ_TESTS_LESSONS", str(shared_directory / "lessons"))
        yield


@pytest.fixture(scope="session")
def site(shared_directory):
    """The site of the documentation, which takes a quarter of a minute: one build for all tests."""
    from site_parts import shared_site

    return shared_site(shared_directory)


def _directory_or_skip(variable, default):
    given = os.environ.get(variable)
    directory = Path(given) if given else default
    if not directory.is_dir():
        # Not part of the repository, so its absence is no failure, in CI either.
        pytest.skip(f"{directory.name} is not there; set {variable} to its directory")
    return directory


@pytest.fixture(scope="session")
def reference_dir():
    """Numbers computed with the authors' implementations."""
    return _directory_or_skip("GBUQ_REFERENCE_DIR", ROOT.parent / "shared" / "reference")


@pytest.fixture(scope="session")
def data_dir():
    """The UCI tables of the papers, with their splits."""
    return _directory_or_skip("GBUQ_DATA_DIR", ROOT.parent / "shared" / "data" / "uci")
