"""`gbuq app`: start the app in a browser, by Streamlit."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from gbuq_core.errors import InvalidParameter, MissingPackage
from gbuq_core.validation import check_number

_OURS = ("app.py", "pages/_ui/site_map.py")  # what tells the app's folder from any other
_THIS_CLONE = Path(__file__).resolve().parents[2]  # or where packages are installed
_INSTALLED = "gbuq_app"  # its folder there
_DESCRIPTION = """\
Start the app with Streamlit and open it in a browser. What it needs comes with pip install
'gbuq[app]'. Without --dir, the app that came with this gbuq is used, or else the current directory.
"""


def add_app(commands: Any) -> None:
    """The command `app`."""
    app = commands.add_parser("app", help="start the app in a browser", description=_DESCRIPTION)
    add = app.add_argument
    add("--dir", metavar="DIR", help="the folder that holds app.py")
    add("--port", type=int, metavar="N", help="default: 8501, or the next one that is free")
    add("--address", metavar="HOST", help="the address to listen on; default: all of this machine")
    add("--no-browser", action="store_true", help="open no browser, as on a server")
    add(
        "--config",
        metavar="FILE",
        help="a TOML file with a table [app] of these options; options on the line win",
    )
    app.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Hand this process over to Streamlit."""
    if options.port is not None:
        check_number("--port", options.port, 1, 65535, integer=True)
    folder = _folder_of_the_app(options.dir)
    if importlib.util.find_spec("streamlit") is None:
        raise MissingPackage(
            "The app needs Streamlit, which is not installed: run pip install 'gbuq[app]', or pip "
            "install -r requirements.txt in a clone."
        )
    words = [sys.executable, "-m", "streamlit", "run", "app.py"]
    if options.port is not None:
        words.append(f"--server.port={options.port}")
    if options.address is not None:
        words.append(f"--server.address={options.address}")
    if options.no_browser:
        words.append("--server.headless=true")
    sys.stdout.flush()
    if os.name == "posix":  # one process: signals reach Streamlit itself
        os.chdir(folder)  # where Streamlit looks for its settings
        os.execv(sys.executable, words)
    return subprocess.run(words, cwd=folder, check=False).returncode


def _folder_of_the_app(named: str | None) -> Path:
    """The folder of app.py: the one that is named, that of this code, or the current one."""
    if named is not None:
        if not _holds_the_app(Path(named)):
            raise InvalidParameter(
                f"There is no app of gbuq in {named}: name the folder of a clone."
            )
        return Path(named)
    for folder in (_THIS_CLONE, _THIS_CLONE / _INSTALLED, Path.cwd()):
        if _holds_the_app(folder):
            return folder
    raise InvalidParameter(
        "The app is not here: this gbuq came without it, so install it again, run gbuq app in a "
        "clone of the repository, or name its folder with --dir."
    )


def _holds_the_app(folder: Path) -> bool:
    return all((folder / name).is_file() for name in _OURS)
