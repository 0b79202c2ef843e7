"""Python code and a command line that compute the same scored table without the app."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, replace
from typing import NamedTuple

from gbuq_core.settings import changed, flags_of, needed
from gbuq_core.tables.plan import USUAL_LEVEL, Cut, Edits, ReadOptions, ScorePlan

_ANY_URL = "sqlite:///rows.db"  # of a database; the app's own may hold a password


@dataclass(frozen=True, kw_only=True)
class TableRecipe:
    """All that the numbers of a scored table depend on."""

    source: str  # the key of a built-in table, or the name of a file
    is_builtin: bool
    # what the reader chose about text or Excel files, which holds for the second one too
    options: ReadOptions
    edits: Edits
    target: str
    task: str | None
    second: str  # the name of a second file, or nothing
    plan: ScorePlan
    cut: Cut
    query: str = ""  # of a table from a database; then there is no file called `source`
    level: float = USUAL_LEVEL  # of the intervals
    conformal: bool = False  # whether they are conformal; never of classes
    by_group: str = ""  # the column whose groups calibrate them each by itself
    shifted: bool = False  # whether they are weighted for the second file


class _Step(NamedTuple):
    """Some lines of the code, and what they do."""

    words: str
    lines: list[str]


def table_code(recipe: TableRecipe) -> str:
    """Python that prints the scores and the most uncertain rows, and writes scored.csv.

    The user's words appear as literals only.

    Examples
    --------
    >>> recipe = TableRecipe(
    ...     source="wine", is_builtin=True, options=ReadOptions(), edits=Edits(),
    ...     target="cultivar", task=None, second="", plan=ScorePlan(n_trees=50),
    ...     cut=Cut(5, 0.5, 20),
    ... )
    >>> 'load_builtin("wine")' in table_code(recipe)
    True
    """
    imports, read, score, finish = _steps(recipe)
    return "\n".join([*imports.lines, "", *read.lines, *score.lines, "", *finish.lines, ""])


def table_notebook(recipe: TableRecipe) -> bytes:
    """The same code as a Jupyter notebook (nbformat 4.5), one cell a step.

    The user's words appear in the cells of code only, as literals.

    >>> recipe = TableRecipe(
    ...     source="wine", is_builtin=True, options=ReadOptions(), edits=Edits(),
    ...     target="cultivar", task=None, second="", plan=ScorePlan(n_trees=50), cut=Cut(),
    ... )
    >>> notebook = json.loads(table_notebook(recipe))
    >>> notebook["nbformat"], [cell["cell_type"] for cell in notebook["cells"]][:3]
    (4, ['markdown', 'code', 'markdown'])
    """
    cells: list[dict[str, object]] = []
    for words, lines in _steps(recipe):
        number = len(cells)
        cells.append(
            {"cell_type": "markdown", "id": f"words-{number}", "metadata": {}, "source": words}
        )
        cells.append(
            {
                "cell_type": "code",
                "id": f"code-{number}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": "\n".join(lines),
            }
        )
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode()


def _steps(recipe: TableRecipe) -> tuple[_Step, _Step, _Step, _Step]:
    """Imports, reading, scoring, and what is written."""
    given = _options_text(recipe.options)
    edits = recipe.edits.arguments()
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
    scoring = [
        f"plan = {_text(recipe.plan)}",
        f"scored = score_table({', '.join(arguments)}, plan=plan)",
    ]
    scoring += [
        f"scored = cut_table(scored, {_text(recipe.cut)})  # choose the members; no retraining",
        f"found = measure_unfamiliarity(scored.training, scored.scored, {recipe.plan.seed})",
        "scored = add_unfamiliarity(scored, found)",
    ]
    names += ["Cut", "add_unfamiliarity", "cut_table", "measure_unfamiliarity", "to_csv_bytes"]
    if (recipe.level, recipe.conformal) != (USUAL_LEVEL, False):
        names.append("with_intervals")
        more = ", conformal=True" if recipe.conformal else ""
        if recipe.by_group:
            names.append("own_groups")
            more += f", by=own_groups(scored, {recipe.by_group!r}, table)"
        if recipe.shifted:
            names.append("measure_shift")
            more += f", shift=measure_shift(scored, {recipe.plan.seed})"
        scoring.append(f"scored = with_intervals(scored, {recipe.level!r}{more})")
    finish = [
        "print(scored.scores)",
        'print(scored.frame.sort_values("total_uncertainty", ascending=False).head(20))',
        'open("scored.csv", "wb").write(to_csv_bytes(scored.frame))',
    ]
    imports = [f"from gbuq_core.tables import {', '.join(sorted(names))}"]
    beside = "" if recipe.is_builtin else " Your file must be in the same folder as this notebook."
    if recipe.query:
        beside = " Write the URL of your database where it stands for it."
    return (
        _Step("Total, data and knowledge uncertainty of every row of a table, with gbuq.", imports),
        _Step(f"Read the table.{beside}", lines),
        _Step(
            "Train, score every row by a model that did not learn from it, and measure how "
            "unfamiliar each row is.",
            scoring,
        ),
        _Step("Show the scores and the most uncertain rows, and write all rows.", finish),
    )


def table_command(recipe: TableRecipe) -> str:
    """The command line that computes the same table; nothing for a built-in one.

    Examples
    --------
    >>> recipe = TableRecipe(
    ...     source="my rows.csv", is_builtin=False, options=ReadOptions(), edits=Edits(),
    ...     target="y", task=None, second="", plan=ScorePlan(n_trees=50), cut=Cut(step=5),
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
    words += [
        f"--{name}" if value is True else f"--{name}={value}" for name, value in _flags(recipe)
    ]
    return " ".join(_shell_word(word) for word in words)


def _flags(recipe: TableRecipe) -> list[tuple[str, object]]:
    """Options of the command line and their values, without those that change or mean nothing."""
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
        ("skip-rows", reading.skip_rows),
        ("keep-rows", "yes" if reading.keep_rows else None),
        *(("kind", f"{name}={kind}") for name, kind in recipe.edits.kinds),
        *(("use" if used else "drop", name) for name, used in recipe.edits.used),
        *(("missing", f"{name}={','.join(words)}") for name, words in recipe.edits.missing_values),
        *(("keep-words", name) for name in recipe.edits.keep_words),
    ]
    plan = needed(recipe.plan)
    if recipe.second:
        plan = replace(plan, n_folds=ScorePlan.n_folds)
    step = plan.truncation_step if cut.step is None else cut.step
    cut = needed(
        replace(cut, step=step, burn_in=cut.burn_in or None),
        replace(plan, ensemble="virtual") if plan.is_open else plan,
    )
    own = {name: value for name, value in plan.knobs if name in vars(plan)}
    flags += [
        *flags_of(replace(plan, **own)),
        *flags_of(cut),
        ("level", None if recipe.level == USUAL_LEVEL else recipe.level),
        ("conformal", (recipe.conformal and not (recipe.by_group or recipe.shifted)) or None),
        ("conformal_by", recipe.by_group or None),
        ("conformal_shift", recipe.shifted or None),
    ]
    return [(name, value) for name, value in flags if value is not None]


def _shell_word(word: str) -> str:
    """A word that a shell takes as it is, on one line whatever is in it."""
    if all(letter.isprintable() for letter in word):
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return (
        "$'"
        + "".join(
            letter
            if letter.isprintable()
            else "".join(f"\\x{byte:02x}" for byte in letter.encode())
            for letter in escaped
        )
        + "'"
    )


def _text(settings: ScorePlan | Cut) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in changed(settings).items())
    return f"{type(settings).__name__}({given})"


def _options_text(options: ReadOptions) -> str:
    given = [f"{k}={v!r}" for k, v in options._asdict().items() if v is not None]
    return f", options=ReadOptions({', '.join(given)})" if given else ""
