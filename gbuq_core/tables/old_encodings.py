"""Which encoding a text has that is no UTF-8, by the letters that it would hold."""

from __future__ import annotations

import codecs
import re
from itertools import pairwise

_SAMPLE_BYTES = 2**16
_FEWEST_IN_LATIN = 0.5  # of the runs of bytes beyond ASCII, that stand alone or beside a letter
_FEWEST_BYTES = 4  # beyond ASCII, below which two bytes in a row are no letter of Asia
_SURELY_LATIN = 0.9  # of the letters, that are usual in one language
_FEWEST_USUAL = 0.5  # of the letters, that are frequent ones of a script
_MOST_CHAOS = 0.15  # of charset-normalizer's measure, from 0 to 1
_MULTIBYTE = ("gb18030", "big5", "cp932", "cp949", "euc_jp")
_RUNS = re.compile(rb"([A-Za-z]?)([\x80-\xff]+)([A-Za-z]?)")

# What the letters beyond ASCII are in some languages, by the encoding that they are written in.
_WESTERN = ("àâæçéèêëîïôùûüœÿ", "äöüß", "áéíñóúü", "ãáàâçéêíóõôú", "åäöéæø", "àèéìòù")
_CENTRAL = ("áčďéěíňóřšťúůýž", "ąćęłńóśźż", "áéíóöőúüű", "čćđšž", "ăâîşţ", "áäčďéíĺľňóôŕšťúýž")
_LATIN = (
    ("cp1252", _WESTERN),
    ("cp1250", _CENTRAL),
    ("iso8859_2", _CENTRAL),
    ("cp1254", ("çğıi̇öşüâî",)),
    ("mac_roman", _WESTERN),
    ("cp1252", ("þðáéíóúýæö",)),
    ("latin-1", _WESTERN),
    ("cp850", _WESTERN),
    ("cp437", _WESTERN),
    ("cp852", _CENTRAL),
    ("cp1257", ("āčēģīķļņšūž", "ąčęėįšųūž")),
)
_SCRIPTS = {
    "cp1251": "оеаинтсрвлкмдпу",
    "koi8_r": "оеаинтсрвлкмдпу",
    "cp866": "оеаинтсрвлкмдпу",
    "mac_cyrillic": "оеаинтсрвлкмдпу",
    "cp1253": "αοιετσνηυρπκμλςά",
    "cp1255": "יוהלאתרבמשנ",
    "cp1256": "اليمونتربةعدسف",
    "cp874": "านรอกเงมยลวดทสบตคขหพปแ่้ัีิุู",
}


def guess_encoding(data: bytes) -> str:
    r"""The likely encoding of a text that is no UTF-8; cp1252 or latin-1 where nothing tells.

    >>> guess_encoding("город,цена\nМосква,1\nСамара,2\n".encode("cp1251"))
    'cp1251'
    >>> guess_encoding("Orléans,1\nNîmes,2\n".encode("cp1252"))
    'cp1252'
    """
    sample = data[:_SAMPLE_BYTES]
    if len(sample) < len(data):
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    runs = _RUNS.findall(sample)
    alone = sum(bool(before or after or len(run) == 1) for before, run, after in runs)
    is_latin = alone >= _FEWEST_IN_LATIN * len(runs)
    latin, languages = max(_LATIN, key=lambda pair: _like(sample, *pair))
    if is_latin and _like(sample, latin, languages) > _SURELY_LATIN:
        return latin
    enough = sum(len(run) for _, run, _ in runs) >= _FEWEST_BYTES
    if enough and (encoding := _multibyte(sample)):
        return encoding
    if not is_latin:
        encoding = max(_SCRIPTS, key=lambda name: _like(sample, name, (_SCRIPTS[name],)))
        if _like(sample, encoding, (_SCRIPTS[encoding],)) > _FEWEST_USUAL:
            return encoding
    return latin


def _multibyte(sample: bytes) -> str:
    """The encoding of Chinese, Japanese or Korean text; empty for others."""
    from charset_normalizer import from_bytes

    # Much Chinese is valid Thai, but hardly any Thai is valid Chinese.
    others = {*_SCRIPTS, *dict(_LATIN)} - {"cp874"}
    match = from_bytes(sample, cp_isolation=[*_MULTIBYTE, *sorted(others)]).best()
    if match is None or match.encoding not in _MULTIBYTE or match.chaos > _MOST_CHAOS:
        return ""
    return str(match.encoding)


def _like(sample: bytes, encoding: str, languages: tuple[str, ...]) -> float:
    """The share of letters beyond ASCII that one of the languages often has."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return -1.0
    letters = [letter for letter in text if letter > "\x7f"]
    if any(letter < "\xa0" for letter in letters):
        return -0.5  # control characters
    marks = "".join(languages)  # which some scripts have above letters
    words = [letter.lower() for letter in letters if letter.isalpha() or letter in marks]
    n_odd = sum(
        not letter.isalpha() and letter not in marks and letter not in "°€’‘“”–—«»„…²³§\xa0№"
        for letter in letters
    )
    if not words:
        return 0.0
    usual = max(sum(letter in language for letter in words) for language in languages)
    # A capital after a small letter: another encoding of the same alphabet.
    mixed = sum(a.islower() and b > "\x7f" and b.isupper() for a, b in pairwise(text))
    return (usual - mixed) / (len(words) + n_odd)


def _read_stray(error: UnicodeError) -> tuple[str, int]:
    """A byte of Windows-1252 in a text of UTF-8."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    stray = error.object[error.start : error.end]
    return "".join(bytes([byte]).decode("cp1252", "replace") for byte in stray), error.end


STRAY = "gbuq_stray"  # how codecs handle errors: a byte that is no UTF-8 is one of Windows-1252
codecs.register_error(STRAY, _read_stray)
