"""A settings record: each knob of an experiment or of a table's plan is one field.

A field says what the knob is called, what it may be, whom it concerns, and what the estimator calls
it. The widgets, the words of a link, the options of the command line, the key of a fit, the
estimator's arguments and the quicker settings of a study over seeds are derived::

    @dataclass(frozen=True, kw_only=True)
    class Wave:
        methods: tuple[str, ...] = setting(("sglb",), "Methods", named=LABELS, each=True)
        rows: int = setting(400, "Training rows", choices=(100, 400), shrink=(1.0, 100))
        trees: int = setting(100, of="sglb.n_trees", arg="n_trees", high=500, uses=is_boosted)
        step: int = setting(50, of="virtual_sglb.truncation_step", group="picture")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from gbuq_core.knobs import Kind, Knob, check_knob, check_within, narrow, number_text
from gbuq_core.methods import METHODS, SAMPLERS
from gbuq_core.validation import check_choice

AUTOMATIC = "automatic"  # what a widget and a link call None, where that leaves the choice to us
_FITTED = ("data", "method", "knobs")  # the groups of knobs that a fit depends on
_NONE = "none"  # what the command line calls None, where that is a choice
_LISTED = 4  # choices that the usage line of a command shows

S = TypeVar("S")


class Codec(NamedTuple):
    """How a link writes a value that is not one word: ``read`` and ``write`` undo each other."""

    read: Callable[[str], Any]
    write: Callable[[Any], str]


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """What a field says of its knob besides the default; see `setting`."""

    label: str
    # "sglb.depth": label, help and limits are those of the method's record, if not given;
    # "cg.alpha_max": of a sampler's.
    of: str | Knob
    # `key`, `word`: what links and widgets, and what options of the command line call it, if not as
    # the field. The command line does not have it if `word` is None.
    key: str
    word: str | None
    # What None means: the choice is left to us. A widget with `choices` offers it, if it has no
    # default of its own.
    automatic: str
    more: str  # what the help of the command line says besides
    # Whether settings of one method need it (all do); others neither show nor refit it.
    uses: Callable[[Any], bool] | None
    arg: str  # what the estimator calls it
    # (power, least): a study over seeds that takes too long takes `share ** power` of it, but not
    # less than `least`.
    shrink: tuple[float, int] | None
    named: Mapping[Any, Any]  # the words of widgets and links for values that are no texts
    codec: Codec | None  # of a value that a link writes as one text
    # What the estimator gets for None, by the settings and what else `arguments` is given.
    fills: Callable[..., Any] | None
    words: Mapping[Any, str]  # `named` the other way round
    each: bool  # whether each of its values has a fit of its own: the methods side by side
    drawn: bool  # whether it only changes how a picture looks, or where: no statement depends on it
    fits: bool | None  # whether a fit depends on it, if its group does not say so: see `fitted`
    offered: bool  # whether the page has it; studies and statements name all of them
    # (low, high) or texts that `check` takes: whole numbers, if these are. Without them, what the
    # record or the widget takes.
    limits: tuple[Any, ...]
    # What else `Knob` takes: `low`, `high`, `choices`, `group`, `help` ..., and the widget's own
    # default as `shown`.
    knob: Mapping[str, Any]

    @property
    def record(self) -> Knob:
        """The knob of the method's or sampler's record that it is ``of``."""
        if isinstance(self.of, Knob):
            return self.of
        method, _, of = self.of.partition(".")
        return (METHODS.get(method) or SAMPLERS[method]).knob(of)

    @property
    def group(self) -> str:
        """The group of its knob."""
        return self.knob.get("group", "knobs")

    @property
    def fitted(self) -> bool:
        """Whether a fit may depend on it: a knob of the view retrains nothing."""
        return self.group in _FITTED if self.fits is None else self.fits


def setting(
    default: Any,
    label: str = "",
    *,
    of: str | Knob = "",
    key: str = "",
    word: str | None = "",
    automatic: str = "",
    more: str = "",
    uses: Callable[[Any], bool] | None = None,
    arg: str = "",
    fills: Callable[..., Any] | None = None,
    shrink: tuple[float, int] | None = None,
    named: Mapping[Any, Any] | None = None,
    codec: Codec | None = None,
    each: bool = False,
    drawn: bool = False,
    fits: bool | None = None,
    offered: bool = True,
    limits: tuple[Any, ...] = (),
    **knob: Any,
) -> Any:
    """A field of a settings record, with its knob; `_Setting` says what each argument means."""
    named = {} if named is None else named
    words = {value: word for word, value in named.items()}
    meta = _Setting(
        label=label, of=of, key=key, word=word, automatic=automatic, more=more, uses=uses,
        arg=arg, fills=fills, shrink=shrink, named=named, codec=codec, words=words, each=each,
        drawn=drawn, fits=fits, offered=offered, limits=limits, knob=knob,
    )  # fmt: skip
    return field(default=default, metadata={"setting": meta})


def _settings_of(kind: type) -> Iterator[tuple[str, Any, _Setting]]:
    """Name, default and description of each field that has a knob."""
    for each in fields(kind) if is_dataclass(kind) else ():
        if "setting" in each.metadata:
            yield each.name, each.default, each.metadata["setting"]


def _each_of(kind: type) -> str:
    """The field whose values have a fit of their own each; empty if there is none."""
    return next((name for name, _, meta in _settings_of(kind) if meta.each), "")


def _alternatives(settings: S) -> list[S]:
    """The settings with one method each; they themselves where there are no several."""
    name = _each_of(type(settings))
    if not name:
        return [settings]
    return [_with(settings, **{name: (value,)}) for value in getattr(settings, name)]


def _alone(settings: S, method: str) -> S:
    """The settings with one of the methods that there are."""
    name = _each_of(type(settings))
    known = next(meta.named for field, _, meta in _settings_of(type(settings)) if field == name)
    return _with(
        settings, **{name: (check_choice(name.removesuffix("s"), method, tuple(known.values())),)}
    )


def _with(settings: S, **changes: Any) -> S:
    return replace(settings, **changes) if changes else settings  # type: ignore[type-var]


@cache
def knobs_of(kind: Any, asked: Any = None) -> tuple[Knob, ...]:
    """The knobs of a settings record, in the order of its fields.

    ``asked`` is the record whose settings need them or not, if that is another one.

    >>> from gbuq_core.study.heart import HeartSettings
    >>> [knob.key for knob in knobs_of(HeartSettings)][:3]
    ['rows', 'noise', 'cells']
    """
    return tuple(
        _knob(asked or kind, name, default, meta)
        for name, default, meta in _settings_of(kind)
        if meta.offered
    )


def _knob(kind: type, name: str, default: Any, meta: _Setting) -> Knob:
    more = {**meta.knob, "key": meta.key or name}
    shown = more.pop("shown", _write(meta, default))
    if meta.label:
        more["label"] = meta.label
    if meta.uses is not None:
        more["when"] = partial(_is_used, kind, meta.uses)
        if _each_of(kind):
            more["methods"] = partial(_used_by, kind, meta.uses)
    record = meta.record if meta.of else Knob("", "", "text", "")
    if shown == AUTOMATIC and meta.automatic and "choices" in more:
        more["help"] = f"{_about(meta)} Automatic: {meta.automatic}.".strip()
        numbers = narrow(record, default=more["choices"][0], **more)
        return replace(numbers, choices=(AUTOMATIC, *numbers.choices), default=shown)
    if meta.of and not meta.named:
        return narrow(record, default=shown, **more)
    for value in meta.named.values() if meta.of else ():
        check_knob(record, value)
    if meta.named and more.get("kind") != "switch":
        more.setdefault("choices", tuple(meta.named))
    kind_of_knob: Kind = more.pop("kind", "") or (
        record.kind if meta.of else _kind_of(meta, default, more)
    )
    more = {"label": record.label, "help": record.help, **more}
    return Knob(kind=kind_of_knob, default=shown, **more)


def _is_used(kind: type, uses: Callable[[Any], bool], values: Mapping[str, Any]) -> bool:
    """Whether a chosen method needs a knob; a text that a reader may still type decides nothing."""
    return any(map(uses, _read_alternatives(kind, values)))


def _used_by(kind: type, uses: Callable[[Any], bool], values: Mapping[str, Any]) -> tuple[str, ...]:
    """The chosen methods that need a knob, as widgets and links call them."""
    name = _each_of(kind)
    found = [each for each in _read_alternatives(kind, values) if uses(each)]
    return tuple(text for each in found for text in to_values(each)[name])


def _read_alternatives(kind: type, values: Mapping[str, Any]) -> list[Any]:
    """The settings of each chosen method."""
    texts = {meta.key or name for name, _, meta in _settings_of(kind) if meta.codec}
    read = {name: value for name, value in values.items() if name not in texts}
    return _alternatives(from_values(kind, read))


def _kind_of(meta: _Setting, default: Any, more: Mapping[str, Any]) -> Kind:
    """The kind of a knob, by the type of its default."""
    if meta.codec or "pattern" in more:
        return "text"
    if isinstance(default, tuple):
        return "choices"
    if isinstance(default, bool):
        return "switch"
    if "choices" in more:
        return "choice" if meta.named or isinstance(default, str) else "ladder"
    return "integer" if isinstance(default, int) else "number"


def _write(meta: _Setting, value: Any) -> Any:
    """A field's value as its widget and a link have it."""
    if meta.codec:
        return meta.codec.write(value)
    if meta.automatic:
        return meta.knob.get("shown", AUTOMATIC) if value is None else value
    if meta.named and isinstance(value, tuple):
        return tuple(meta.words.get(each, each) for each in value)
    return meta.words.get(value, number_text(value)) if meta.named else value


