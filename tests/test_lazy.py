"""Names load when they are used, and the cache of kernels is made ready when numba is."""

import ast
import importlib
import json
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import gbuq_core
from gbuq_core.numba_start import prepare_with_numba

ROOT = Path(__file__).resolve().parents[1]
STUBS = sorted((ROOT / "gbuq_core").rglob("__init__.pyi"))
PACKAGES = [".".join(stub.parent.relative_to(ROOT).parts) for stub in STUBS]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_offers_what_its_stub_says(package):
    module = importlib.import_module(package)
    text = Path(module.__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
    imported = {alias.asname or alias.name for node in imports for alias in node.names}
    assert set(module.__all__) == imported
    assert imported <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is not None
    # A module of that name would take the name's place once it is imported.
    assert not imported & {
        module_info.name for module_info in pkgutil.iter_modules(module.__path__)
    }


# What a package may import by itself: the mechanism, and what loads nothing but must come first.
BEFORE_ALL = {"gbuq_core.lazy", "gbuq_core.numba_start", "gbuq_core.figures.showing"}


def test_packages_import_nothing_but_that_mechanism():
    """Importing one name would else load what all names need; records declare themselves."""
    late = {stub.with_suffix(".py") for stub in STUBS}
    for path in (ROOT / "gbuq_core").rglob("__init__.py"):
        nodes = ast.parse(path.read_text(encoding="utf-8")).body
        homes = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        if path in late:
            assert homes <= BEFORE_ALL, path
        elif "__all__" in path.read_text(encoding="utf-8"):
            assert path.parent.name == "methods", path


def test_a_name_that_is_not_there_is_named():
    with pytest.raises(AttributeError, match=r"^module 'gbuq_core' has no attribute 'predict'$"):
        gbuq_core.predict  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'predict' from 'gbuq_core'"):
        from gbuq_core import predict  # noqa: F401


def test_pickles_find_classes_that_are_not_loaded():
    model = gbuq_core.BoostedEnsembleRegressor(depth=3)
    code = (
        "import pickle, sys; import gbuq_core; assert 'numba' not in sys.modules;"
        f"print(pickle.loads({pickle.dumps(model)!r}).depth)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert process.stdout == "3\n"


# Where the cache goes and what is stale in it are settled before numba decorates anything.
ORDER = """
import json, sys
import gbuq_core
from gbuq_core import numba_cache
calls = []
for name in ("ensure_writable_cache", "drop_stale_kernels"):
    setattr(numba_cache, name, lambda name=name: calls.append((name, "numba" in sys.modules)))
before = "numba" in sys.modules
import gbuq_core.seeding
from numba.core import caching
print(json.dumps([before, calls, caching.Cache.save_overload.__module__]))
"""


def test_the_cache_is_ready_before_numba_is_there():
    process = subprocess.run(
        [sys.executable, "-c", ORDER], cwd=ROOT, capture_output=True, text=True, check=True
    )
    before, calls, saver = json.loads(process.stdout)
    assert not before
    assert calls == [["ensure_writable_cache", False], ["drop_stale_kernels", False]]
    assert saver == "gbuq_core.numba_cache"


def test_preparing_twice_changes_nothing():
    finders = list(sys.meta_path)
    prepare_with_numba()
    assert sys.meta_path == finders
