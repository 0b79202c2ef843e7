"""How sentences to the user name columns, values and counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_LONGEST_NAME = 40


def shown(value: object) -> str:
    """A name or value as a sentence shows it: quoted, on one line, cut after 40 characters.

    Examples
    --------
    >>> shown("price")
    '"price"'
    """
    text = " ".join(str(value).split())
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return f'"{text}"' if len(text) <= _LONGEST_NAME else f'"{text[:_LONGEST_NAME]}..."'


def listed(values: Iterable[object], limit: int = 5) -> str:
    """Several names or values in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"], limit=2)
    '"a", "b" and 1 more'
    """
    texts = [shown(value) for value in values]
    if len(texts) > limit:
        return f"{', '.join(texts[:limit])} and {len(texts) - limit:,} more"
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(20000, "row")
    ('1 row', '20,000 rows')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def columns_named(names: Sequence[object]) -> str:
    """One or several columns as the subject of a sentence.

    Examples
    --------
    >>> columns_named(["a"]), columns_named(["a", "b"])
    ('The column "a"', 'The columns "a" and "b"')
    """
    return f"The column{'s' if len(names) > 1 else ''} {listed(names)}"
