"""Dates in words of many languages: their months, weekdays and halves of the day."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import Path

_WORDY = re.compile(r"[^\W\d_]{2}|[^\x00-\x7f]|^'|\d h")
# From Devanagari to Thai, whose vowels are marks beside letters.
_INDIC = "(?:(?!\\d)[\u0900-\u0e7f])"
_FIRST_WORD = re.compile(rf"[^\W\d_](?:[\w-]|{_INDIC}){{1,14}}(?=\.?,? )")
_WORDS = re.compile(rf"{_INDIC}{{2,14}}|مه|[^\W\d_]{{3,12}}")
# The months of 70 languages in the Unicode CLDR (Unicode License V3; babel's Locale(...).months),
# long and short, without accents, each month on a line. Croatian is not there, whose listopad is
# October and not November.
_MONTHS = Path(__file__).with_name("months.txt")


@lru_cache(maxsize=1)
def _month_words() -> dict[str, int]:
    """Names of months, and their beginnings of three letters or more that mean one month only."""
    begins: dict[str, int] = {}
    lines = _MONTHS.read_text("utf-8").splitlines()
    whole = {word: month for month, words in enumerate(lines, 1) for word in words.split()}
    for word, month in whole.items():
        for end in range(3, len(word)):
            begin = word[:end]
            begins[begin] = month if begins.get(begin, month) == month else 0
    return {word: month for word, month in (begins | whole).items() if month}


_ENGLISH = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


_ERAS = {"昭和": 1925, "平成": 1988, "令和": 2018}  # the years before they began


def _year_of_era(year: re.Match[str]) -> str:
    return f"{_ERAS[year[1]] + int(year[2].replace('元', '1'))}年"


def _numbered(month: str) -> str:
    number = int(month) if month.isdecimal() else _HAN.index(month) + 1
    return _ENGLISH[number - 1] if 1 <= number <= 12 else month


def _unless_a_month(word: re.Match[str]) -> str:
    return word[0] if month_number(word[0]) else ""


# What stands beside the numbers and the month in other languages: weekdays behind, words for year,
# day and hour, and halves of the day before the hour.
_THAI = [
    "ม.ค.",
    "ก.พ.",
    "มี.ค.",
    "เม.ย.",
    "พ.ค.",
    "มิ.ย.",
    "ก.ค.",
    "ส.ค.",
    "ก.ย.",
    "ต.ค.",
    "พ.ย.",
    "ธ.ค.",
]
_HAN = ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"]
_AS_ELSEWHERE = (
    ("،", ","),
    ("[\u200e\u200f\u061c׳॰]", ""),
    (r"(?<=\d) ?ص(?!\w)", " AM"),
    (r"(?<=\d) ?م(?!\w)", " PM"),
    ("|".join(map(re.escape, _THAI)), lambda word: _ENGLISH[_THAI.index(word[0])]),
    (r"(?<=[\u0e00-\u0e7f.c-z] )(?:พ\.ศ\. ?)?(2[45]\d\d)", lambda y: str(int(y[1]) - 543)),
    (r" (?:ค\.ศ\. ?|ปี )(?=\d)", " "),
    (r"(?i)^(?:(?:chủ nhật|thứ \w+),? )?(?:ngày )?(?=\d|tháng)", ""),
    (r"^(\d\d?:[\d:]+) (.* th(?:áng|g) .*)", r"\2 \1"),
    (r"(?i)(?:tháng|thg)\.? ?(\d\d?)(?:, | năm |/| |-)(?=\d)", lambda m: _numbered(m[1]) + " "),
    (r"^(?:[^\W\d]+, )?(\d{4})\.? (?:gada|ж|թ)\.?,? (\d{1,2})\.? ([^\W\d_]+\.?)", r"\2 \3 \1"),
    (r"(?<=\d{4}) թ\.", ""),
    (r"(?<=\d)(?:st|nd|rd|th)\b", ""),
    (r"(?<=\d) d['’]ag(?:\.|(?!\w))", " Aug"),
    (r"(?i)(?<=\d) (?:de|den|del) (?=\w)|(?<=[.\w]) del? (?=\d)|(?<=\d) d['’](?=\w)", " "),
    (r"(?<=\d) ?(?:г|год[ау]?|року|р|m|d)\.?(?=$|,? )", ""),
    (r"(?<=\d)(?:\.?,|\.?) (?![A-Z]{3,4}$)[^\W\d_][\w-]{2,14}$", _unless_a_month),
    (r"(?<=[ .]\d{4})\.(?=$| \d)", ""),
    (r"(?<=\d) ?π\.?μ\.?", " AM"),
    (r"(?<=\d) ?μ\.?μ\.?", " PM"),
    (r"(?<=\d{4}),? (?:(?!\d)\w+\.? ){1,2}(?=\d{1,2}[:.]\d\d)", " "),
    (r"(\d{1,2})\s?h\s?(\d\d?)(?: ?min)?(?: ?(\d\d?) ?s)?", r"\1:\2:\3"),
    (r":(?=$|[^\d])", ""),
    (r"(?<=:\d\d) ?(?:Uhr|h|ч)\.?$", ""),
)
_IN_ASIA = (
    (
        r"^(\d{1,2}[- ])?(\d{1,2}|[一二三四五六七八九]|十[一二]?)[月월](?=[- ]*\d{2,4}$)",
        lambda date: f"{date[1] or ''}{_numbered(date[2])}",
    ),
    (r"(昭和|平成|令和) ?(\d+|元)年", _year_of_era),
    (r" ?[(（][月火水木金土日월화수목금토일](?:曜日?|요일)?[)）]", ""),
    (r" ?(?:[月火水木金土日]曜日?|(?:星期|[周週])[一二三四五六日天]|[월화수목금토일]요일)", ""),
    (r"(?<=[年月년월]) (?=\d)", ""),
    (r"(?<=\d)号", "日"),
    (r"(?<=[時时點点시分분])( ?)(\d)(?=[分분秒초])", r"\g<1>0\2"),
    (r"(\d{1,2})[時时點点시] ?(\d{1,2})[分분](?: ?(\d{1,2})[秒초])?", r"\1:\2:\3"),
    (r":$", ""),
    (r"[ ,]*(?:午前|上午|오전) ?(\d{1,2}:[\d:]+)", r" \1 AM"),
    (r"[ ,]*(?:午後|下午|오후) ?(\d{1,2}:[\d:]+)", r" \1 PM"),
    (r"(?<=[日일]) ?(?=\d)", " "),
)
_IS_IN_ASIA = re.compile("[年月日午周星년월오]")
# Most dates with English months need none of it.
_IS_ELSEWHERE = re.compile(
    r"[^\x00-\x7f]|\d(?:st|nd|rd|th)\b|[.\w] d[e']|\d ?[md]\b|\d{4}\.?,? [^\W\d]|\d\.?,? [\w-]{3,}$"
    r"|\d\s?h|:\d\d ?Uhr|\d{4}\.(?: |$)"
)


def plain_date(text: str) -> str:
    """A date with English months, without the name of its weekday."""
    if not _WORDY.search(text):
        return text
    text = text.lstrip("'\u2019")
    if _IS_ELSEWHERE.search(text):
        for pattern, written in _IN_ASIA if _IS_IN_ASIA.search(text) else _AS_ELSEWHERE:
            text = re.sub(pattern, written, text)
    for _ in range(2):  # Sonntag, den
        first = _FIRST_WORD.match(text)
        rest = text[first.end() :].lstrip("., ") if first else ""
        if first and (not _month(first[0]) or any(map(_month, _WORDS.findall(rest)))):
            text = rest
    return _WORDS.sub(lambda word: _month(word[0]) or word[0], text)


def _month(word: str) -> str:
    """The English name of a month, or nothing."""
    number = month_number(word)
    return _ENGLISH[number - 1] if number else ""


@lru_cache(maxsize=4096)
def month_number(word: str) -> int:
    """Which month a word names; 0 for other words."""
    letters = [
        letter
        for letter in unicodedata.normalize("NFKD", word.lower())
        if not unicodedata.combining(letter)
    ]
    return _month_words().get("".join(letters).replace("ı", "i").strip(" ."), 0)