def _read(meta: _Setting, value: Any) -> Any:
    """A field's value from that of its widget."""
    if meta.codec:
        return meta.codec.read(value)
    if meta.automatic:
        return None if value == AUTOMATIC else value
    if isinstance(value, tuple | list):
        return tuple(meta.named.get(each, each) for each in value)
    return meta.named.get(value, value)


def to_values(settings: Any) -> dict[str, Any]:
    """The knobs' values for these settings, as widgets and links have them.

    >>> from gbuq_core.study.heart import HeartSettings
    >>> to_values(HeartSettings(cells=(31,), shown=4))["cells"]
    '34'
    """
    kind = type(settings)
    return {
        meta.key or name: _write(meta, getattr(settings, name))
        for name, _, meta in _settings_of(kind)
    }


def from_values(kind: type[S], values: Mapping[str, Any]) -> S:
    """The settings for the knobs' values; a knob that is not there keeps its default.

    >>> from gbuq_core.study.heart import HeartSettings
    >>> from_values(HeartSettings, {"cells": "34.08"}).cells
    (8, 31)
    """
    changes = {
        name: _read(meta, values[meta.key or name])
        for name, _, meta in _settings_of(kind)
        if (meta.key or name) in values
    }
    return kind(**changes)


def plan_of(settings: S, method: str = "", also: Sequence[str] = ()) -> S:
    """What a fit depends on, the key of its result: all else is at its default.

    ``method`` is one of those that the settings' ``methods`` may name, if there are such; without
    it, what any of them uses stays. ``also`` names knobs of the view that stay, where they are
    used.

    >>> from gbuq_core.study.heart import HeartSettings
    >>> slow, quick = HeartSettings(step=10), HeartSettings(step=100)
    >>> plan_of(slow, "virtual_sglb") == plan_of(quick, "virtual_sglb")
    True
    """
    chosen = [_alone(settings, method)] if method else _alternatives(settings)
    unused = {
        name: default
        for name, default, each in _settings_of(type(settings))
        if not (each.fitted or name in also)
        or not (each.uses is None or any(map(each.uses, chosen)))
    }
    return _with(chosen[0] if method else settings, **unused)


