"""`gbuq info`: what is in a file: a table, a project or a model. Nothing is trained."""

from __future__ import annotations

import argparse
import inspect
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gbuq_core import given_models, projects, tables
from gbuq_core.commands.combinations import check_formats
from gbuq_core.commands.common_options import add_common, say_notes
from gbuq_core.commands.given_model import add_loss
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.table_options import add_format, reading_of, source_of
from gbuq_core.commands.text_table import print_columns, printable
from gbuq_core.errors import InvalidParameter, ModelFileError
from gbuq_core.presentation import counted, format_bytes, shown

# The members that tell our archives from a workbook.
_OF_MODEL, _OF_PROJECT = "header.json", "project.json"
_OF_LIBRARIES = (b"tree\nversion", b"CBM1", b"{")  # no table begins so
_HEAD = 12
_MOST_LISTED = 20
_DESCRIPTION = """\
Tell what is in a file: of a table its rows, its columns and how they would be used; of a project
its table, target, models and scores; of a saved model its kind, features and settings; of a
model of LightGBM (text), XGBoost (JSON, UBJ) or CatBoost (cbm, JSON) its loss, trees and features,
and what can be told with it. Nothing is trained, and no part of the file is executed.
"""


def add_info(commands: Any) -> None:
    """The command `info`."""
    info = commands.add_parser("info", help="tell what is in a file", description=_DESCRIPTION)
    add = info.add_argument
    add(
        "file",
        metavar="FILE",
        nargs="?",
        help="a table, a project, a saved model, or a "
        "model of LightGBM, XGBoost or CatBoost; - reads the standard input",
    )
    add_loss(add)
    add_format(add)
    add_common(add, trains=False)
    info.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print what the file holds."""
    if options.file is None:
        raise InvalidParameter("There is no file to look at: give FILE.")
    source, name = source_of(options.file)
    if isinstance(source, Path) and not source.exists():
        raise InvalidParameter(f"There is no file {shown(name)}: check its name.")
    members, head = _members_of(source), _head_of(source)
    if options.loss is not None and not head.startswith(_OF_LIBRARIES):
        raise InvalidParameter("--loss is for a model of CatBoost: leave it out.")
    if members & {_OF_PROJECT, _OF_MODEL} or head.startswith(_OF_LIBRARIES):
        check_formats(options)
    if _OF_PROJECT in members:
        _tell_project(source, name, options)
    elif _OF_MODEL in members:
        _tell_model(source, name, options)
    elif head.startswith(_OF_LIBRARIES):
        _tell_given(source, name, options)
    else:
        _tell_table(source, name, options)


def _members_of(source: Path | bytes) -> set[str]:
    """The names in an archive; none of another file."""
    import zipfile

    file = io.BytesIO(source) if isinstance(source, bytes) else source
    try:
        if not zipfile.is_zipfile(file) or (isinstance(file, Path) and not file.is_file()):
            return set()
        with zipfile.ZipFile(file) as archive:
            return set(archive.namelist())
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return set()  # the reader of tables tells what is wrong with it


def _head_of(source: Path | bytes) -> bytes:
    """The first bytes of a regular file; none of anything else."""
    if isinstance(source, bytes):
        return source[:_HEAD]
    try:
        if not source.is_file():
            return b""
        with source.open("rb") as file:
            return file.read(_HEAD)
    except (OSError, ValueError):
        return b""  # as above


def _tell_project(source: Path | bytes, name: str, options: argparse.Namespace) -> None:
    """A project in its own sentences."""
    project = projects.open_project(source)
    if options.json:
        models = project.models
        print_json(
            {
                "file": name,
                "holds": "project",
                "table": project.source.name,
                "sha256": project.source.digest,
                "rows": project.n_rows,
                "columns": [_column(column) for column in project.schema.columns],
                "target": project.target.name,
                "task": project.target.task,
                "classes": project.target.classes,
                "plan": vars(project.plan),
                "scores": None if models is None else models.scores,
                "level": project.level,
                "conformal": project.conformal,
                "holds_rows": project.data is not None,
                "written_by": project.written_by,
                "words": projects.describe_project(project),
            }
        )
        return
    print("\n".join(map(printable, projects.describe_project(project))))


def _tell_model(source: Path | bytes, name: str, options: argparse.Namespace) -> None:
    """A saved model by its header; what it holds is checked but not made."""
    from gbuq_core.file_bytes import read_limited
    from gbuq_core.model_files.archive import read_archive
    from gbuq_core.model_files.contents import MODEL_FILE, errors_as_damage

    content, _ = read_limited(source, MODEL_FILE)
    header, arrays = read_archive(content)
    with errors_as_damage():
        about = _model_of(header)
    about.update(bytes=len(content), arrays=len(arrays))
    if options.json:
        print_json({"file": name, "holds": "model", **about})
        return
    kind, n_features = printable(about["kind"]), about["n_features"]
    print(f"{name} holds a saved model ({kind}), {format_bytes(len(content))}.")
    if n_features is not None:
        features = f": {_some(about['features'])}" if about["features"] else ""
        print(f"It reads {counted(n_features, 'feature')}{features}.")
    if about["classes"]:
        n_classes = counted(len(about["classes"]), "class", "classes")
        print(f"It tells {n_classes} apart: {_some(about['classes'])}.")
    for setting, value in about["settings"].items():
        print(f"  {printable(setting)} = {printable(repr(value))}")


def _tell_given(source: Path | bytes, name: str, options: argparse.Namespace) -> None:
    """A model of another library, read as ``--model`` reads it."""
    model = given_models.read_model(source, name, loss=options.loss)
    about, trees = given_models.summarize_model(model), model.source
    loss = about.loss or options.loss
    if options.json:
        print_json(
            {
                "file": name,
                "holds": "model of a library",
                "library": model.library,
                "bytes": len(model.content),
                "task": trees.task,
                "forest": trees.is_forest,
                "loss": loss,
                "trees": trees.n_trees,
                "rounds": about.rounds,
                "depth": about.depth,
                "leaves": about.leaves,
                "n_features": trees.n_features,
                "features": trees.feature_names,
                "n_classes": trees.n_classes if trees.task == "classification" else None,
                "classes": about.classes,
                "tells": about.tells,
            }
        )
        return
    print(f"{name} holds a model, {format_bytes(len(model.content))}. {model.summary}")
    named = f"The loss is {printable(loss)}" if loss else "The file names no loss"
    print(
        f"{named}. {counted(about.rounds, 'round')}, {counted(about.leaves, 'leaf', 'leaves')}, "
        f"at most {counted(about.depth, 'split')} from a root to a leaf."
    )
    named = _some(list(trees.feature_names or ())) or "the file does not name them"
    print(f"It reads {counted(trees.n_features, 'feature')}: {named}.")
    if trees.task == "classification":
        labels = _some(list(about.classes)) or "the file does not name them"
        print(f"It tells {counted(trees.n_classes, 'class', 'classes')} apart: {labels}.")
    more = f" --loss {options.loss}" if options.loss else ""
    print(
        f"With its training table, gbuq score TRAIN NEW --model {name}{more} tells of each row: "
        f"{'; '.join(about.tells)}."
    )


def _some(names: list[Any]) -> str:
    """The first of some names."""
    more = ", ..." if len(names) > _MOST_LISTED else ""
    return ", ".join(printable(name) for name in names[:_MOST_LISTED]) + more


def _model_of(header: dict[str, Any]) -> dict[str, Any]:
    """What a model's header says of it: class, columns, classes and parameters."""
    from gbuq_core.model_files.fields import model_node

    kind, parts = model_node(header)
    n_features = parts.get("n_features_in_")
    if n_features is not None and type(n_features) is not int:
        raise ModelFileError("The model file is damaged (it has no number of features).")
    settings = {n: parts[n] for n in inspect.signature(kind).parameters if n in parts}
    return {
        "kind": kind.__name__,
        "n_features": n_features,
        "features": list(map(str, _labels(parts.get("feature_names_in_")))),
        "classes": _labels(parts.get("classes_")),
        "settings": dict(_plain_settings(settings)),
    }


