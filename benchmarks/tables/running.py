"""Running cells: which, in what order, how many at once, and how long the rest will take."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.protocols import PROTOCOLS, Protocol
from benchmarks.tables.apart import Answer, Children, Request, compute_apart
from benchmarks.tables.cells import Cell, Cells

Say = Callable[[str], None]
# What importing the libraries takes, before a cell begins.
START_SECONDS = 2.0
SPLITS = 3  # of a set, where neither a number is asked for nor its protocol says more


class Wanted(NamedTuple):
    """What a run shall compute, of which tables, sets and methods; None is all.

    splits : the first so many of each set; None is `SPLITS` or what the protocol needs at least.
    downloads : with those sets that are downloads, though ``sets`` names none.
    """

    tables: tuple[str, ...]
    sets: tuple[str, ...] | None
    methods: tuple[str, ...] | None
    splits: int | None
    effort: str
    downloads: bool = False


class Outcome(NamedTuple):
    """How many cells were computed, what failed, and what is not installed, in sentences."""

    computed: int
    failures: tuple[str, ...]
    missing: tuple[str, ...]


def list_cells(wanted: Wanted) -> list[Cell]:
    """The cells of a run, table by table and set by set."""
    cells = []
    for table in wanted.tables:
        protocol = PROTOCOLS[table]
        for name, most in protocol.sets.items():
            if wanted.sets is not None and name not in wanted.sets:
                continue
            if wanted.sets is None and name in protocol.downloads and not wanted.downloads:
                continue
            for split in range(most):
                cells += [
                    Cell(table, name, split, method)
                    for method in protocol.methods_on(name)
                    if (wanted.methods is None or method in wanted.methods)
                    and split < (wanted.splits or _splits_of(protocol, name, method))
                ]
    return cells


def _splits_of(protocol: Protocol, name: str, method: str) -> int:
    return max(SPLITS, protocol.least_splits.get((name, method), 0))


def needed_by(cell: Cell, effort: str) -> tuple[Cell, ...]:
    """The cells whose settings save this one its tuning: those come first where they are wanted."""
    protocol = PROTOCOLS[cell.table]
    needed = [cell._replace(method=method) for method in protocol.uses.get(cell.method, ())]
    once = effort in protocol.tuned_once and cell.set not in protocol.tuned_on_each
    if cell.split and once:
        needed += [each._replace(split=0) for each in (cell, *needed)]
    return tuple(needed)


def estimate_seconds(cell: Cell, effort: str) -> float:
    """Roughly the processor seconds of a cell, as its protocol has measured them."""
    protocol = PROTOCOLS[cell.table]
    return START_SECONDS + protocol.estimate(cell.set, cell.method, effort)


def spell_minutes(seconds: float) -> str:
    """A time in words.

    >>> spell_minutes(40), spell_minutes(600), spell_minutes(9000)
    ('less than a minute', '10 min', '2.5 h')
    """
    if seconds < 60.0:
        return "less than a minute"
    return f"{seconds / 60:.0f} min" if seconds < 5400.0 else f"{seconds / 3600:.1f} h"


class Runner:
    """Computes the cells of a run that the folder does not have yet."""

    def __init__(
        self, store: Cells, data_dir: Path | None, effort: str, time_limit: float, say: Say = print
    ) -> None:
        self._store = store
        self._data_dir = None if data_dir is None else str(data_dir.resolve())
        self._effort = effort
        self._time_limit = time_limit
        self._say = say

    def run(self, cells: Sequence[Cell], resume: bool, jobs: int, cluster: Any = None) -> Outcome:
        """Compute cells, ``jobs`` at once or on a cluster, and write each when it is there."""
        stored = [cell for cell in cells if resume and self._store.get(cell) is not None]
        todo = [cell for cell in cells if cell not in set(stored)]
        self._fresh = set(stored)
        at_once = jobs if cluster is None else max(1, cluster.n_workers)
        left = sum(estimate_seconds(cell, self._effort) for cell in todo)
        words = f", {len(stored)} {'is' if len(stored) == 1 else 'are'} stored" if stored else ""
        self._say(
            f"{len(todo)} of {len(cells)} cells to compute{words}. About "
            f"{spell_minutes(left / at_once)} ({left / 60:.0f} processor minutes, {at_once} at "
            "once)."
        )
        answers = self._local(todo, jobs) if cluster is None else self._spread(todo, cluster)
        with closing(answers):  # which ends the processes, whatever happens here
            return self._collect(answers, len(todo), left, at_once)

    def _collect(
        self, answers: Iterable[tuple[Cell, Answer]], n_todo: int, left: float, at_once: int
    ) -> Outcome:
        failures, missing = [], []
        spent, guessed = 0.0, 0.0
        for count, (cell, answer) in enumerate(answers, start=1):
            guess = estimate_seconds(cell, self._effort)
            left -= guess
            if answer.result is None:
                (missing if answer.missing else failures).append(answer.refusal)
                self._say(f"[{count}/{n_todo}] {cell}: left out. {answer.refusal}")
                continue
            spent, guessed = spent + answer.result.seconds, guessed + guess
            # Ten guessed minutes, as if they had come true, keep the first cells from ruling.
            rest = left * (spent + 600.0) / (guessed + 600.0) / at_once
            words = ", ".join(f"{k} {v:.3g}" for k, v in list(answer.result.scores.items())[:3])
            self._say(
                f"[{count}/{n_todo}] {cell}: {words} ({answer.result.seconds:.1f} s); "
                f"{spell_minutes(rest)} left"
            )
        computed = n_todo - len(failures) - len(missing)
        return Outcome(computed, tuple(failures), tuple(sorted(set(missing))))

    def _request(self, cell: Cell) -> Request:
        known: dict[str, dict[str, Any]] = {}
        for other in needed_by(cell, self._effort):
            earlier = self._store.get(other) if other in self._fresh else None
            # The same split's own choice goes before that of split 0.
            if earlier is not None:
                known.setdefault(other.method, earlier.settings)
        return Request(cell, self._data_dir, self._effort, known, self._time_limit)

    def _keep(self, cell: Cell, answer: Answer) -> None:
        if answer.result is not None:
            self._store.put(answer.result)
            self._fresh.add(cell)

    def _ready(self, waiting: Iterable[Cell], unfinished: set[Cell]) -> list[Cell]:
        return [
            cell
            for cell in waiting
            if not unfinished.intersection(needed_by(cell, self._effort)) - {cell}
        ]

    def _local(self, todo: Sequence[Cell], jobs: int) -> Generator[tuple[Cell, Answer]]:
        waiting, unfinished = list(todo), set(todo)
        flying: dict[Future[Answer], Cell] = {}
        children = Children()
        with ThreadPoolExecutor(jobs) as pool:
            try:
                while waiting or flying:
                    for cell in self._ready(waiting, unfinished)[: jobs - len(flying)]:
                        flying[pool.submit(compute_apart, self._request(cell), children)] = cell
                        waiting.remove(cell)
                    done, _ = wait(flying, return_when=FIRST_COMPLETED)
                    for future in done:
                        cell, answer = flying[future], future.result()
                        self._keep(cell, answer)
                        del flying[future]
                        unfinished.discard(cell)
                        yield cell, answer
            finally:  # at a Ctrl-C, say, or a full disk, cells are under way
                children.end()
                for future, cell in flying.items():
                    self._keep(cell, future.result())  # what had ended just before

    def _spread(self, todo: Sequence[Cell], cluster: Any) -> Generator[tuple[Cell, Answer]]:
        waiting, unfinished = list(todo), set(todo)
        while waiting:
            ready = self._ready(waiting, unfinished)
            requests = [self._request(cell) for cell in ready]
            for index, answer in cluster.each(compute_on_worker, None, requests):
                self._keep(ready[index], answer)
                yield ready[index], answer
            waiting = [cell for cell in waiting if cell not in set(ready)]
            unfinished -= set(ready)


def compute_on_worker(shared: None, request: Request) -> Answer:
    """What a cluster's worker runs: a cell, in a process of its own there too."""
    return compute_apart(request)


def complain(sentence: str) -> None:
    """Say on stderr what went wrong."""
    print(sentence, file=sys.stderr)