def check(settings: Any, *groups: str, besides: Sequence[str] = ()) -> None:
    """Refuse an impossible value of the knobs of some groups, or of all, but for those ``besides``.

    >>> from gbuq_core.study.heteroscedastic import HeteroscedasticSettings
    >>> check(HeteroscedasticSettings(tail="falls"))
    Traceback (most recent call last):
    gbuq_core.errors.InvalidParameter: tail must be one of 'rise', 'clip'; got 'falls'.
    """
    kind = type(settings)
    for name, default, meta in _settings_of(kind):
        if name in besides or (groups and meta.group not in groups):
            continue
        value, knob = getattr(settings, name), _legal(kind, name, default, meta)
        if (value is None and meta.automatic) or (knob.kind == "choice" and not knob.choices):
            continue  # left to us, or one of a table's columns
        if meta.limits and knob.kind == "choice":
            check_choice(name, value, knob.choices)
            continue
        for each in (value if isinstance(value, tuple) else (value,)) if meta.named else ():
            if each not in (choices := tuple(meta.named.values())):
                check_choice(name, each, choices)
        if knob.kind in ("integer", "number") or (knob.kind == "ladder" and knob.low is not None):
            check_within(knob, value)
        else:
            check_knob(knob, _write(meta, value))


def _legal(kind: type, name: str, default: Any, meta: _Setting) -> Knob:
    """What a field may be, whatever steps its widget has."""
    if meta.limits and isinstance(meta.limits[0], str):
        return Knob(name, meta.label, "choice", default, choices=meta.limits)
    if meta.limits:
        whole = isinstance(meta.limits[0], int)
        return Knob(name, meta.label, "integer" if whole else "number", default, *meta.limits)
    if meta.of and not meta.named:
        return replace(meta.record, key=name)
    return _knob(kind, name, default, meta)


