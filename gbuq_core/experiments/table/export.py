"""Python code and a command line that compute the same scored table without the app."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gbuq_core.experiments.table.fit import Cut
from gbuq_core.tables.files import ReadOptions
from gbuq_core.tables.predicting import ScorePlan

# The command line's names of a plan's settings.
_FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "method": "method",
        "ensemble": "ensemble",
        "cycle_length": "cycle-length",
        "engine": "engine",
        "n_members": "members",
        "n_trees": "trees",
        "depth": "depth",
        "learning_rate": "learning-rate",
        "stopping": "stopping",
        "seed": "seed",
        "split": "split",
        "split_column": "split-column",
        "scale": "scale",
    }
)


_ANY_URL = "sqlite:///rows.db"  # of a database; the app's own may hold a password


@dataclass(frozen=True, kw_only=True)
class TableRecipe:
    """All that the numbers of a scored table depend on.

    Attributes
    ----------
    source : str
        The key of a built-in table, or the name of a file.
    is_builtin : bool
    options : ReadOptions
        What the reader chose about text or Excel files, which holds for the second one too.
    kinds, used, missing : mapping of column to correction
        As `gbuq_core.tables.edit_schema` takes them.
    target : str
    task : str or None
    second : str
        The name of a second file, or nothing.
    plan : ScorePlan
    cut : Cut
    query : str
        Of a table from a database; then there is no file called ``source``.
    """

    source: str
    is_builtin: bool
    options: ReadOptions
    kinds: Mapping[str, str]
    used: Mapping[str, bool]
    missing: Mapping[str, tuple[str, ...]]
    target: str
    task: str | None
    second: str
    plan: ScorePlan
    cut: Cut
    query: str = ""


def table_code(recipe: TableRecipe) -> str:
    """Python that prints the scores and the most uncertain rows.

    The user's words appear as literals only.

    Examples
    --------
    >>> recipe = TableRecipe(
    ...     source="wine", is_builtin=True, options=ReadOptions(), kinds={}, used={}, missing={},
    ...     target="cultivar", task=None, second="", plan=ScorePlan(n_trees=50),
    ...     cut=Cut(5, 0.5, 20),
    ... )
    >>> 'load_builtin("wine")' in table_code(recipe)
    True
    """
    given = _options_text(recipe.options)
    edits = {
        name: dict(given)
        for name, given in (
            ("kinds", recipe.kinds),
            ("used", recipe.used),
            ("missing_values", recipe.missing),
        )
        if given
    }
    reader = "read_query" if recipe.query else "read_table"
    names = ["ScorePlan", "load_builtin" if recipe.is_builtin else reader, "score_table"]
    lines = []
    if recipe.is_builtin:
        lines += [
            f'loaded = load_builtin("{recipe.source}")',
            "table, schema = loaded.table, loaded.schema",
        ]
    else:
        names.append("infer_schema")
        read = f"table = read_table({recipe.source!r}{given})"
        if recipe.query:
            read = f"table = read_query({recipe.query!r}, {_ANY_URL!r})  # write your URL"
        lines += [read, "schema = infer_schema(table)"]
    if edits:
        names.append("edit_schema")
        listed = ", ".join(f"{name}={value!r}" for name, value in edits.items())
        lines.append(f"schema = edit_schema(table, schema, {listed})")
    arguments = ["table", repr(recipe.target), "schema=schema"]
    if recipe.task:
        arguments.append(f"task={recipe.task!r}")
    if recipe.second:
        if "read_table" not in names:
            names.append("read_table")
        arguments.append(f"new=read_table({recipe.second!r}{given}, to_score=True)")
    if given and "read_table" in names:
        names.append("ReadOptions")
    lines += [
        f"plan = {_plan_text(recipe.plan)}",
        f"scored = score_table({', '.join(arguments)}, plan=plan)",
    ]
    cut = ", ".join(
        f"{name}={value!r}" for name, value in recipe.cut._asdict().items() if value is not None
    )
    lines += [
        f"scored = cut_table(scored, Cut({cut}))  # choose the members; no retraining",
        f"found = measure_unfamiliarity(scored.training, scored.scored, {recipe.plan.seed})",
        "scored = add_unfamiliarity(scored, found)",
        "",
        "print(scored.scores)",
        'print(scored.frame.sort_values("total_uncertainty", ascending=False).head(20))',
        'open("scored.csv", "wb").write(to_csv_bytes(scored.frame))',
    ]
    names += ["add_unfamiliarity", "measure_unfamiliarity", "to_csv_bytes"]
    head = [
        "from gbuq_core.experiments.table.fit import Cut, cut_table",
        f"from gbuq_core.tables import {', '.join(sorted(names))}",
        "",
    ]
    return "\n".join([*head, *lines, ""])


def table_command(recipe: TableRecipe) -> str:
    """The command line that computes the same table; nothing for a built-in one.

    Examples
    --------
    >>> recipe = TableRecipe(
    ...     source="my rows.csv", is_builtin=False, options=ReadOptions(), kinds={}, used={},
    ...     missing={}, target="y", task=None, second="", plan=ScorePlan(n_trees=50),
    ...     cut=Cut(step=5),
    ... )
    >>> table_command(recipe)  # doctest: +NORMALIZE_WHITESPACE
    "python -m gbuq_core score 'my rows.csv' --target=y --out=scored.csv --trees=50
    --truncation-step=5"
    """
    if recipe.is_builtin:
        return ""
    given = ("" if recipe.query else recipe.source, recipe.second)
    files = [f"./{name}" if name.startswith("-") else name for name in given if name]
    words = ["python", "-m", "gbuq_core", "score", *files]
    if recipe.query:
        words += [f"--sql={recipe.query}", f"--url={_ANY_URL}"]
    # An equals sign keeps values apart that begin with a dash.
    words += [f"--{name}={value}" for name, value in _flags(recipe)]
    return " ".join(_shell_word(word) for word in words)


def _flags(recipe: TableRecipe) -> list[tuple[str, object]]:
    """Names of command-line options with their values, those left out that change nothing."""
    reading, cut = recipe.options, recipe.cut
    header = None if reading.header is None else "yes" if reading.header else "no"
    flags: list[tuple[str, object]] = [
        ("target", recipe.target),
        ("out", "scored.csv"),
        ("task", recipe.task),
        ("delimiter", reading.delimiter),
        ("encoding", reading.encoding),
        ("decimal", reading.decimal),
        ("header", header),
        ("sheet", reading.sheet),
        *(("kind", f"{name}={kind}") for name, kind in recipe.kinds.items()),
        *(("use" if used else "drop", name) for name, used in recipe.used.items()),
        *(("missing", f"{name}={','.join(words)}") for name, words in recipe.missing.items()),
    ]
    plan, default = dict(vars(recipe.plan)), vars(ScorePlan())
    plan["stopping"] = plan["stopping"] or "none"
    flags += [(flag, plan[name]) for name, flag in _FLAGS.items() if plan[name] != default[name]]
    flags += [
        ("truncation-step", recipe.plan.truncation_step if cut.step is None else cut.step),
        ("truncation-start", cut.start),
        ("burn-in", cut.burn_in or None),
        ("most-members", cut.members),
    ]
    return [(name, value) for name, value in flags if value is not None]


def _shell_word(word: str) -> str:
    """A word that a shell takes as it is, on one line whatever is in it."""
    if all(letter.isprintable() for letter in word):
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(
        letter if letter.isprintable() else "".join(f"\\x{byte:02x}" for byte in letter.encode())
        for letter in escaped
    ) + "'"  # fmt: skip


def _plan_text(plan: ScorePlan) -> str:
    defaults = ScorePlan()
    given = [
        f"{name}={value!r}"
        for name, value in vars(plan).items()
        if value != getattr(defaults, name)
    ]
    return f"ScorePlan({', '.join(given)})"


def _options_text(options: ReadOptions) -> str:
    given = [f"{k}={v!r}" for k, v in options._asdict().items() if v is not None]
    return f", options=ReadOptions({', '.join(given)})" if given else ""
