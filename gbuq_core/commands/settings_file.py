"""Options from a TOML file: `--config FILE.toml`.

A table a command, and its keys are the command's options. They become words of the line, before
those that were typed, so that they are checked as typed ones are.

::

    [score]
    train = "rows.csv"
    target = "price"
    trees = 300
    drop = ["id", "comment"]
    conformal = true

    [score.kind]
    code = "category"
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gbuq_core.errors import InvalidParameter
from gbuq_core.presentation import shown

_MOST_BYTES = 1_000_000
_FLAG = 0  # of `Action.nargs`: an option without a value


class Settings(NamedTuple):
    """What a settings file says: words of the line, and files, which options do not name."""

    words: list[str]
    files: dict[str, str]


def read_settings(
    parser: argparse.ArgumentParser, command: str, typed: Sequence[str], known: Iterable[str]
) -> Settings:
    """The options of a settings file that the line names, less those that were typed."""
    path = _path_of(parser, typed)
    if path is None:
        return Settings([], {})
    on_line = typed_options(parser, typed)
    table = _table_of(Path(path), command, set(known))
    options = {_name(action): action for action in parser._actions if _name(action)}
    words: list[str] = []
    files: dict[str, str] = {}
    for key, value in table.items():
        name = key.replace("_", "-")
        if name not in options:
            raise InvalidParameter(
                f"{_file(path)} sets {shown(key)}, but gbuq {command} has no such option: see "
                f"gbuq {command} --help."
            )
        action = options[name]
        if not action.option_strings:
            files[action.dest] = _text(value, key, path)
        elif action.dest not in on_line:
            words += _words(action, name, value, path)
    return Settings(words, files)


def typed_options(parser: argparse.ArgumentParser, typed: Sequence[str]) -> frozenset[str]:
    """The options among some words, each by the name that its value has once it is read."""
    actions = (_matches(parser, word) for word in _before_dashes(typed))
    return frozenset(action.dest for action in actions if action is not None)


def check_given_once(parser: argparse.ArgumentParser, typed: Sequence[str]) -> None:
    """Refuse an option of one value that is given two: the last one would count alone."""
    words, given = _before_dashes(typed), dict[str, str]()
    for place, word in enumerate(words):
        action = _matches(parser, word)
        if action is None or action.nargs == _FLAG or isinstance(action, argparse._AppendAction):
            continue
        name, equals, value = word.partition("=")
        value = value if equals else next(iter(words[place + 1 :]), "")
        before = given.setdefault(action.dest, value)
        if before != value:
            raise InvalidParameter(
                f"{name} is given twice, as {shown(before)} and as {shown(value)}: give it once."
            )


def _name(action: argparse.Action) -> str:
    """What a settings file calls an option or a file; empty where it cannot set it."""
    if action.dest in ("help", "config", "peers"):  # a file of someone else must load no code
        return ""
    longs = [word[2:] for word in action.option_strings if word.startswith("--")]
    return longs[0] if longs else action.dest


def _matches(parser: argparse.ArgumentParser, word: str) -> argparse.Action | None:
    """The option that a typed word is, written in full or shortened."""
    name = word.split("=", 1)[0]
    if not name.startswith("--") or name == "--":
        return None
    actions = parser._option_string_actions
    if name in actions:
        return actions[name]
    longer = {id(action): action for text, action in actions.items() if text.startswith(name)}
    return next(iter(longer.values())) if len(longer) == 1 else None


def _before_dashes(typed: Sequence[str]) -> list[str]:
    words = list(typed)
    return words[: words.index("--")] if "--" in words else words


def _path_of(parser: argparse.ArgumentParser, typed: Sequence[str]) -> str | None:
    """The last settings file that is named; the parser complains of one without a name."""
    words, path = _before_dashes(typed), None
    for place, word in enumerate(words):
        action = _matches(parser, word)
        if action is not None and action.dest == "config":
            _, equals, rest = word.partition("=")
            path = rest if equals else next(iter(words[place + 1 :]), path)
    return path or None


def _table_of(path: Path, command: str, known: set[str]) -> Mapping[str, Any]:
    """The command's table in a settings file."""
    tables = _read(path)
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InvalidParameter(
                f"{_file(path)} sets {shown(name)} outside a table: write [{command}] above the "
                "options."
            )
        if name not in known:
            raise InvalidParameter(
                f"{_file(path)} has a table {shown(name)}, but gbuq has no such command: name "
                f"the table after a command, such as [{command}]."
            )
    if command not in tables:
        raise InvalidParameter(
            f"{_file(path)} has no table [{command}]: add one, or leave --config out."
        )
    return tables[command]


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        if not path.is_file():
            raise InvalidParameter(f"There is no settings file {_file(path)}: check --config.")
        if path.stat().st_size > _MOST_BYTES:
            raise InvalidParameter(f"{_file(path)} is too large for a settings file.")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameter(f"{_file(path)} is no valid TOML: {error}.") from None
    except UnicodeDecodeError:
        raise InvalidParameter(f"{_file(path)} is no text in UTF-8.") from None
    except RecursionError:
        raise InvalidParameter(f"{_file(path)} is nested too deeply.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidParameter):
            raise
        reason = getattr(error, "strerror", None) or "its name is impossible"
        raise InvalidParameter(
            f"{_file(path)} cannot be read ({reason}): check --config."
        ) from None


def _words(action: argparse.Action, name: str, value: Any, path: str) -> list[str]:
    """The words of the line that say the same."""
    if action.nargs == _FLAG:
        if not isinstance(value, bool):
            raise InvalidParameter(f"{_file(path)}: {name} must be true or false.")
        return [f"--{name}"] if value else []
    if isinstance(value, bool) and action.choices is not None and "yes" in action.choices:
        value = "yes" if value else "no"
    if isinstance(action, argparse._AppendAction):
        return [f"--{name}={text}" for text in _several(value, name, path)]
    if isinstance(value, list):
        value = ",".join(_text(item, name, path) for item in value)
    return [f"--{name}={_text(value, name, path)}"]


def _several(value: Any, name: str, path: str) -> list[str]:
    """The values of an option that may be given several times, some of them NAME=VALUE."""
    if isinstance(value, dict):
        return [f"{column}={','.join(_several(of, name, path))}" for column, of in value.items()]
    values = value if isinstance(value, list) else [value]
    return [_text(item, name, path) for item in values]


def _file(path: str | Path) -> str:
    return shown(Path(path).name)


def _text(value: Any, name: str, path: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    raise InvalidParameter(f"{_file(path)}: {name} must be a text or a number.")
