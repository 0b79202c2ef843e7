"""Commands and options that do not exist: each is named, with the nearest one that does."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import NoReturn

from gbuq_core.commands.text_table import printable
from gbuq_core.errors import InvalidParameter


def check_words(parser: argparse.ArgumentParser, typed: Sequence[str]) -> None:
    """Refuse the first word that nothing matches, before what is missing is told."""
    commands = parsers_of(parser)
    words = iter(typed)
    for word in words:
        if word in commands:
            check_options(commands[word], f"{parser.prog} {word}", words)
            return
        if not word.startswith("-"):
            _refuse("command", word, commands, parser.prog)
        check_options(parser, parser.prog, [word])


def check_options(parser: argparse.ArgumentParser, command: str, typed: Iterable[str]) -> None:
    """Refuse the first option that a command does not have, or that could be several."""
    known = parser._option_string_actions
    for word in typed:
        name = word.split("=", 1)[0]
        if word == "--":
            return
        if not word.startswith("-") or word == "-" or " " in word or name in known:
            continue
        if parser._negative_number_matcher.match(word):
            continue
        longer = [option for option in known if option.startswith(name)]
        if len({id(known[option]) for option in longer}) > 1:
            raise InvalidParameter(
                f"{name} is short for several options ({', '.join(longer)}): write the one "
                "that you mean."
            )
        if not longer:
            _refuse("option", name, known, command)


def _refuse(what: str, word: str, known: Iterable[str], command: str) -> NoReturn:
    from difflib import get_close_matches

    bare = {option.lstrip("-"): option for option in known}
    near = get_close_matches(word.lstrip("-"), bare, 1)
    advice = f"; did you mean {bare[near[0]]}?" if near else f": see {command} --help."
    raise InvalidParameter(f"There is no {what} {printable(word)}{advice}")


def parsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    commands: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            commands.update(action.choices)
    return commands
