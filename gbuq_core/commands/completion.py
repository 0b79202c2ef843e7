"""`gbuq completion`: the script that lets a shell complete commands, options and files."""

from __future__ import annotations

import argparse
from typing import Any

from gbuq_core.commands.misspelt import parsers_of
from gbuq_core.lazy import import_optional

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
_FILES = ("train", "new", "file", "out", "next", "config", "project", "model")

_DESCRIPTION = """\
Print a script that completes the commands, options and files of gbuq with the Tab key. The script
is fixed text: no Python starts when Tab is pressed. Print it again after an update of gbuq.

  bash: gbuq completion bash > ~/.local/share/bash-completion/completions/gbuq
  zsh:  gbuq completion zsh > DIR/_gbuq, with DIR one of $fpath
  fish: gbuq completion fish > ~/.config/fish/completions/gbuq.fish
"""


def add_completion(commands: Any) -> None:
    """The command `completion`."""
    completion = commands.add_parser(
        "completion",
        help="print a script for completion with the Tab key",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    completion.add_argument("shell", choices=SHELLS, help="the shell that will read it")
    completion.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    shtab = import_optional("shtab")
    parser: argparse.ArgumentParser = options.parser
    parser.prog = "gbuq"
    for command in parsers_of(parser).values():
        for argument in command._actions:
            if argument.dest in _FILES:
                argument.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=options.shell))
