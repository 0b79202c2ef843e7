"""Keeping numba's cache of compiled kernels usable: a place to write to, and nothing stale in it.

Numba looks for a writable directory when a function is decorated with ``cache=True`` and raises
when it finds none, so `ensure_writable_cache` must run before the first kernel is imported. It also
checks a cached kernel against its own source file only, not against the kernels that were compiled
into it, so `drop_stale_kernels` empties the cache beside the sources, and the package's part of
``NUMBA_CACHE_DIR``, when any of them has changed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parent
# No room, or no right to it any more: none of them is about the kernel.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def ensure_writable_cache() -> str | None:
    """Point ``NUMBA_CACHE_DIR`` to a temporary directory if numba could write nowhere.

    Notes
    -----
    The directory is the same for every process of a user, so kernels are compiled once. Loading
    a cached kernel runs it, so the directory must belong to this user and to nobody else; where
    that cannot be had, each process takes a fresh one.
    """
    if _numba_finds_a_place():
        return None
    directory = _own_temporary_directory()
    os.environ["NUMBA_CACHE_DIR"] = directory
    if "numba" in sys.modules:  # it has read the environment already
        sys.modules["numba"].config.CACHE_DIR = directory
    return directory


def drop_stale_kernels(package: Path = _PACKAGE) -> bool:
    """Delete the cached kernels of a package if a source with kernels changed since.

    Notes
    -----
    Two processes may do so at once: numba compiles again whatever it does not find.
    """
    digest = kernel_digest(package)
    folders = {source.parent for source in package.rglob("*.py")} | {package}
    dropped = _drop_from(
        package / "__pycache__", [folder / "__pycache__" for folder in folders], digest
    )
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        places = [Path(given) / _numba_folder(folder) for folder in folders]
        main = Path(given) / _numba_folder(package)
        dropped |= _drop_from(main, places, digest)
    return dropped


def kernel_digest(package: Path = _PACKAGE) -> str:
    """A digest of a package's sources with kernels."""
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        content = source.read_bytes()
        if b"njit" in content or b"@intrinsic" in content:
            digest.update(str(source.relative_to(package)).encode() + content)
    return digest.hexdigest()


def do_without_cache_when_full() -> None:
    """Let a kernel that was just compiled run though the disk has no room to keep it.

    Numba has it in memory by then, but raises what writing it to the cache raised. Each process
    compiles such kernels anew until there is room.
    """
    from numba.core import caching

    before = caching.Cache.save_overload
    if getattr(before, "_needs_no_room", False):
        return

    def save_overload(self: Any, signature: Any, data: Any) -> None:
        try:
            before(self, signature, data)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise

    save_overload._needs_no_room = True  # type: ignore[attr-defined]
    caching.Cache.save_overload = save_overload  # type: ignore[method-assign]


def _drop_from(stamped: Path, places: list[Path], digest: str) -> bool:
    """Empty these folders unless the stamp in the first one names these very sources."""
    stamp = stamped / "kernels.sha256"
    try:
        if stamp.is_file() and stamp.read_text() == digest:
            return False
        stamped.mkdir(parents=True, exist_ok=True)
        stamp.write_text(digest)
        for place in places:
            for cached in (*place.glob("*.nb[ic]"), *place.glob("*.compiled")):
                cached.unlink(missing_ok=True)
    except OSError:  # read-only: no kernel can have been cached here by an older source either
        return False
    return True


def _numba_folder(sources: Path) -> str:
    """What numba calls the cache of a folder of sources inside ``NUMBA_CACHE_DIR``."""
    path = os.path.abspath(sources)
    return f"{os.path.basename(path)}_{hashlib.sha1(path.encode()).hexdigest()}"


def _numba_finds_a_place() -> bool:
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given and _is_writable(Path(given)):
        return True
    packages = {init.parent for init in _PACKAGE.rglob("__init__.py")} | {_PACKAGE}
    if all(_is_writable(package / "__pycache__") for package in packages):
        return True
    return _is_writable(_user_cache())


def _user_cache() -> Path:
    """Where numba caches for a user (its ``AppDirs(appname="numba").user_cache_dir``)."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "numba"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "numba"
    return Path(os.environ.get("XDG_CACHE_HOME", home / ".cache")) / "numba"


def _is_writable(directory: Path) -> bool:
    """Numba's own test: make the directory, write a file into it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError:
        return False
    return True


def _own_temporary_directory() -> str:
    if hasattr(os, "getuid"):
        shared = Path(tempfile.gettempdir()) / f"gbuq-numba-{os.getuid()}"
        try:
            shared.mkdir(mode=0o700, exist_ok=True)
            status = shared.lstat()
        except OSError:
            return tempfile.mkdtemp(prefix="gbuq-numba-")
        private = stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o700
        if private and status.st_uid == os.getuid() and _is_writable(shared):
            return str(shared)
    return tempfile.mkdtemp(prefix="gbuq-numba-")