def unused(kind: type, asked: Any) -> frozenset[str]:
    """The fields that do not concern some settings, which may be of another record."""
    rules = ((name, meta.uses) for name, _, meta in _settings_of(kind))
    return frozenset(name for name, uses in rules if uses is not None and not uses(asked))


def needed(settings: S, asked: Any = None) -> S:
    """The settings with all at its default that does not concern ``asked``, or they themselves.

    >>> from gbuq_core.tables.plan import Cut, ScorePlan
    >>> needed(ScorePlan(method="csglb", ensemble="virtual", n_trees=50)).ensemble
    'automatic'
    >>> needed(Cut(step=5, members=3), ScorePlan(ensemble="independent"))
    Cut(step=None, start=None, members=3, burn_in=None)
    """
    kind = type(settings)
    idle = unused(kind, settings if asked is None else asked)
    return _with(settings, **{name: usual for name, usual, _ in _settings_of(kind) if name in idle})


def with_fit(settings: S, plan: S) -> S:
    """The settings with all that a plan fits: today's view of a fit of earlier settings.

    >>> from gbuq_core.study.heart import HeartSettings
    >>> shown = with_fit(HeartSettings(rows=10, step=20), HeartSettings(rows=30))
    >>> shown.rows, shown.step
    (30, 20)
    """
    kind = type(settings)
    fitted = {name: getattr(plan, name) for name, _, meta in _settings_of(kind) if meta.fitted}
    return _with(settings, **fitted)


def arguments(settings: Any, *about: Any) -> dict[str, Any]:
    """What settings of one method give the estimator, by its own names.

    None is left to the estimator, unless the setting ``fills`` it by what it is told ``about`` the
    data.

    >>> from gbuq_core.study.heart import HeartSettings
    >>> arguments(plan_of(HeartSettings(rate=0.2), "sglb"))["learning_rate"]
    0.2
    """
    values = {}
    for name, _, meta in _settings_of(type(settings)):
        if meta.arg and (meta.uses is None or meta.uses(settings)):
            value = getattr(settings, name)
            value = meta.fills(settings, *about) if value is None and meta.fills else value
            values[meta.arg] = value
    return {name: value for name, value in values.items() if value is not None}


