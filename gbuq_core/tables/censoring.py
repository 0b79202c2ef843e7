"""Times that may be cut off: whoever is still alive at the last look has a longer time than noted.

A column that says who had the event, beside a target that is a time, is known by its name and its
values: no test of the numbers can tell.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.presentation import enumerated, one_line, percent, shown
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.columns import as_categories, single_chunk
from gbuq_core.tables.files import Table
from gbuq_core.tables.splitting import name_words

_MOST_VALUES = 3  # such as 0, 1 and 2: alive, transplanted, dead
_FEWEST_TIMES = 10  # distinct ones
_FOLLOWS = 0.99  # correlation with a date or a part of it


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What the words of a target's name say: it is a time, an amount or a date in spite of that.
_SPANS = _words(
    "time times days weeks months years yrs hours hrs minutes mins seconds tenure survival "
    "duration lifetime lifespan longevity stay los futime followup followuptime survtime "
    "survivaltime timetoevent cycles rul spell lenfol tenor os pfs dfs rfs efs "
    "ttf tte ttp zeit dauer tage wochen monate jahre "
    "stunden überlebenszeit laufzeit lebensdauer temps durée duree jours semaines mois années "
    "annees survie tiempo duración duracion días dias meses años anos tempo giorni mesi anni tijd "
    "dagen maanden jaren czas dni miesiące lata время дней месяцев лет"
)
_SPAN = re.compile(
    r"(?:zeit|dauer|tijd|duur|tid|aika)$|süre|sağkal|idő|doba|přežit|χρόν|επιβίωσ|срок|生存|時間|时间|期間"
    "|期间|日数|天数|月数|시간|기간|생존"
)
_AMOUNTS = _words(
    "per avg average mean median rate cost price income salary sales revenue number num n count "
    "of monthly weekly daily hourly yearly share percent pct charge charges fee amount score "
    "calls"
)
# What a time before the first look ends with.
_STARTS = _words(
    "diagnosis onset entry baseline enrollment enrolment admission start birth surgery operation "
    "transplant marriage hire hiring inclusion randomization treatment first menarche 0"
)
_NO_SPANS = _words("overtime daytime nighttime parttime fulltime")
_AT = re.compile(r"(^|_)(age|years?|days?|months?)_(at|to|until|till)_|(^|_)t_?stop($|_)")
# What a column's name says that tells who had the event, and what may stand beside it.
_EVENT = _words(
    "e expire expired arrest arrested event events died dies dead death deaths deceased mortality "
    "alive survived living status vitalstatus censored censor censoring cens uncensored churn "
    "churned exited attrition quit left resigned terminated failed fail fails failure failures "
    "broke broken relapse relapsed recurred recurrence progressed progression observed delta "
    "fustat dropout defaulted cancelled canceled ereignis verstorben gestorben tot zensiert "
    "zensur ausgefallen gekündigt rückfall décès deces décédé decede mort évènement événement "
    "evenement censuré censure evento muerto muerte fallecido censurado recaída morto decesso "
    "overleden gebeurtenis zgon zdarzenie смерть умер событие divorced sold repaid prepaid prepay"
    " prepaid reemployed rehired eol fstat dstat"
)
# Deaths in more languages, by how their words begin, and what else is said without blanks.
_DIED = re.compile(
    r"^(?:muert|fallec|[oó]bit|tod$|tot$|exitus|død|död|dood|zmar|úmrt|umrt|smrt|öl[üu]|vefat|kuol|hal[aá]l"
    "|elhun|θάνατ|померл|смерт|decès|dece[sd])|死亡|사망|離職|离职|退職|解約|流失|이탈|해지|故障|고장"
)
_CUT = re.compile("打ち?切り|删失|刪失|중도절단")
# End points of trials, whose times and events have one name: OS.time and OS.
_POINTS = _words("os pfs dfs rfs efs dss dfi pfi ttp survival")
_BESIDE = _words(
    "in hospital is has was had did the flag ind indicator code label value yn bool dummy vital "
    "survival overall os pfs dfs rfs efs dss cens censor patient customer client employee machine "
    "engine unit device component occurred type time company follow up followup final last "
    "outcome d 0 1 reached"
)
# Names that may mean something else: they are times beside a column with a name such as these.
_SHORT = _words("t stop tstop day week month year hour tag woche monat jahr jour an día mes anno")
_SURE = _words("d e event arrest died dead death deceased censored censor cens delta status")
# Words of values: still at risk at the last look, and not.
_GOES_ON = _words(
    "0 no n false f alive living censored censor active open current stayed stays employed "
    "existing diseasefree working running survived lebt nein lebend zensiert vivant vivo non nee"
)
_ENDED = _words(
    "1 yes y true t terminated resigned cancelled canceled attrited inactive observed dead died "
    "deceased death event churned exited left failed failure relapsed relapse recurred uncensored "
    "observed closed progressed progression recurred recurrence sold tot verstorben ja "
    "décédé mort muerto oui si"
)
_ANSWERS = _words("0 1 yes no y n true false t f ja nein oui non si nee")
_NAMES_THOSE_WHO_GO_ON = _words("alive survived living censored censor cens censoring zensiert")


def censored_times(table: Table, prepared: Prepared) -> list[str]:
    r"""Say that a target is a time which a column says to be cut off in some rows; else nothing.

    Examples
    --------
    >>> from gbuq_core.tables import infer_schema, prepare_training, read_table
    >>> rows = "".join(f"{i % 23},{i % 3 > 0:d},{i * i % 97 + 1}\n" for i in range(90))
    >>> table = read_table(f"dose,died,days\n{rows}".encode())
    >>> print(*censored_times(table, prepare_training(table, infer_schema(table), "days")))
    "died" is 0 in 33.3 % of the rows. If their "days" ended with the last look and not with ...
    """
    name, y = prepared.target.name, prepared.y[prepared.known]
    if prepared.target.classes or not _is_time(name, y):
        return []
    is_short = {*name_words(name)} <= _SHORT
    if is_short and _is_of_a_date(prepared):
        return []
    events = _SURE if is_short else _EVENT
    for column in prepared.schema.columns:
        words = _event_words(column.name, name)
        if column.name == name or not 2 <= column.n_distinct <= _MOST_VALUES:
            continue
        cells = as_categories(single_chunk(table.data, column.name), column)
        levels = [_value(level) for level in cells.categories]
        if not _says_who(words, levels, events):
            continue
        codes = cells.codes[prepared.known]
        shares = np.bincount(codes[codes >= 0], minlength=len(levels)) / max((codes >= 0).sum(), 1)
        code = _goes_on(words, levels)
        if 0.0 < shares[code] < 1.0:
            used = any(feature.column == column.name for feature in prepared.features)
            told = [
                f"{one_line(str(cells.categories[k]))} in {percent(shares[k], 1)} of the rows"
                for k in sorted(range(len(levels)), key=lambda k: k != code)
            ]
            later = f" {shown(column.name)} is known only afterwards: leave it out." if used else ""
            # In some tables, "cens" is 1 for those who had the event.
            either = bool(re.search("(?i)cens(or)?s?($|[^a-z])|survival", column.name))
            who = (
                f"{enumerated(told)}. If, in one of them, the" if either else f"{told[0]}. If their"
            )
            return [
                f"{shown(column.name)} is {who} "
                f"{shown(name)} ended with the last look and not with the event (censored times), "
                f"the true ones are longer and predictions are too low.{later}"
            ]
    return []


def _value(level: object) -> str:
    """A cell such as 1.0, "1:DECEASED" or "Existing Customer" in one word."""
    text = re.sub(r"^\d\s*[:=-]\s*|\.0+$", "", str(level).strip().lower())
    return next((word for word in re.split(r"[\s/]+", text) if word in _GOES_ON | _ENDED), text)


def _is_time(name: str, y: NDArray[np.float64]) -> bool:
    """Whether a target is named like a span of time, and holds such numbers."""
    words = name_words(name)
    named = bool(_SPANS & {*words}) or {*words} <= _SHORT or bool(_AT.search("_".join(words)))
    named |= any(map(_SPAN.search, words))
    named |= any(word.endswith("time") and word not in _NO_SPANS for word in words)
    named &= "age" not in words or bool(_AT.search("_".join(words)))
    are_years = bool(y.min() >= 1500 and y.max() <= 2200)
    times = y.min() >= 0.0 and not are_years and len(np.unique(y)) >= _FEWEST_TIMES
    ends = [word for word in words if word not in _SPANS] or words
    return named and times and not _AMOUNTS & {*words} and ends[-1] not in _STARTS


def _is_of_a_date(prepared: Prepared) -> bool:
    """Whether a target such as a week follows a date of its rows: it is when, not how long."""
    for feature in prepared.features:
        if feature.part == "days":
            days = prepared.X.loc[prepared.known, feature.name]
            table = pd.DataFrame({"target": prepared.y[prepared.known], "days": days})
            when = pd.to_datetime(days, unit="D", errors="coerce").dt
            table = table.assign(week=when.isocalendar().week.astype("Float64"))
            for part in ("year", "month", "day", "day_of_year", "hour"):
                table[part] = getattr(when, part)
            if (table.corr()["target"].abs()[1:] > _FOLLOWS).any():
                return True
    return False


def _event_words(name: str, target: str) -> list[str]:
    """The words of a column's name, those of other languages and end points in English."""
    words, timed = name_words(name), {*name_words(target)}
    if {*words} & _POINTS and {*words} < timed:
        return ["event"]
    if "active" in words and {*words} & {"is", "still"}:
        return ["alive"]
    return [
        "censored"
        if word.startswith("cens") or _CUT.search(word)
        else "died"
        if _DIED.search(word)
        else word
        for word in words
    ]


