"""The command line as a whole: its parser, and errors as sentences and exit codes."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn, TextIO

from gbuq_core.commands.app import add_app
from gbuq_core.commands.combinations import check_combination
from gbuq_core.commands.compare import add_compare
from gbuq_core.commands.completion import add_completion
from gbuq_core.commands.explain import add_explain
from gbuq_core.commands.fit import add_fit
from gbuq_core.commands.info import add_info
from gbuq_core.commands.interrupting import INTERRUPTED, STOPPED
from gbuq_core.commands.methods import add_methods
from gbuq_core.commands.misspelt import check_words, parsers_of
from gbuq_core.commands.report import add_report
from gbuq_core.commands.score import add_score
from gbuq_core.commands.settings_file import check_given_once, read_settings, typed_options
from gbuq_core.commands.warm import add_warm
from gbuq_core.errors import Cancelled, GbuqError

BAD_INPUT = 2
NOBODY_READS = 141  # the program that a pipe leads to has ended

_EXIT_CODES = (
    "exit codes: 0 done, 2 bad input (one sentence on the standard error tells what to change), "
    "130 interrupted, 141 the program that reads the output has ended"
)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
# Each adds a command, in the order of the help.
_COMMANDS: tuple[Callable[[Any], None], ...] = (
    add_app,
    add_score,
    add_fit,
    add_info,
    add_explain,
    add_compare,
    add_report,
    add_methods,
    add_warm,
    add_completion,
)


def run_command(arguments: Sequence[str] | None, prog: str, version: str) -> int:
    """Run a command and return its exit code, as the help of the command line lists them."""
    parser = build_parser(prog, version)
    typed = list(sys.argv[1:] if arguments is None else arguments)
    # Warnings of libraries are about our code, not about the user's file.
    warnings.simplefilter("ignore")
    try:
        try:
            began = time.perf_counter()
            options = _parse(parser, typed)
            options.began = began
            code = options.run(options)
        except SystemExit:  # of --help
            _flush()
            raise
        _flush()
    except GbuqError as error:
        _tell(str(error))
        return BAD_INPUT
    except (KeyboardInterrupt, Cancelled) as stopped:
        _tell(STOPPED if isinstance(stopped, Cancelled) else str(stopped) or STOPPED)
        return INTERRUPTED
    except BrokenPipeError:
        _give_up(sys.stdout, sys.stderr)
        return NOBODY_READS
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        _give_up(sys.stdout)
        _tell(f"The output cannot be written ({error.strerror}): choose another place for it.")
        return BAD_INPUT
    return int(code or 0)


def _flush() -> None:
    if sys.stdout is not None:  # it may be closed
        sys.stdout.flush()


def _tell(sentence: str) -> None:
    with suppress(OSError):  # then the exit code tells
        print(sentence, file=sys.stderr)


def _give_up(*streams: TextIO | None) -> None:
    """Let Python, when it ends, have nothing to complain about that cannot be written."""
    for stream in streams:
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence, like all others."""

    def print_help(self, file: Any = None) -> None:
        """Print the help; argparse itself says nothing where that cannot be written."""
        out = sys.stdout if file is None else file
        if out is not None:
            out.write(self.format_help())

    def error(self, message: str) -> NoReturn:
        """Print a complaint and leave."""
        sentence = message[:1].upper() + message[1:].rstrip(".")
        print(f"{sentence}; see --help.", file=sys.stderr)
        raise SystemExit(BAD_INPUT)


def build_parser(prog: str, version: str) -> Parser:
    """The parser of all commands; a command's function is in ``run`` of what it reads."""
    parser = Parser(
        prog=prog, description="Uncertainty in tree ensembles.", epilog=_EXIT_CODES + "."
    )
    parser.add_argument("--version", action="version", version=f"gbuq {version}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    for add_command in _COMMANDS:
        add_command(commands)
    parser.set_defaults(parser=parser)
    return parser


def _parse(parser: Parser, typed: list[str]) -> argparse.Namespace:
    """What the line and the settings file that it may name say."""
    check_words(parser, typed)
    commands = parsers_of(parser)
    if not typed or typed[0] not in commands:
        return parser.parse_args(typed)
    command, *rest = typed
    check_given_once(commands[command], rest)
    settings = read_settings(commands[command], command, rest, commands)
    words = [*settings.words, *rest]
    options = parser.parse_args([command, *words])
    options.typed = typed_options(commands[command], words)
    for name, value in settings.files.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    check_combination(options)
    return options