def bare(settings: S) -> S:
    """The settings without what is only drawn, on which no statement depends.

    >>> from gbuq_core.study.heart import HeartSettings
    >>> bare(HeartSettings(trees=50, unit="variance")) == HeartSettings(trees=50)
    True
    """
    drawn = {name: usual for name, usual, meta in _settings_of(type(settings)) if meta.drawn}
    return _with(settings, **drawn)


def data_of(settings: Any) -> tuple[Any, ...]:
    """What the rows depend on: the values of the knobs of the data."""
    data = (name for name, _, meta in _settings_of(type(settings)) if meta.group == "data")
    return tuple(getattr(settings, name) for name in data)


def quicker(settings: S, share: float) -> S:
    """Settings of about a share of the sizes: what a study over seeds takes to end in time."""
    smaller = {
        name: shrink(getattr(settings, name), share ** meta.shrink[0], meta.shrink[1])
        for name, _, meta in _settings_of(type(settings))
        if meta.shrink is not None
    }
    return _with(settings, **smaller)


def work_of(settings: Any) -> float:
    """All sizes times each other and times the number of methods: what a fit's work grows with.

    >>> from gbuq_core.study.heart import HeartSettings
    >>> work_of(HeartSettings(trees=200)) / work_of(HeartSettings(trees=100))
    2.0
    """
    work = 1.0
    for name, _, meta in _settings_of(type(settings)):
        value = getattr(settings, name)
        if meta.shrink is not None:
            work *= value
        elif isinstance(value, tuple) and value and isinstance(value[0], str):
            work *= len(value)
    return work


def shrink(value: int, share: float, least: int) -> int:
    """A size times a share, to one significant digit, but not below ``least`` or above itself.

    >>> shrink(1500, 0.25, 50), shrink(60, 0.25, 50), shrink(40, 0.25, 50)
    (400, 50, 40)
    """
    small = int(float(f"{value * share:.0e}"))
    return min(value, max(least, small))


def differences(settings: Any, wanted: Any, words: str = "{} {} instead of {}") -> tuple[str, ...]:
    """How settings differ from others, as people write it: a name and both values.

    >>> from gbuq_core.study.heart import HeartSettings
    >>> differences(HeartSettings(trees=200), HeartSettings())
    ('trees 200 instead of 1,000',)
    """
    kind: Any = type(settings)
    now, then = to_values(settings), to_values(wanted)
    labels = {
        meta.key or n: _knob(kind, n, default, meta).label
        for n, default, meta in _settings_of(kind)
    }
    return tuple(
        words.format(label[:1].lower() + label[1:], *map(write_setting, (now[name], then[name])))
        for name, label in labels.items()
        if now[name] != then[name]
    )


def write_setting(value: object) -> str:
    """A setting as people write it.

    >>> write_setting(None), write_setting(True), write_setting(0.5), write_setting(1500)
    ('automatic', 'on', '0.5', '1,500')
    """
    if value is None:
        return "automatic"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def sliders(kind: type) -> Sequence[str]:
    """The knobs whose fit the picture follows while they are dragged."""
    dragged = ("integer", "number", "ladder")
    return tuple(k.key for k in knobs_of(kind) if k.kind in dragged and k.group in _FITTED)


def documented(kind: type[S]) -> type[S]:
    """Say in the docstring of a settings record, which `help` shows, what its fields are."""
    lines = [f"{kind.__doc__}".rstrip(), "", "    Attributes", "    ----------"]
    for name, default, meta in _settings_of(kind):
        label = meta.label or meta.record.label
        usual = f" None: {meta.automatic}." if meta.automatic else ""
        lines += [f"    {name} : default {default!r}", f"        {label}. {_about(meta)}{usual}"]
    kind.__doc__ = "\n".join(lines)
    return kind


def _about(meta: _Setting) -> str:
    """What a field does, in sentences."""
    return str(meta.knob.get("help") or (meta.record.help if meta.of else ""))


def legal_knobs(kind: type) -> dict[str, Knob]:
    """What each field may be, by its name: the values themselves, not the words of widgets."""
    knobs = {}
    for name, default, meta in _settings_of(kind):
        knob = _legal(kind, name, default, meta)
        if meta.named and not meta.limits:
            knob = replace(knob, kind="choice", choices=tuple(meta.named.values()))
        knobs[name] = knob
    return knobs


