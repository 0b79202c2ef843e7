"""How results are written: numbers, shares, seconds, sizes, CSV files and Markdown tables.

Pages, figures, experiments, demos and benchmarks write with these functions, so that a number
looks the same wherever it stands.
"""

from __future__ import annotations

import csv
import math
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import SupportsFloat

NONE = "\u2013"  # stands where there is no number
_PLAIN_UP_TO = 1e9  # from here on numbers have an exponent
_PLAIN_FROM = 1e-4  # and below here
_LONGEST_NAME = 40
_MOST_DECIMALS = 17

# What makes a spreadsheet run a cell, also in full-width letters and behind blanks, which some
# spreadsheets drop. A plain number in a text cell, such as -5, runs nothing and stays as it is.
# Both patterns mean the same to Python and to Arrow.
LIVE_CELL = "^(?:[\\t\\r]|[ \\t\\n\\r\\f\\v]*[=+\\-@\uff1d\uff0b\uff0d\uff20])"
PLAIN_NUMBER = "^[+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?$"


def digits(value: SupportsFloat | None, places: int = 3, sign: str = "") -> str:
    """A number to some significant digits, as a table shows it: with the zeros at its end."""
    number = math.nan if value is None else float(value)
    if math.isnan(number):
        return NONE
    if math.isinf(number):
        return "\u2212\u221e" if number < 0 else f"{sign}\u221e"
    if number == 0:
        return "0"
    rounded = f"{number:{sign}.{places - 1}e}"
    if not _PLAIN_FROM <= abs(float(rounded)) < _PLAIN_UP_TO:
        return rounded
    decimals = max(0, places - 1 - int(rounded.partition("e")[2]))
    return f"{float(rounded):{sign},.{decimals}f}"


def decimal(value: SupportsFloat | None, decimals: int, sign: str = "") -> str:
    """A number with so many decimals, so that numbers of one kind end in the same place.

    Takes what `digits` takes, and decimals instead of significant digits.
    """
    number = math.nan if value is None else float(value)
    if not math.isfinite(number):
        return digits(number, sign=sign)
    return f"{round(number, decimals) + 0.0:{sign},.{decimals}f}"  # no minus zero


def short(value: SupportsFloat | None, places: int = 3, sign: str = "") -> str:
    """A number to some significant digits, as a sentence shows it: without zeros at its end.

    Takes what `digits` takes.
    """
    number, exponent, power = digits(value, places, sign).partition("e")
    return (number.rstrip("0").rstrip(".") if "." in number else number) + exponent + power


def written_apart(
    values: Sequence[float], places: int = 3, write: Callable[[float, int], str] = digits
) -> list[str]:
    """Numbers with so many significant digits, or as many as tell different ones apart.

    >>> written_apart([20100.2, 20100.4]), written_apart([0.5, 0.5])
    (['20,100.2', '20,100.4'], ['0.500', '0.500'])
    """
    n_distinct = len(set(values))
    for more in range(places, _MOST_DECIMALS):
        texts = [write(value, more) for value in values]
        if len(set(texts)) == n_distinct:
            return texts
    return [write(value, _MOST_DECIMALS) for value in values]


def number_between(low: float, high: float, ends: bool = False) -> float:
    """A number of few decimals within (low, high], as close to the middle as they allow.

    >>> number_between(3.4817, 3.6142), number_between(3.0, 4.0), number_between(3.0, 4.0, True)
    (3.5, 4.0, 3.5)
    """
    middle, largest = low / 2 + high / 2, max(abs(low), abs(high))
    first = -math.floor(math.log10(largest)) if largest > 0.0 else 0
    for decimals in range(min(first, 0), _MOST_DECIMALS + max(first, 0)):
        value = round(middle, decimals)
        if (low <= value < high) if ends else (low < value <= high):
            return value + 0.0  # no minus zero
    return low if ends else high


def percent(share: SupportsFloat | None, decimals: int | None = None) -> str:
    """A share in per cent: to three significant digits, or with so many decimals."""
    number = math.nan if share is None else float(share)
    if not math.isfinite(number):
        return NONE
    if decimals is not None:
        return f"{100 * number:,.{decimals}f} %"
    # Rounded before it is scaled: 0.6025 lies above its half, 60.25 on it.
    return f"{digits(100 * float(f'{number:.3g}'))} %"


def seconds_text(seconds: float) -> str:
    """A duration: two significant digits below a minute, then minutes and seconds."""
    if seconds < 59.5:
        return f"{short(max(seconds, 0.001), 2)} s"
    return f"{int(seconds + 0.5) // 60} min {int(seconds + 0.5) % 60} s"


def format_bytes(size: float) -> str:
    """A size with its unit."""
    if size < 1e9:
        return f"{short(size / 1e6)} MB"
    return f"{size / 1e9:.2g} GB" if size < 1e11 else f"{size / 1e9:,.0f} GB"


def megabytes(size: float | None) -> str:
    """A size in megabytes, for a column that names the unit."""
    if size is None:
        return NONE
    return "< 0.001" if size < 1000 else digits(size / 1e6)


def csv_text(names: Sequence[str], rows: Iterable[Iterable[object]], places: int = 9) -> str:
    r"""A CSV file: comma-separated, a decimal point, a line feed after each line.

    Only cells that need quotes have them, as Python's `csv` decides. Texts and names that a
    spreadsheet would run begin with an apostrophe (`harmless`).
    """
    lines: list[str] = []
    # Carriage returns are quoted only where lines end with them.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    writer.writerow([harmless(name) for name in names])
    writer.writerows([_cell(value, places) for value in row] for row in rows)
    return "".join(f"{line[:-2]}\n" for line in lines)


