"""Damaged and hostile model files: what becomes of 500 mutations of a valid file of each kind.

This process plays the server: it hands each file to a process that reads it within limits, checks
the answer, holds the model against a table, and uses what is accepted (IBUG, truncations, novelty).
It prints what came out of each kind of file, and ends with exit code 1 if a file cost more than a
sentence. To be quick, one process imports the libraries and forks for each file; the app starts a
new process for each.

    python benchmarks/hostile_models.py [--count 500] [--seed 0] [--out FILE.json]
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

KINDS = (
    "catboost cbm", "catboost json", "catboost cbm categories", "catboost json categories",
    "lightgbm text", "xgboost json", "xgboost ubj",
    "xgboost json categories", "xgboost ubj categories",
)  # fmt: skip
_NUMBER = re.compile(rb"\d+(\.\d+)?([eE][-+]?\d+)?")
_HUGE = (b"99999999999999999999", b"1e308", b"-1", b"4294967295", b"nan", b"1e999", b"2147483647")


def make_table(categories=False):
    """Rows with gaps, and a target; the last column may hold the codes of categories."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    X[::9, 1] = np.nan
    y = np.exp(0.3 * X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2
    if categories:
        X[:, 3] = rng.integers(0, 12, len(X))
        y += X[:, 3] % 3
    return X, y


def valid_file(kind, X, y):
    """A small model of a kind as its library writes it."""
    library, form, *categories = kind.split()
    if library == "lightgbm":
        import lightgbm

        settings = {"verbose": -1, "num_leaves": 7, "min_data_in_leaf": 5}
        return lightgbm.train(settings, lightgbm.Dataset(X, y), 8).model_to_string().encode()
    if library == "xgboost":
        import xgboost

        types = ["q", "q", "q", "c" if categories else "q"]
        data = xgboost.DMatrix(X, y, feature_types=types, enable_categorical=True)
        booster = xgboost.train({"max_depth": 3}, data, 8)
        return bytes(booster.save_raw(form))
    import catboost

    settings = {"iterations": 8, "depth": 3, "verbose": False, "allow_writing_files": False}
    rows = pd.DataFrame(X).astype({3: int}) if categories else X
    model = catboost.CatBoost(settings).fit(rows, y, cat_features=[3] if categories else None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save_model(str(path), format=form)
        return path.read_bytes()


def mutate(content, rng):
    """One change: flipped bytes, a cut, swapped, doubled or lost sections, or huge numbers."""
    data, n = bytearray(content), len(content)
    kind = rng.choice(["flip", "cut", "swap", "double", "lose", "huge"])
    if kind == "flip":
        for place in rng.integers(0, n, rng.integers(1, 9)):
            data[place] ^= 1 << int(rng.integers(0, 8))
    elif kind == "cut":
        del data[int(rng.integers(0, n)) :]
    elif kind == "huge":
        numbers = list(_NUMBER.finditer(content))
        if len(numbers) > 50 and content[:4] != b"CBM1" and content[1:2] != b"L":
            number = numbers[int(rng.integers(0, len(numbers)))]
            data[number.start() : number.end()] = _HUGE[int(rng.integers(0, len(_HUGE)))]
        else:
            at, width = int(rng.integers(0, max(1, n - 8))), int(rng.choice([1, 2, 4, 8]))
            data[at : at + width] = bytes([int(rng.choice([0xFF, 0x7F, 0x80, 0]))]) * width
    else:
        ends = np.sort(rng.integers(0, n, 4))
        if rng.random() < 0.5:  # short ones, which more often leave the rest as it is
            ends = ends[0] + np.cumsum(rng.integers(0, 24, 4))
        a, b, c, d = (int(end) for end in ends)
        swapped = data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]
        doubled, lost = data[:b] + data[a:b] + data[b:], data[:a] + data[b:]
        data = {"swap": swapped, "double": doubled, "lose": lost}[kind]
    return bytes(data)


def outcome_of(content, ask_reader, X, y):
    """What became of a file, in two or three words."""
    from gbuq_core.errors import GbuqError
    from gbuq_core.given_models import GivenJudge, GivenModel, matching, reading

    code, answer = ask_reader(content)
    if code:
        return f"ended the reading process ({'signal' if code < 0 else 'exit'})"
    try:
        source = reading.accept_model(code, answer)
    except GbuqError:
        return "refused by the " + ("reader" if b'"refused"' in answer[:400] else "checks")
    codes = []

    def ask(*what, **more):
        code, answer = ask_reader(*what, **more)
        codes.append(code)
        return code, answer

    reading.ask_reader = ask
    table = pd.DataFrame(X, columns=list("abcd"))
    if source.feature_names and len(source.feature_names) == 4:
        table.columns = list(source.feature_names)
    if len(source.plain.hashed):
        table[table.columns[3]] = X[:, 3].astype(int).astype(str)
    try:
        matched = matching.match_table(GivenModel(source, content, "model"), table, y)
        judge = GivenJudge(matched, table, y, 5)
        judged = judge.judge(table)
    except GbuqError:
        return "ended the predicting process" if any(codes) else "refused against the table"
    assert np.isfinite(judged.uncertainty.total).all()
    return "read and used"


def main(arguments=None):
    """Run all kinds and print the outcomes."""
    from benchmarks.nursery import Nurseries
    from gbuq_core.given_models import reading

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=500, help="mutations of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--out", help="also write the outcomes to this JSON file")
    options = parser.parse_args(arguments)
    by_kind, worse, nurseries = {}, [], Nurseries()
    reading.ask_process, ask_reader = nurseries.ask, reading.ask_reader
    for number, kind in enumerate(KINDS):
        if kind not in options.kinds.split(","):
            continue
        X, y = make_table(kind.endswith("categories"))
        began, valid = time.perf_counter(), valid_file(kind, X, y)
        assert outcome_of(valid, ask_reader, X, y) == "read and used", kind
        outcomes = Counter()
        for i in range(options.count):
            content = mutate(valid, np.random.default_rng([options.seed, number, i]))
            try:
                outcome = outcome_of(content, ask_reader, X, y)
            except Exception as error:
                outcome = "cost more than a sentence"
                worse.append(f"{kind} {i}: {type(error).__name__}: {error}")
            outcomes[outcome] += 1
        by_kind[kind] = dict(outcomes)
        print(f"{kind} ({len(valid):,} bytes, {time.perf_counter() - began:.0f} s)", flush=True)
        for outcome, count in outcomes.most_common():
            print(f"    {count:4d}  {outcome}", flush=True)
    nurseries.close()
    print("\n".join(worse[:20]))
    print(f"The server was ended 0 times; {len(worse)} files cost more than a sentence.")
    if options.out:
        Path(options.out).write_text(json.dumps({"outcomes": by_kind, "worse": worse}, indent=1))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