def may_be_none(kind: type) -> frozenset[str]:
    """The fields that None leaves to us."""
    return frozenset(name for name, _, meta in _settings_of(kind) if meta.automatic)


def option_names(kind: type) -> dict[str, str]:
    """The fields that are options of the command line, by the name of the option's value.

    >>> from gbuq_core.tables.plan import ScorePlan
    >>> option_names(ScorePlan)["trees"]
    'n_trees'
    """
    return {
        (meta.word or name).replace("-", "_"): name
        for name, _, meta in _settings_of(kind)
        if meta.word is not None
    }


def add_options(add: Callable[..., Any], kind: type, *names: str) -> None:
    """Add the options of a settings record to a parser of arguments, or those of some fields.

    ``add`` is the parser's ``add_argument``.
    """
    legal, options = legal_knobs(kind), {name: d for d, name in option_names(kind).items()}
    for name, default, meta in _settings_of(kind):
        if name not in options or (names and name not in names):
            continue
        knob, option = legal[name], _flag(options[name])
        more: dict[str, Any] = {"metavar": "NAME", "default": default}
        if knob.choices:
            words = [_option_word(choice) for choice in knob.choices]
            more = {"choices": words, "default": default and _option_word(default)}
            if len(words) > _LISTED:
                more["metavar"] = option[2:].upper()
        elif knob.kind in ("integer", "number"):
            whole = knob.kind == "integer"
            more |= {"type": int if whole else float, "metavar": "N" if whole else "X"}
        usual = meta.automatic or ("" if default is None else str(default))
        about = _about(meta) or meta.label or meta.record.label
        sentences = (about, meta.more, usual and f"default: {usual}")
        parts = [_lowered(part) for text in sentences for part in text.split(". ") if part]
        add(option, help="; ".join(parts).replace("%", "%%"), **more)


def given_options(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the values of options set, by the names of the fields."""
    legal, chosen = legal_knobs(kind), {}
    for dest, name in option_names(kind).items():
        value = options.get(dest)
        if value is not None:
            chosen[name] = None if value == _NONE and None in legal[name].choices else value
    return chosen


def check_options(kind: type, options: Mapping[str, Any], own: Sequence[Knob] = ()) -> None:
    """Refuse an impossible number among options; a method's ``own`` knobs say what it takes.

    >>> from gbuq_core.tables.plan import ScorePlan
    >>> check_options(ScorePlan, {"depth": 0})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gbuq_core.errors.InvalidParameter: --depth must be a whole number at least 1 and at most 12...
    """
    legal = {**legal_knobs(kind), **{knob.key: knob for knob in own}}
    for dest, name in option_names(kind).items():
        if options.get(dest) is not None and legal[name].kind in ("integer", "number"):
            check_within(replace(legal[name], key=_flag(dest)), options[dest])


def changed(settings: Any) -> dict[str, Any]:
    """The fields that are not at their defaults."""
    return {
        each.name: getattr(settings, each.name)
        for each in fields(settings)
        if getattr(settings, each.name) != each.default
    }


def flags_of(settings: Any) -> list[tuple[str, str]]:
    """The options of the command line that set what is not at its default, with their values.

    >>> from gbuq_core.tables.plan import ScorePlan
    >>> flags_of(ScorePlan(n_trees=50, stopping=None))
    [('trees', '50'), ('stopping', 'none')]
    """
    changes = changed(settings)
    return [
        (_flag(dest)[2:], _option_word(changes[name]))
        for dest, name in option_names(type(settings)).items()
        if name in changes
    ]


def _flag(dest: str) -> str:
    return "--" + dest.replace("_", "-")


def _option_word(value: Any) -> str:
    return _NONE if value is None else str(value)


def _lowered(sentence: str) -> str:
    """A sentence as a part of a longer one."""
    sentence = sentence.rstrip(".")
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