def _says_who(words: list[str], levels: list[str], events: frozenset[str]) -> bool:
    """Whether a column says by its name or its words who had the event."""
    ends = (
        [level in _GOES_ON - _ANSWERS for level in levels],
        [level in _ENDED - _ANSWERS for level in levels],
    )
    if any(ends[0]) and any(ends[1]):
        return True  # such as alive and dead, whatever the column is called
    named = bool(events & {*words}) and {*words} <= _EVENT | _BESIDE
    known = bool({*levels} & (_GOES_ON | _ENDED)) and len(levels) == 2
    return named and (known or all(level.isdigit() for level in levels))


def _goes_on(words: list[str], levels: list[str]) -> int:
    """Which value stands for those who had no event yet."""
    is_answer = {*levels} <= _ANSWERS or all(level.isdigit() for level in levels)
    order = sorted(range(len(levels)), key=lambda k: (levels[k] in _ENDED and is_answer, levels[k]))
    if all(level.isdigit() for level in levels):
        order.sort(key=lambda k: int(levels[k]))
    elif not is_answer:
        order.sort(key=lambda k: (levels[k] not in _GOES_ON, levels[k] in _ENDED))
    # A column named "censored" or "alive" says yes for those.
    return order[-1 if is_answer and _NAMES_THOSE_WHO_GO_ON & {*words} else 0]