def _cell(value: object, places: int) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
        return str(bool(value))
    if hasattr(value, "__index__"):
        return str(int(value))
    number = float(value)  # type: ignore[arg-type]
    return "" if math.isnan(number) else f"{number:.{places}g}"


def harmless(text: str) -> str:
    """The text, with an apostrophe in front where a spreadsheet would run it as a formula."""
    live = re.search(LIVE_CELL, text) and not re.fullmatch(PLAIN_NUMBER[1:-1], text)
    return f"'{text}" if live else text


def markdown_table(rows: Sequence[Sequence[str]], align: str = "lr") -> str:
    r"""A Markdown table, headings first.

    Cells may hold Markdown, such as ``**bold**``; bars, backslashes and line breaks in them stay
    inside.
    """
    marks = {"l": ":--", "r": "--:"}
    letters = align + align[-1] * len(rows[0])
    head, *body = (f"| {' | '.join(map(_in_a_cell, row))} |" for row in rows)
    rule = f"|{'|'.join(marks[letters[column]] for column in range(len(rows[0])))}|"
    return "\n".join([head, rule, *body])


def _in_a_cell(text: str) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").splitlines())


def shown(value: object) -> str:
    """A name or value as a sentence shows it: quoted, on one line, cut after 40 characters."""
    text = " ".join(str(value).split())
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return f'"{text}"' if len(text) <= _LONGEST_NAME else f'"{text[:_LONGEST_NAME]}..."'


def one_line(text: str, most: int = 40) -> str:
    """A user's text on one line of at most ``most`` characters.

    >>> one_line("blood  pressure (mm Hg)", 12)
    'blood press\u2026'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}\u2026"


def listed(values: Iterable[object], limit: int = 5) -> str:
    """Several names or values in a sentence, those that look alike `told_apart`."""
    words = [str(value) for value in values]
    texts = told_apart(words[:limit])
    if len(words) > limit:
        return f"{', '.join(texts)} and {len(words) - limit:,} more"
    return enumerated(texts)


def told_apart(words: Iterable[str]) -> list[str]:
    """Words as `shown`, with what nobody sees of them where several look alike.

    >>> told_apart(["Nelson 2", "Nelson\u00a0 2", "nelson 2"])
    ['"Nelson 2"', '"Nelson 2" (no-break space, 2 blanks in a row)', '"nelson 2"']
    """
    words = list(words)
    seen = ["".join(c for c in word if c.isprintable() or c.isspace()) for word in words]
    seen = [shown(unicodedata.normalize("NFC", word)) for word in seen]
    return [
        f"{text} ({', '.join(_unseen(word))})" if seen.count(text) > 1 and _unseen(word) else text
        for word, text in zip(words, seen, strict=True)
    ]


def _unseen(word: str) -> list[str]:
    odd = [
        unicodedata.name(letter, f"U+{ord(letter):04X}").lower()
        for letter in dict.fromkeys(word)
        if (letter != " " and not letter.isprintable())
        or unicodedata.combining(letter)
        or unicodedata.normalize("NFC", letter) != letter
    ]
    runs = [f"{len(blanks)} blanks in a row" for blanks in re.findall(r"\s{2,}", word.strip())]
    return [*odd, *dict.fromkeys(runs)]


def enumerated(words: Sequence[str]) -> str:
    """Words in a sentence, with "and" before the last one.

    >>> enumerated(["4"]), enumerated(["4", "7", "9"])
    ('4', '4, 7 and 9')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


_SMALL = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def number_word(number: int) -> str:
    """A whole number as a sentence has it: small ones in letters.

    >>> number_word(5), number_word(20)
    ('five', '20')
    """
    return _SMALL[number - 1] if 1 <= number <= len(_SMALL) else f"{number:,}"


def share_word(share: float) -> str:
    """A share as a sentence has it.

    >>> [share_word(share) for share in (1.0, 0.93, 0.85, 0.52, 0.3, 0.01)]
    ['all', 'almost all', 'most', 'half', 'a third', 'a little']
    """
    for least, word in ((0.995, "all"), (0.9, "almost all"), (0.8, "most")):
        if share >= least:
            return word
    if share < 0.08:
        return "a little"
    return min(_FRACTIONS, key=lambda word: abs(_FRACTIONS[word] - share))


_FRACTIONS = {
    "three quarters": 3 / 4,
    "two thirds": 2 / 3,
    "half": 1 / 2,
    "a third": 1 / 3,
    "a quarter": 1 / 4,
    "a fifth": 1 / 5,
    "a tenth": 1 / 10,
}


def columns_named(names: Sequence[object]) -> str:
    """One or several columns as the subject of a sentence.

    >>> columns_named(["a"]), columns_named(["a", "b"])
    ('The column "a"', 'The columns "a" and "b"')
    """
    return f"The column{'s' if len(names) > 1 else ''} {listed(names)}"


class Tally:
    """A count that several threads add to: how many fits a process has finished.

    A knob of the view must leave it as it is, and a test can ask.
    """

    def __init__(self) -> None:
        self._lock, self._count = threading.Lock(), 0

    def add(self) -> None:
        """Count one more."""
        with self._lock:
            self._count += 1

    def count(self) -> int:
        """How many there are by now."""
        return self._count