def _labels(node: Any) -> list[Any]:
    return list(node["values"]) if isinstance(node, dict) else []


def _plain_settings(nodes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The parameters that are numbers, text or lists of them; a tuple is a list here."""
    for name, node in nodes.items():
        value = node.get("tuple", node) if isinstance(node, dict) else node
        parts = value if isinstance(value, list) else [value]
        if not any(isinstance(part, dict) for part in parts):
            yield name, value


def _tell_table(source: Path | bytes, name: str, options: argparse.Namespace) -> None:
    """A table by its columns, as they would be used without corrections."""
    table = tables.read_table(source, name, reading_of(options))
    check_formats(options, table)
    schema = tables.infer_schema(table)
    target = tables.suggest_target(schema)
    task, reason = tables.infer_task(table, schema, target)
    if options.json:
        print_json(
            {
                "file": name,
                "holds": "table",
                "format": table.source.format,
                "bytes": table.source.n_bytes,
                "sha256": table.source.digest,
                "rows": table.n_rows,
                "columns": [_column(column) for column in schema.columns],
                "left_out": [
                    {key: value for key, value in each._asdict().items() if value is not None}
                    for each in table.left_out
                ],
                "suggested_target": target,
                "task": task,
                "notices": (*table.notices, *schema.notices),
            }
        )
        return
    n_columns = counted(len(schema.columns), "column")
    print(
        f"{name} holds a table: {counted(table.n_rows, 'row')} and {n_columns}, "
        f"{format_bytes(table.source.n_bytes)}."
    )
    head = ("Column", "Kind", "Missing", "Distinct", "Used", "Why")
    lines = [
        (
            printable(c.name),
            c.kind,
            f"{c.n_missing:,}",
            f"{c.n_distinct:,}",
            "yes" if c.used else "no",
            printable(c.reason),
        )
        for c in schema.columns
    ]
    print_columns([head, *lines])
    print(f"A likely target is {shown(target)} ({task}). {printable(reason)}")
    say_notes((*table.notices, *schema.notices), options)


def _column(column: tables.Column) -> dict[str, Any]:
    from gbuq_core.tables.column_notices import column_notices  # late: help needs no pandas

    fields = ("name", "kind", "used", "examples", "reason", "style")
    return {
        **{name: getattr(column, name) for name in fields},
        **{name: getattr(column, f"n_{name}") for name in ("missing", "distinct", "unreadable")},
        "range": column.limits,
        "missing_words": dict(column.missing_words),
        "notices": column_notices([column]),
    }
