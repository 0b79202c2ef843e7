"""Which encoding a text has that is no UTF-8, by the letters that it would hold."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path

_SAMPLE_BYTES, _TELLING_BYTES = 2**16, 2**13  # the latter of lines with letters beyond ASCII
# Of the bytes of words with a letter beyond ASCII; languages of Latin letters have fewer of these.
_DENSE = 0.4
_WORD = re.compile(rb"[A-Za-z]*[\x80-\xff][A-Za-z\x80-\xff]*")
# What stands beside numbers and words of any language.
_ONLY_SIGNS = re.compile(
    "(?:[\x00-\x7f]|[°€’‘“”„…²³§\xa0№µ±·×¼½¾©®™•£¥¢¹«»–—¿¡ºª]{1,2}(?![^\x00-\x7f]))*"
)
_FREE_SIGN = re.compile(
    r"[’‘–—…\xa0]|(?<![^\W\d_])[°€“”„²³§№«»]|[°€“”„²³§№«»](?![^\W\d_])|µ(?=[A-Za-z]\b)"
    r"|(?<![^\W\d_])[µ±·×¼½¾©®™•£¥¢¹](?![^\W\d_])|(?<!\w)[¿¡]+(?=[A-ZÁÉÍÓÚ])|(?<=\d)[ºª]"
    r"|(?<=\b[NnAa])[ºª]\b"
)
_LATIN_BESIDE = re.compile(r"[A-Za-z](?=[^\x00-\x7f])|(?<=[^\x00-\x7f])[A-Za-z]")

# What the letters beyond ASCII are in some languages, by the encoding that they are written in.
_WESTERN = ("àâæçéèêëîïôùûüœ", "äöüß", "áéíñóúü", "ãáàâçéêíóõôú", "åäöéæø", "àèéìòù", "äöõü")
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
# Letters that stand elsewhere in western languages: Poznañ, Gyõr, Iaºi.
_ODD_IN_WESTERN = re.compile(r"ñ(?![aeiouáéíóúü])|õ(?=[^\We])|ã(?=[^\Woes])|û(?=[^\Wrtvcemnls])")
_CYRILLIC = ("оеаинтсрвлкмдпу", "яыьгзбчйхжшюцщэфёъі")
# The letters of a script, frequent ones and others.
_SCRIPTS = {
    **dict.fromkeys(("cp1251", "koi8_r", "cp866", "mac_cyrillic"), _CYRILLIC),
    "cp1253": ("αοιετσνηυρπκμλςάέίόύ", "γδθβφχωζξψήώϊ"),
    "cp1255": ("יוהלאתרבמשנ", "דחקעפצטכגסזםןךףץ"),
    "cp1256": ("اليمونتربةعدسف", "حقكجشصخزغطضذظءأإئؤىث"),
    "cp874": ("านรอกเงมยลวดทสบตคขหพปแ่้ัีิุู", "ะึืำไใโชผจถญซฝฟธษศณภฉฮ็์ๆ"),
    "iso8859_5": _CYRILLIC,
}
# Of Asia: a character set of the usual letters, in whose codes these begin below a byte.
_ASIAN = {
    "cp932": ("japanese", "euc_jp", 0xCF),
    "euc_jp": ("japanese", "euc_jp", 0xCF),
    "cp949": ("cp949", "euc_kr", 0xC8),
    "gb18030": ("gb18030", "gb2312", 0xD7),
    "big5": ("big5", "big5", 0xC6),
}
_USUAL, _HALF_WIDE = 0.5, 0.7  # the weights of letters that are not the frequent ones


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
    lines = [line for line in sample.split(b"\n") if not line.isascii()]
    sample = b"\n".join(lines[:: 1 + sum(map(len, lines)) // _TELLING_BYTES])
    words = b"".join(_WORD.findall(sample))
    density = sum(byte > 0x7F for byte in words) / max(1, len(words))
    latin, languages = max(_LATIN, key=lambda pair: _like(sample, *pair))
    high = bytes({*sample} - {*range(128)})
    if high.decode(latin, "ignore") == high.decode("cp1252", "ignore"):
        latin = "cp1252"
    if density < _DENSE or _ONLY_SIGNS.fullmatch(sample.decode("cp1252", "replace")):
        return latin
    likely = {latin: _like(sample, latin, languages) * min(1.0, 1.05 + _DENSE - density)}
    for encoding in _SCRIPTS:
        likely[encoding] = _like_script(sample, encoding)
    for encoding in _ASIAN:
        likely[encoding] = _like_asian(sample, encoding)
    return max(likely, key=lambda encoding: likely[encoding])


def _decoded(sample: bytes, encoding: str) -> str | None:
    """The text; nothing where it would hold what is no letter of it."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if any("\x7f" < letter < "\xa0" for letter in text) else text


