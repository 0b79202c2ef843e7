"""The site of the documentation, built for the tests."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOWHERE = "http://127.0.0.1:9"  # a proxy that answers to nobody: a build that asks for a page fails
# A sixth of the time of a build goes into looking for garbage, and there is next to none.
BUILD = """
import gc, sys
gc.disable()
sys.path.append("tests")
from lesson_parts import build_site
build_site(sys.argv[1:])
"""
PATIENCE = 400.0  # seconds that a worker waits for the site that another one builds


def build_site(folder):
    """Build the site into a folder, strictly and without a network."""
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), NOWHERE)
    built = subprocess.run(
        [sys.executable, "-c", BUILD, "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, **proxies},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


def shared_site(directory):
    """The site in a ``directory`` that workers share, built by the first of them that asks."""
    site, ended = directory / "site", directory / "site-ended"
    try:
        (directory / "site-begun").touch(exist_ok=False)
    except FileExistsError:  # another worker's
        deadline = time.monotonic() + PATIENCE
        while not ended.exists():
            assert time.monotonic() < deadline, "another worker has not built the site in time"
            time.sleep(0.1)
        # A build that failed there fails here too, with its words.
        return site if site.exists() else build_site(directory / "site-again")
    try:
        return build_site(directory / "site-building").rename(site)
    finally:
        ended.touch()
