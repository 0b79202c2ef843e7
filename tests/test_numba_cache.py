"""Where compiled kernels go when neither the package nor the home can be written.

The tests put plain files where directories would be made, since root may write anywhere.
"""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gbuq_core import numba_cache

KERNEL = """
from numba import njit

@njit(nogil=True, cache=True)
def double(x):
    return 2 * x
"""

MAIN = """
import {first}
from lonely.numba_cache import ensure_writable_cache
print(ensure_writable_cache())
from lonely.kernels import double
print(double(21))
"""


@pytest.fixture
def lonely(tmp_path):
    """A package with a kernel, and what runs it: (directory, environment)."""
    package = tmp_path / "site" / "lonely"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "kernels.py").write_text(KERNEL)
    shutil.copy(numba_cache.__file__, package / "numba_cache.py")
    (tmp_path / "tmp").mkdir()
    environment = {key: value for key, value in os.environ.items() if "NUMBA" not in key}
    environment |= {
        "PYTHONPATH": str(package.parent),
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home" / ".cache"),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    return package, environment


def read_only(directory):
    """Let nobody make this directory."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.write_text("in the way")


def run(environment, first="sys", ensure=True):
    code = MAIN.format(first=first)
    code = code if ensure else code.replace("ensure_writable_cache()", "'nowhere'")
    return subprocess.run(
        [sys.executable, "-B", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_numba_needs_help_where_nothing_can_be_written(lonely, tmp_path):
    package, environment = lonely
    read_only(package / "__pycache__")
    read_only(tmp_path / "home")
    process = run(environment, ensure=False)
    assert process.returncode == 1
    assert "cannot cache function" in process.stderr


@pytest.mark.parametrize("first", ["sys", "numba"])  # before and after numba is imported
def test_a_temporary_directory_takes_over(lonely, tmp_path, first):
    package, environment = lonely
    read_only(package / "__pycache__")
    read_only(tmp_path / "home")
    process = run(environment, first)
    assert process.returncode == 0, process.stderr
    directory, doubled = process.stdout.split()
    assert doubled == "42"
    assert Path(directory).parent == tmp_path / "tmp"
    assert stat.S_IMODE(Path(directory).stat().st_mode) == 0o700
    assert list(Path(directory).rglob("kernels.double*.nbi"))
    # The next process finds the compiled kernel.
    assert run(environment).stdout.split() == [directory, "42"]


@pytest.mark.parametrize("place", ["package", "home", "given"])
def test_a_place_that_can_be_written_is_left_to_numba(lonely, tmp_path, place):
    package, environment = lonely
    if place != "package":
        read_only(package / "__pycache__")
    if place != "home":
        read_only(tmp_path / "home")
    if place == "given":
        environment["NUMBA_CACHE_DIR"] = str(tmp_path / "given")
    process = run(environment)
    assert process.stdout.split() == ["None", "42"], process.stderr
    where = {"package": package, "home": tmp_path / "home", "given": tmp_path / "given"}[place]
    assert list(where.rglob("kernels.double*.nbi"))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="modes and owners are a Unix matter")
@pytest.mark.parametrize("trap", ["open to others", "link"])
def test_a_directory_that_others_may_write_is_not_trusted(lonely, tmp_path, trap):
    package, environment = lonely
    read_only(package / "__pycache__")
    read_only(tmp_path / "home")
    shared = tmp_path / "tmp" / f"gbuq-numba-{os.getuid()}"
    if trap == "link":
        (tmp_path / "foreign").mkdir(mode=0o700)
        shared.symlink_to(tmp_path / "foreign")
    else:
        shared.mkdir()
        shared.chmod(0o777)
    directory, doubled = run(environment).stdout.split()
    assert doubled == "42"
    assert Path(directory) != shared
    assert not list(shared.iterdir())


def test_a_changed_kernel_empties_the_cache_beside_all_sources(tmp_path):
    cached = tmp_path / "inner" / "__pycache__" / "kernels.double-1.py311.nbi"
    cached.parent.mkdir(parents=True)
    kernels = tmp_path / "inner" / "kernels.py"
    kernels.write_text(KERNEL)
    assert numba_cache.drop_stale_kernels(tmp_path)  # the first time nothing is known

    cached.touch()
    (tmp_path / "inner" / "plain.py").write_text("x = 1")  # has no kernels
    assert not numba_cache.drop_stale_kernels(tmp_path)
    assert cached.exists()

    kernels.write_text(KERNEL.replace("2 * x", "3 * x"))
    assert numba_cache.drop_stale_kernels(tmp_path)
    assert not cached.exists()


def test_a_read_only_package_is_left_alone(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNEL)
    read_only(tmp_path / "__pycache__")
    assert not numba_cache.drop_stale_kernels(tmp_path)


def test_a_cache_of_the_users_own_forgets_changed_kernels_too(lonely, tmp_path):
    """The second kernel is compiled into the first, whose own file stays as it is."""
    package, environment = lonely
    cache = tmp_path / "cache"
    environment["NUMBA_CACHE_DIR"] = str(cache)
    (package / "deeper.py").write_text(KERNEL.replace("double", "inner"))
    outer = KERNEL.replace("return 2 * x", "return inner(x)")
    (package / "kernels.py").write_text("from lonely.deeper import inner\n" + outer)
    code = (
        "from lonely.numba_cache import drop_stale_kernels; print(drop_stale_kernels());"
        "from lonely.kernels import double; print(double(21))"
    )

    def answer():
        command = [sys.executable, "-B", "-c", code]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=True
        ).stdout.split()

    assert answer() == ["True", "42"]
    assert list(cache.rglob("kernels.double*.nbc"))
    assert answer() == ["False", "42"]
    (package / "deeper.py").write_text(KERNEL.replace("double", "inner").replace("2 * x", "3 * x"))
    assert answer() == ["True", "63"]
    assert answer() == ["False", "63"]


def test_only_the_packages_own_part_of_a_shared_cache_is_emptied(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    other = tmp_path / "cache" / "other_0123" / "kernels.double.nbc"
    other.parent.mkdir(parents=True)
    other.touch()
    package = tmp_path / "mine"
    package.mkdir()
    (package / "kernels.py").write_text(KERNEL)
    assert numba_cache.drop_stale_kernels(package)
    assert not numba_cache.drop_stale_kernels(package)
    assert other.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no limit for the size of a file there")
@pytest.mark.parametrize("helps", [True, False])
def test_a_kernel_runs_though_the_disk_is_full(lonely, helps):
    _, environment = lonely
    full = """
import resource
from lonely.numba_cache import do_without_cache_when_full
if {helps}:
    do_without_cache_when_full()
    do_without_cache_when_full()  # once is enough, twice does no harm
from lonely.kernels import double
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
print(double(21))
"""
    process = subprocess.run(
        [sys.executable, "-B", "-c", full.format(helps=helps)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (process.stdout == "42\n") == helps
    assert ("File too large" in process.stderr) != helps