def _like(sample: bytes, encoding: str, languages: tuple[str, ...]) -> float:
    """The share of letters beyond ASCII that one of the languages often has."""
    text = _decoded(sample, encoding)
    if text is None:
        return -1.0
    letters = Counter(letter for letter in _FREE_SIGN.sub("", text).lower() if letter > "\x7f")
    if not letters:
        return 1.0
    usual = max(sum(letters[letter] for letter in language) for language in languages)
    n_odd = _n_mixed(text)
    if languages is _WESTERN and not {"ä", "ü"} <= {*letters}:  # Estonian has õ anywhere
        n_odd += len(_ODD_IN_WESTERN.findall(text.lower()))
    return (usual - n_odd) / letters.total()


def _n_mixed(text: str) -> int:
    """Capitals beyond ASCII within words that have small letters: another encoding of these."""
    return sum(
        letter > "\x7f" and letter.isupper()
        for word in re.findall(r"[^\W\d_]+", text)
        if not word.isupper()
        for letter in word[1:]
    )


def _like_script(sample: bytes, encoding: str) -> float:
    """The mean weight of letters beyond ASCII in a script."""
    text = _decoded(sample, encoding)
    if text is None:
        return -1.0
    text = _FREE_SIGN.sub("", text)
    letters = Counter(letter for letter in text.lower() if letter > "\x7f")
    frequent, others = _SCRIPTS[encoding]
    n_frequent, n_other = (sum(letters[one] for one in every) for every in (frequent, others))
    n_odd = _n_mixed(text) + len(_LATIN_BESIDE.findall(text))
    return (n_frequent + _USUAL * n_other - n_odd) / max(1, letters.total())


@lru_cache(maxsize=1)
def _frequent_letters() -> dict[str, str]:
    lines = Path(__file__).with_name("frequent_letters.txt").read_text("utf-8").splitlines()
    return dict(line.split(" ") for line in lines)


def _like_asian(sample: bytes, encoding: str) -> float:
    """The mean weight of letters beyond ASCII in an encoding of Chinese, Japanese or Korean."""
    text = _decoded(sample, encoding)
    if text is None:
        return -1.0
    language, usual, last = _ASIAN[encoding]
    frequent = _frequent_letters()[language]
    if encoding == "gb18030":  # which has the letters of Taiwan, too
        frequent += _frequent_letters()["big5"]
    letters = Counter(letter for letter in text if letter > "\x7f")

    def weight(letter: str) -> float:
        if letter in frequent or (language == "japanese" and "\u3041" <= letter <= "\u30ff"):
            return 1.0
        if language == "japanese" and "\uff66" <= letter <= "\uff9f":  # half as wide
            return _HALF_WIDE
        code = letter.encode(usual, "ignore")
        first = 0xA4 if usual == "big5" else 0xB0
        return _USUAL if len(code) == 2 and first <= code[0] <= last else 0.0

    return sum(n * weight(letter) for letter, n in letters.items()) / max(1, letters.total())


def _read_stray(error: UnicodeError) -> tuple[str, int]:
    """A byte of Windows-1252 in a text of UTF-8."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    stray = error.object[error.start : error.end]
    return "".join(bytes([byte]).decode("cp1252", "replace") for byte in stray), error.end


STRAY = "gbuq_stray"  # how codecs handle errors: a byte that is no UTF-8 is one of Windows-1252
codecs.register_error(STRAY, _read_stray)
