"""What means nothing or is impossible on the command line is one sentence."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from command_parts import refusal

from gbuq_core.__main__ import main
from gbuq_core.commands import combinations
from gbuq_core.commands.model_options import check_method, plan_of
from gbuq_core.commands.parser import build_parser
from gbuq_core.tables import ScorePlan

GIVEN = "does not go with --model, whose trees"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables, a database and a project."""
    path = tmp_path_factory.mktemp("combinations")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(-2, 2, 60), "t": range(60)}).round(6)
    frame["y"] = frame.x**2
    frame["class"] = np.where(frame.x > 0, "high", "low")
    frame.to_csv(path / "rows.csv", index=False)
    frame.to_parquet(path / "rows.parquet")
    with sqlite3.connect(path / "rows.db") as database:
        frame.to_sql("points", database, index=False)
    database.close()
    fit = ["fit", str(path / "rows.csv"), "--target=y", "--trees=10", "--ensemble=virtual"]
    assert main([*fit, "--quiet", f"--out={path / 'p.gbuq'}"]) == 0
    return path


ROWS = "score rows.csv --target y --out o.csv"
NEW = "score rows.csv rows.csv --target y --out o.csv"
MODEL = "rows.csv --target y --model m.cbm"
SQL = "score --sql=SELECT --url sqlite:///rows.db --target y --out o.csv"
# A line that is refused, and the beginning of what is said about its last option.
LINES = {
    f"{ROWS} --next-rows 3": "--next-rows goes with --next only",
    f"{ROWS} --trust": "--trust goes with --project only",
    f"{ROWS} --neighbors 3": "--neighbors goes with --model only",
    f"{ROWS} --loss RMSE": "--loss goes with --model only",
    f"{ROWS} --workers 2": "--workers goes with --scheduler or --cluster only",
    f"{ROWS} --resume": "--resume needs TRAIN and NEW",
    f"{ROWS} --ensemble independent --truncation-step 5": "--truncation-step does not go with --e",
    f"{ROWS} --ensemble independent --truncation-start .2": "--truncation-start does not go with",
    f"{ROWS} --ensemble virtual --members 3": "--members does not go with an ensemble of one",
    f"{ROWS} --truncation-step 5 --members 3": "--members does not go with an ensemble of one",
    f"{ROWS} --method csglb --members 3": "--members does not go with an ensemble of one",
    f"{ROWS} --method csglb --ensemble virtual": "--ensemble does not go with --method csglb",
    f"{ROWS} --method csglb --truncation-step 5": "--truncation-step does not go with --method",
    f"{ROWS} --cycle-length 5": "--cycle-length does not go with --method sglb",
    f"{ROWS} --burn-in 5": "--burn-in does not go with --method sglb",
    f"{ROWS} --method knn --most-members 5": "--most-members does not go with --method knn",
    f"{NEW} --folds 3": "--folds does not go with a second file",
    f"{ROWS} --split time --split-column t --folds 3": "--folds does not go with --split time",
    f"{ROWS} --split-column t": "--split-column goes with --split",
    f"{ROWS} --sheet a": "--sheet is for Excel files",
    "score rows.parquet --target y --out o.csv --delimiter ,": "--delimiter is for text files",
    f"{SQL} --encoding utf-8": "--encoding does not go with --sql alone",
    "score rows.csv --target class --out o.csv --level 0.8": "--level is for a regression",
    "score rows.csv --target class --out o.csv --conformal": "Conformal intervals need a number",
    "score rows.csv --target class --out o.csv --scale log": 'The target "class" holds classes',
    "fit rows.csv --target class --out o --level 0.8": "--level is for a regression",
    "fit rows.csv --target y --out o --folds 3": "There is no option --folds",
    "explain rows.csv --target class --row 1 --unit variance": "--unit is for a regression",
    "explain rows.csv --target y --row 1 --level 0.8": "There is no option --level",
    "explain rows.csv --project p.gbuq --row 1 --seed 3": "--seed does not go with --project",
    "report rows.csv --target class --out r.html --unit variance": "--unit is for a regression",
    "report rows.csv --target class --out r --fails-by misses": "--fails-by=misses is for a regr",
    "report rows.csv --project p.gbuq --out r.html --level 0.8": "--level does not go with --proj",
    "compare rows.csv --target y --methods knn --trees 9": "--trees is for boosted ensembles",
    "compare rows.csv --target y --methods knn --stopping none": "--stopping is for boosted",
    "compare rows.csv --target y --methods csglb,knn --members 9": "--members is for independent",
    # What is impossible.
    f"{ROWS} --trees 0": "--trees must be a whole number",
    f"{ROWS} --trees many": "invalid int value",
    f"{ROWS} --depth 99": "depth must be",
    f"{ROWS} --learning-rate -1": "--learning-rate must be",
    f"{ROWS} --seed -1": "seed must be",
    f"{ROWS} --jobs 0": "n_jobs must be",
    f"{ROWS} --engine abacus": "invalid choice",
    f"{ROWS} --delimiter x": "delimiter must be one of",
    f"{ROWS} --encoding klingon": "no encoding 'klingon'",
    f"{ROWS} --encoding undefined": "undefined",
    f"{ROWS} --drop nope": 'no column "nope"',
    f"{ROWS} --category nope": 'no column "nope"',
    f"{ROWS} --stopping never": "invalid choice",
    f"{ROWS} --stopping none --method gp": "--stopping does not go with --method gp",
    f"{ROWS} --speed 11": "There is no option --speed",
    f"{ROWS} --method csglb --truncation-start 0.2": "--truncation-start does not go with",
    f"{ROWS} --method csglb --engine catboost": "no cyclical gradients",
    f"{ROWS} --trees 40 --method csglb --burn-in 10": "there are only 10 cycles",
    f"{ROWS} --method gp --trees 5": "--trees does not go with --method gp",
    f"{ROWS} --method gnll --ensemble virtual": "--ensemble does not go with",
    f"{ROWS} --method gnll --engine catboost": "--engine does not go with",
    f"{ROWS} --method gnll --trees 0": "--trees must be a whole number",
    f"{ROWS} --method vrf": "cannot score a table for regression",
    f"{ROWS} --split group": "give --split-column",
    f"{ROWS} --split time --split-column class": "neither dates nor numbers",
    f"{ROWS} --split group --split-column nobody": 'no column "nobody"',
    f"{ROWS} --split weekly": "invalid choice",
    "score rows.csv --target t --out o.csv --scale log": "not positive",
    f"{ROWS} --trees 5 --seed 1 --trees=7": '--trees is given twice, as "5" and as "7"',
    f"{ROWS} --conformal-by x --conformal-by z": "give it once",
    f"{ROWS} --kind x=category --kind x=text": 'say two things of the column "x"',
    f"{ROWS} --drop x --use x": 'say two things of the column "x"',
    f"{ROWS} --level 90": "between 0 and 1, such as 0.9",
    "score rows.csv --target y --out rows.csv": "would be overwritten",
    "score rows.csv --target y --out none/out.csv": "There is no directory",
    "score rows.csv --target y --out .": "is a directory",
    f"score rows.csv --target y --out {'x' * 300}": "cannot be written",
    "score no.csv --target y --out o.csv": 'There is no file "no.csv"',
    f"score {'x' * 300} --target y --out o.csv": "There is no file",
    "score rows.csv --out o.csv": "give --target",
    "": "",
    "score": "",
    "dance": "",
    f"{ROWS} --next o.csv": "name the same file",
    "score rows.csv --project p.gbuq --out o.csv --trees 5": "--trees does not go with --project",
    "score rows.csv --project p.gbuq --out o.csv --target=y": "--target does not go with --project",
    "score rows.csv --project p.gbuq --out o.csv --jobs 1": "--jobs does not go with --project",
    "score rows.csv more.csv --project p.gbuq --out o.csv": 'There is no file "more.csv"',
    "score rows.csv --project p.gbuq --out o.csv --delimiter x": "delimiter must be one of",
    "score --project p.gbuq --out o.csv": "",
    "score rows.csv --project p.gbuq --out p.gbuq": "is an input file",
    "score rows.csv --project rows.csv --out o.csv": "",
    "score rows.csv --project none --out o.csv": "",
    "fit rows.csv --target y --method vrf --out o": "cannot score a table for",
    "fit rows.csv --target y --out rows.csv": "is an input file",
    "fit rows.csv --target y --out .": "is a directory",
    "fit rows.csv --target y --json --out -": "--json and --out both",
    "fit --target y --out o": "no table to learn from",
    "fit rows.csv --target y --sql SELECT --url x --out o": "takes no file",
    "explain rows.csv --target y --row 0": "--row must be",
    "explain rows.csv --target y --method knn --row 61": "There is no row 61: the file has 60",
    "explain rows.csv --target y": "required: --row",
    "explain rows.csv --target y --row 1 --trees 0": "--trees must be",
    "report rows.csv --target y --out .": "is a directory",
    "report rows.csv --target y --out rows.csv": "is an input file",
    "report rows.csv --target y --out /dev/null": "a device or a pipe",
    "report rows.csv --target y --out - --json": "--json and --out both",
    "report rows.csv --target y --method knn --out r.html --group z": 'no column "z"',
    "compare rows.csv --target y --methods abacus": "no method 'abacus'",
    "compare rows.csv --target y --methods sgb,knn,gp,ibug,sglb": "got 5",
    "compare rows.csv --target y --methods sgb --sql S --url sqlite://": "takes no file",
    "compare rows.csv --target y --methods sgb --reference gp --trees 5": "reference 'gp'",
    "compare rows.csv --target y --methods sgb --json --out -": "--json and --out both",
    "score --sql SELECT --target y --out o.csv": "go together",
    f"{SQL} rows.csv rows.csv": "one file at most",
    "score --target y --out o.csv": "no table to learn from",
    "score --sql=DROP --url sqlite:///rows.db --target y --out o.csv": "must begin with SELECT",
    "score --sql=SELECT --url sqlite:///rows.db --target y --out rows.db": "would be overwritten",
    "info p.gbuq --delimiter ,": "--delimiter is for text files",
    "info rows.csv --sheet a": "--sheet is for Excel files",
    **{
        f"explain {MODEL} --row 1 --{name}": f"--{name.split('=')[0]} {GIVEN}"
        for name in (
            "by=data",
            "unit=std",
            "seed=3",
            "jobs=1",
            "unfamiliarity=no",
            "trees=9",
            "method=sglb",
            "split=random",
            "scale=plain",
            "most-members=2",
            "burn-in=1",
        )
    },
    **{
        f"score {MODEL} --out o.csv --{name}": f"--{name.split('=')[0]} {GIVEN}"
        for name in ("seed=3", "conformal", "cluster=local", "folds=3", "engine=numba", "next=n")
    },
}


