"""Whether `UnfamiliarityScore` finds rows of another kind, and leaves ordinary ones alone.

``moved`` moves a held-out fifth of six UCI sets away: every column by 3 std, one column of each row
by 10 std, or each column permuted. ``tail`` leaves out the quarter of the rows where one column is
largest and compares with the knowledge uncertainty of ten independent models. ``shifted`` draws
second files: honest ones, which the test of exchangeability should let pass, and ones shifted in
three ways, whose weighted conformal intervals should hold. Large sets are cut to ``--rows`` rows.
Every (set, section) is written to ``--store`` at once, so a run can go on.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors

from benchmarks.report import Row, Split, make_parser, report
from benchmarks.store import Store
from gbuq_core import BoostedEnsembleRegressor, UnfamiliarityScore
from gbuq_core.metrics import auroc
from gbuq_core.tables import (
    ScorePlan,
    can_weigh,
    measure_shift,
    read_table,
    row_intervals,
    score_table,
)
from gbuq_core.tables.shifting import exchangeability

SETS = ("concrete", "wine", "energy", "boston", "power", "protein")
PERMUTED_BARS = dict(zip(SETS, (0.95, 0.86, 0.98, 0.93, 0.85, 0.98), strict=True))
ALL_BAR, ONE_BAR = 0.99, 0.98
LEAST_ABOVE, MOST_ABOVE = 0.05, 0.15  # of ordinary rows with a score above 0.9
SETS_BETTER = 5
_SECTIONS = ["moved", "tail", "shifted"]
SHIFTED_SETS, HONEST_FILES = ("power", "protein"), 200  # of the honest files, all sets in turn
WAYS, SHIFT_SEEDS = ("one column", "noisy rows", "ends"), 5
LEAST_FALSE, MOST_FALSE, LOWEST, HIGHEST = 0.03, 0.08, 0.85, 0.95
_MOST_ROWS = 6000


def load(data_dir: Path, name: str, most_rows: int) -> pd.DataFrame:
    """A set with the column ``target``."""
    table = pd.read_csv(data_dir / f"{name}.csv.gz")
    return table if len(table) <= most_rows else table.sample(most_rows, random_state=0)


def split(table: pd.DataFrame, seed: int = 0) -> Split:
    """Four fifths to learn from and a fifth to test."""
    X = table.drop(columns="target").to_numpy(dtype=np.float64)
    y = table["target"].to_numpy(dtype=np.float64)
    order = np.random.default_rng(seed).permutation(len(y))
    test, learnt = order[: len(y) // 5], order[len(y) // 5 :]
    return Split(X[learnt], y[learnt], X[test], y[test])


def move(data: Split, seed: int = 0) -> dict[str, np.ndarray]:
    """The test rows moved away in three ways."""
    rng = np.random.default_rng((seed, 1))
    rows, std = data.X_test, data.X_train.std(axis=0)
    outlier = rows.copy()
    column = rng.integers(0, rows.shape[1], len(rows))
    outlier[np.arange(len(rows)), column] += 10.0 * std[column]
    permuted = np.column_stack([rng.permutation(values) for values in rows.T])
    return {"+3 std": rows + 3.0 * std, "one column +10 std": outlier, "permuted": permuted}


def separate(ordinary: np.ndarray, foreign: np.ndarray) -> float:
    """AUROC of foreign against ordinary rows."""
    is_foreign = np.r_[np.zeros(len(ordinary)), np.ones(len(foreign))]
    return auroc(is_foreign, np.r_[ordinary, foreign])


def leave_tail_out(table: pd.DataFrame, seed: int = 0) -> tuple[Split, np.ndarray, str]:
    """Rows without the upper quarter of the column of most values, that quarter, and its name."""
    columns = table.drop(columns="target")
    name = columns.nunique().idxmax()
    is_tail = (columns[name] > columns[name].quantile(0.75)).to_numpy()
    return split(table[~is_tail], seed), columns[is_tail].to_numpy(dtype=np.float64), str(name)


def run_moved(data: Split) -> dict[str, Any]:
    """AUROC of the score and of each part, and the share of ordinary rows above 0.9."""
    score = UnfamiliarityScore(random_state=0).fit(data.X_train, data.y_train)
    ordinary = score.judge(data.X_test)
    areas: dict[str, Any] = {
        "above": float(np.mean(ordinary.score > 0.9)),
        "held out above": float(np.mean(score.held_out_.score > 0.9)),
        "parts": list(score.parts_),
    }
    for way, rows in move(data).items():
        judged = score.judge(rows)
        areas[way] = {"score": separate(ordinary.score, judged.score)}
        for k, part in enumerate(score.parts_):
            areas[way][part] = separate(ordinary.ranks[:, k], judged.ranks[:, k])
    return areas


def run_tail(table: pd.DataFrame) -> dict[str, Any]:
    """AUROC of the rows that were left out, by the score and by ten independent models."""
    data, tail, name = leave_tail_out(table)
    score = UnfamiliarityScore(random_state=0).fit(data.X_train, data.y_train)
    models = BoostedEnsembleRegressor(n_members=10, n_trees=300, stopping=None, random_state=0)
    models.fit(data.X_train, data.y_train)
    doubt = [models.predict_uncertainty(rows).knowledge for rows in (data.X_test, tail)]
    ordinary, judged = score.judge(data.X_test), score.judge(tail)
    inside = [k for k, part in enumerate(score.parts_) if part != "range"]
    return {
        "column": name,
        "score": separate(ordinary.score, judged.score),
        "without range": separate(*(x.ranks[:, inside].max(axis=1) for x in (ordinary, judged))),
        "knowledge": separate(*doubt),
    }


def run_honest(table: pd.DataFrame, seed: int) -> float:
    """The p-value of 30 % of a set, drawn by chance, against the others."""
    is_second = np.random.default_rng((seed, 7)).permutation(len(table)) < 0.3 * len(table)
    return exchangeability(table.drop(columns="target").to_numpy(np.float64), is_second, seed)


def run_shifted(table: pd.DataFrame, way: str, seed: int) -> dict[str, Any]:
    """Coverage of a shifted file by conformal intervals of 90 %, without weights and with them."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table))
    first, pool = (table.iloc[part] for part in np.split(order, [len(table) * 3 // 5]))
    X, y = pool.drop(columns="target").to_numpy(np.float64), pool["target"].to_numpy()
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    if way == "one column":
        log_odds = z[:, np.argmax([len(np.unique(column)) for column in X.T])]
    elif way == "noisy rows":  # as eight neighbours' targets say
        near = NearestNeighbors(n_neighbors=8).fit(z).kneighbors(z, return_distance=False)
        spread = y[near].std(axis=1)
        log_odds = np.where(spread > np.quantile(spread, 0.6), np.log(8.0), 0.0)
    else:
        log_odds = 0.5 * (z**2).mean(axis=1)
    odds = np.exp(np.minimum(log_odds, 3.0))
    drawn = rng.choice(len(pool), len(pool) // 3, replace=False, p=odds / odds.sum())
    tables = (read_table(part.to_csv(index=False).encode()) for part in (first, pool.iloc[drawn]))
    plan = ScorePlan(ensemble="virtual", n_trees=200, seed=seed)
    scored = score_table(next(tables), "target", new=next(tables), plan=plan)
    shift = measure_shift(scored, seed)
    ways = {"plain": None} | ({"weighted": shift} if can_weigh(shift) else {})
    numbers = {"p": shift.p_value, "effective": shift.n_effective, "why not": shift.why_not}
    for name, weights in ways.items():
        lower, upper = row_intervals(scored, 0.9, conformal=True, shift=weights)
        numbers[name] = float(np.mean((lower <= y[drawn]) & (y[drawn] <= upper)))
    return numbers


def run(store: Store, data_dir: Path, sets: list[str], sections: list[str], rows: int) -> None:
    """All results that are not in the store yet."""
    for name in sets:
        table = load(data_dir, name, rows)
        works = {
            "moved": lambda table=table: run_moved(split(table)),
            "tail": lambda table=table: run_tail(table),
        }
        for section, work in works.items():
            _put(store, store.key(name, 0, section), section in sections, work)
    for seed in range(HONEST_FILES if sets and "shifted" in sections else 0):
        name = sets[seed % len(sets)]
        work = partial(run_honest, load(data_dir, name, rows), seed)
        _put(store, store.key(name, seed, "honest"), True, work)
    for name in [name for name in SHIFTED_SETS if name in sets and "shifted" in sections]:
        for way in WAYS:
            for seed in range(SHIFT_SEEDS):
                work = partial(run_shifted, load(data_dir, name, rows), way, seed)
                _put(store, store.key(name, seed, f"shifted: {way}"), True, work)


def _put(store: Store, key: str, is_wanted: bool, work: Any) -> None:
    if is_wanted and key not in store.results:
        store.put(key, work())
        print(key, store.results[key], flush=True)


def rows_of(store: Store, sets: list[str]) -> list[Row]:
    """What is in the store against the bars."""
    rows: list[Row] = []
    for name in sets:
        moved = store.results.get(store.key(name, 0, "moved"))
        if moved:
            rows += _moved_rows(name, moved)
    rows += _tail_rows(store, sets)
    rows += _shifted_rows(store, sets)
    return rows


def _moved_rows(name: str, areas: dict[str, Any]) -> list[Row]:
    bars = {
        "+3 std": ALL_BAR,
        "one column +10 std": ONE_BAR,
        "permuted": PERMUTED_BARS[name],
    }
    rows = []
    for way, bar in bars.items():
        parts = ", ".join(f"{k} {v:.2f}" for k, v in areas[way].items() if k != "score")
        value = areas[way]["score"]
        rows.append(
            Row(
                f"{name}, {way}: AUROC",
                f"{value:.3f} ({parts})",
                f">= {bar}",
                value >= bar,
                areas[way],
            )
        )
    rows.append(
        Row(
            f"{name}: ordinary new rows above .9",
            f"{100 * areas['above']:.1f} %",
            "5 to 15 %",
            LEAST_ABOVE <= areas["above"] <= MOST_ABOVE,
            {},
        )
    )
    return rows


def _tail_rows(store: Store, sets: list[str]) -> list[Row]:
    tails = {name: store.results.get(store.key(name, 0, "tail")) for name in sets}
    known = {name: tail for name, tail in tails.items() if tail}
    rows = [
        Row(
            f"{name}, upper quarter of {tail['column']} left out: AUROC",
            f"{tail['score']:.3f} (without range {tail['without range']:.3f}), "
            f"ten models {tail['knowledge']:.3f}",
            "-",
            None,
            tail,
        )
        for name, tail in known.items()
    ]
    if len(known) == len(SETS):
        wins = sum(tail["score"] > tail["knowledge"] for tail in known.values())
        rows.append(
            Row(
                "tails found better than by ten models",
                f"{wins} of {len(SETS)}",
                f">= {SETS_BETTER}",
                wins >= SETS_BETTER,
                {},
            )
        )
    return rows


def _shifted_rows(store: Store, sets: list[str]) -> list[Row]:
    p = [number for key, number in store.results.items() if key.endswith("/honest")]
    rows = []
    if p:
        false = float(np.mean(np.array(p) <= 0.05))
        rows.append(
            Row(
                f"honest second files told apart at 5 %, of {len(p)}",
                f"{100 * false:.1f} %",
                "3 to 8 %",
                LEAST_FALSE <= false <= MOST_FALSE,
                {"p": p},
            )
        )
    for name in sets:
        for way in WAYS:
            keys = [store.key(name, seed, f"shifted: {way}") for seed in range(SHIFT_SEEDS)]
            results = [store.results[key] for key in keys if key in store.results]
            known = [each for each in results if "weighted" in each]
            if not known:
                continue
            plain, weighted, effective = (
                [each[key] for each in known] for key in ("plain", "weighted", "effective")
            )
            files = f"{len(known)} of {len(results)} files"
            unweighted = f"unweighted {min(plain):.3f} to {max(plain):.3f}"
            counted = f"{min(effective):.0f} to {max(effective):.0f} effective rows"
            rows.append(
                Row(
                    f"{name}, shifted by {way}: coverage of 90 %, {files}",
                    f"{min(weighted):.3f} to {max(weighted):.3f} ({unweighted}; {counted})",
                    ".85 to .95",
                    min(weighted) >= LOWEST and max(weighted) <= HIGHEST,
                    results,
                )
            )
    return rows


def main() -> None:
    """Run the sections asked for and report them."""
    parser = make_parser(__doc__.splitlines()[0], _SECTIONS)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rows", type=int, default=_MOST_ROWS, help="of a set, at most")
    parser.add_argument("--store", type=Path, help="where results are kept while running")
    arguments = parser.parse_args()
    store = Store(arguments.store, {"version": 1, "rows": arguments.rows})
    sets = arguments.sets if arguments.data_dir is not None else []
    if not sets:
        print("all sections need --data-dir")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(store, arguments.data_dir, sets, arguments.only, arguments.rows)
    report("Unfamiliar rows", rows_of(store, sets), arguments.json)


if __name__ == "__main__":
    main()