@pytest.mark.parametrize("line", LINES)
def test_what_means_nothing_is_one_sentence(line, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    assert LINES[line] in refusal(capsys, *line.split())
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("method", ["csglb", "knn"])
def test_the_usual_engine_may_be_named_with_any_method(method):
    line = ["score", "a.csv", "--target=y", "--out=b.csv", f"--method={method}", "--engine=numba"]
    options = build_parser("gbuq", "1").parse_args(line)
    options.typed = frozenset({"method", "engine"})
    check_method(options)
    assert plan_of(options) == ScorePlan(method=method)


def test_rules_name_options_that_exist():
    (commands,) = (a.choices for a in build_parser("gbuq", "1")._actions if a.dest == "command")
    known = {action.dest for command in commands.values() for action in command._actions}
    assert {name for rule in combinations._RULES for name in rule.options} <= known
    # With --model, every option of score and explain is either refused or used.
    used = {
        *("help", "train", "new", "target", "out", "row", "project", "model", "neighbors", "loss"),
        *("level", "keep_words"),
        *("task", "category", "drop", "use", "kind", "missing", "sql", "url", "config", "json"),
        *("quiet", "ask", *combinations.READING),
    }
    elsewhere = {"trust", "next_rows", "stream", "resume", "train_rows"}  # by a rule of their own
    (given,) = (set(rule.options) for rule in combinations._RULES if "method" in rule.options)
    both = {action.dest for name in ("score", "explain") for action in commands[name]._actions}
    assert both == used | elsewhere | given
