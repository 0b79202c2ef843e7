"""Scoring a file block by block with one model, into part files.

The model is the one that `gbuq_core.tables.score_table` trains for a second file, and each row gets
the numbers that it would get there, bit for bit. Of the file to score, one block is in memory.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from gbuq_core.errors import ClusterError, InvalidParameter, TableError
from gbuq_core.jobs import stage, tick
from gbuq_core.parallel import is_elsewhere, spread_each
from gbuq_core.settings import AUTOMATIC
from gbuq_core.streaming.blocks import BlockFile, KeptBlocks, kept_rows
from gbuq_core.streaming.parquet_blocks import ParquetBlocks
from gbuq_core.streaming.parts import (
    SUFFIXES,
    PartFiles,
    PartRecord,
    Run,
    part_name,
    read_manifest,
    write_part,
)
from gbuq_core.streaming.surveying import Survey, own_columns, prepare_block, survey_file
from gbuq_core.tables import (
    ScoredTable,
    ScorePlan,
    Table,
    ask_about_split,
    infer_schema,
    measure_unfamiliarity,
    prepare_training,
    row_intervals,
    settle_plan,
    split_warnings,
    with_intervals,
)
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.cutting import cut_table
from gbuq_core.tables.drifting import FirstFile, SecondCounts, TableDrift, coverage_withheld
from gbuq_core.tables.intervals import EndCounts, count_ends, describe_ends
from gbuq_core.tables.judging import HeldOut, heavy_rows, held_out
from gbuq_core.tables.new_units import find_new_units
from gbuq_core.tables.output import (
    NUMBER_UNIT,
    added_columns,
    flag_notices,
    flagged_sentence,
    join_columns,
)
from gbuq_core.tables.plan import USUAL_LEVEL, Cut
from gbuq_core.tables.predicting import Predictions, predict_rows
from gbuq_core.tables.schema import Schema
from gbuq_core.tables.scoring import score_prepared
from gbuq_core.tables.unfamiliar import (
    UNFAMILIAR,
    TableUnfamiliarity,
    foreign_sentence,
    is_unlike,
    judge_more_rows,
    lacking_notice,
)
from gbuq_core.validation import check_number

# Methods predict, and unfamiliarity is measured, in blocks of 16,384 and 4,096 rows. Blocks that
# hold a whole number of those give the same products of matrices as the whole file.
BLOCK_ROWS = 65_536
PART_BLOCKS = 4
_NOT_NAMED = (
    "The rows of the second file that have most of its squared error are not named where it is "
    "scored block by block: look at the largest values of the column error."
)
_MOST_LEVELS = 1000  # new categories of a column whose rows are counted one by one
_PROBED = 512  # rows whose predictions tell two models apart


@dataclass(frozen=True, kw_only=True)
class StreamedScores:
    """What scoring a file in blocks came to.

    Attributes
    ----------
    base : ScoredTable
        The model and its scores on rows held out from the first file; its frame and predictions
        are those of the first block.
    n_rows, n_parts, n_kept : int
        Rows of the file, parts, and how many of those an earlier run had finished.
    n_known : int
        Rows with a target that the model knows.
    nll, error : float
        Mean negative log-likelihood of those, and their root mean squared error or share of wrong
        classes; NaN without any.
    n_flagged : int
        Rows with a category or a gap that training does not have.
    share_unfamiliar, n_outside : float, int
        Share of rows with an unfamiliarity above 0.9, and rows with a value that the first file
        does not reach; NaN and 0 where it is not measured.
    columns : tuple of str
        The added columns.
    drift : TableDrift
        As `gbuq_core.tables.measure_drift` tells it of the whole file.
    notices : tuple of str
    warnings : tuple of str
        That the file is unlike the first, what makes the scores of the rows that were learnt from
        better than they will be, and which of them have most of the squared error.
    no_coverage : str
        Why ``base.scores`` do not hold for the file; else empty.
    directory : Path or None
        Where the parts are; None if they were joined.
    seconds : float
    """

    base: ScoredTable
    n_rows: int
    n_parts: int
    n_kept: int
    n_known: int
    nll: float
    error: float
    n_flagged: int
    share_unfamiliar: float
    n_outside: int
    columns: tuple[str, ...]
    drift: TableDrift
    notices: tuple[str, ...]
    warnings: tuple[str, ...]
    no_coverage: str
    directory: Path | None
    seconds: float


def score_in_blocks(
    table: Table,
    new: BlockFile,
    out: str | PathLike[str],
    target: str,
    *,
    task: str | None = None,
    schema: Schema | None = None,
    plan: ScorePlan | None = None,
    cut: Cut | None = None,
    level: float = USUAL_LEVEL,
    conformal: bool = False,
    unfamiliarity: bool = True,
    resume: bool = False,
    settings: Mapping[str, Any] | None = None,
    block_rows: int = BLOCK_ROWS,
    part_rows: int | None = None,
) -> StreamedScores:
    r"""Train on a table, score a file block by block, and write the rows.

    Parameters
    ----------
    table : Table
        To learn from.
    new : BlockFile
        To score; see `open_blocks`.
    out : str or path
        An empty directory for Parquet parts, or one file: Parquet if the name ends in .parquet,
        else CSV. Beside a file, its parts are in ``OUT.parts`` until they are joined.
    target : str
    task, schema, plan
        As in `gbuq_core.tables.score_table`.
    cut : Cut, optional
        Which members count.
    level, conformal
        Of the intervals; see `gbuq_core.tables.with_intervals`.
    unfamiliarity : bool
        Whether to measure how unfamiliar the rows are.
    resume : bool
        Go on with the parts of an earlier run.
    settings : mapping, optional
        What else decides the numbers, such as the options of a command; a resumed run must have
        the same.
    block_rows, part_rows : int
        Rows of a block, and of a part: a multiple, four blocks by default.

    Examples
    --------
    >>> import tempfile
    >>> from gbuq_core.streaming import open_blocks
    >>> from gbuq_core.tables import read_table
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = "".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}\n" for i in range(60))
    >>> _ = (folder / "new.csv").write_text("x\n" + "".join(f"{i % 9}\n" for i in range(100)))
    >>> scored = score_in_blocks(
    ...     read_table(f"x,y\n{rows}".encode()), open_blocks(folder / "new.csv", to_score=True),
    ...     folder / "scored.csv", "y", plan=ScorePlan(n_trees=40), unfamiliarity=False,
    ...     block_rows=16,
    ... )
    >>> scored.n_rows, scored.n_parts, len((folder / "scored.csv").read_text().splitlines())
    (100, 2, 101)
    """
    began = time.perf_counter()
    out = Path(out)
    plan, alone = _plan_of_blocks(plan or ScorePlan())
    part_rows = part_rows or PART_BLOCKS * block_rows
    check_number("block_rows", block_rows, 1, 2**24, integer=True)
    if part_rows % block_rows:
        raise InvalidParameter("part_rows must be a multiple of block_rows.")
    head = Table(next(new.blocks(block_rows)), new.source, (), np.zeros(0, np.int64))
    units = find_new_units(table, schema or infer_schema(table), target, head, plan)
    plan = units.plan
    training = prepare_training(table, units.schema, target, task, plan.split, plan.split_column)
    with stage(12.0 if unfamiliarity else 11.0):
        with stage(1.0, span=1.0):
            new, left = kept_rows(new)
            survey = survey_file(new, training)
        n_parts = -(-survey.n_rows // part_rows)
        directory, suffix, joins = places_of(out)
        earlier = read_manifest(directory) if resume else None
        settled, reason = _settled(plan, training, survey.n_rows, earlier)
        run = Run(
            inputs={"TRAIN": f"{table.source.digest}:{table.n_rows}", "NEW": new.source.digest},
            settings={
                **(settings or {}), "target": target, "task": training.target.task,
                "plan": replace(settled, n_jobs=None).as_json(),
                "cut": [*vars(cut or Cut()).values()],
                "level": level, "conformal": conformal, "unfamiliarity": unfamiliarity,
                "block_rows": block_rows, "part_rows": part_rows,
            },
            seed=plan.seed, n_parts=n_parts, suffix=suffix,
        )  # fmt: skip
        parts = PartFiles(directory, run, resume=resume)
        n_kept = len(parts.records)
        with stage(1.0, span=4.0):
            scorer = BlockScorer.train(
                table, training, new, survey, settled, cut, level, conformal, unfamiliarity,
                block_rows,
            )  # fmt: skip
        scorer._numbers = new.numbers if isinstance(new, KeptBlocks) else None
        parts.remember("model", scorer.probe())
        warnings = [*heavy_rows(scorer.base, second=False), *split_warnings(table, training)]
        with stage(1.0, span=0.0):
            questions = tuple(ask_about_split(table, training, settled))
        scorer.base = replace(scorer.base, questions=questions)
        with stage(float(max(1, len(parts.missing)))):
            write_missing(parts, scorer, new, block_rows, part_rows)
    written = parts.records[0].columns
    facts = [parts.records[number].facts for number in range(n_parts)]
    if joins:
        parts.join(out)
        parts.remove()
    return _summary(
        scorer, survey, facts, written[len(new.names) :], n_kept,
        [*left, *units.notices, *survey.notices, *alone, *([reason] if reason else [])], warnings,
        None if joins else directory, time.perf_counter() - began,
    )  # fmt: skip


class BlockScorer:
    """A trained model that scores any block of a file as if the file had been read in one piece.

    Attributes
    ----------
    base : ScoredTable
        Of the first block.
    """

    def __init__(self, base: ScoredTable, survey: Survey, far: TableUnfamiliarity | None) -> None:
        self.base, self._survey, self._far = base, survey, far
        self._held: HeldOut | None = held_out(base) if base.conformal else None
        training = base.training
        self._step = training.resolution
        self._first = FirstFile(training)
        self._numbers: NDArray[np.int64] | None = None  # of the rows, where some are left out

    @classmethod
    def train(
        cls,
        table: Table,
        training: Prepared,
        new: BlockFile,
        survey: Survey,
        plan: ScorePlan,
        cut: Cut | None,
        level: float,
        conformal: bool,
        unfamiliarity: bool,
        block_rows: int = BLOCK_ROWS,
    ) -> BlockScorer:
        """The model of all rows of a table, and what it takes to judge other rows."""
        block = next(new.blocks(block_rows))
        first = Table(block, new.source, (), np.zeros(0, np.int64))
        prepared = prepare_block(block, survey, training)
        with stage(2.0 if unfamiliarity else 1.0):
            with stage(1.0, span=1.0):
                base = score_prepared(table, training, prepared, first, plan)
                base = base if cut in (None, Cut()) else cut_table(base, cut)
                base = with_intervals(base, level, conformal)
            far = None
            if unfamiliarity:
                far = measure_unfamiliarity(training, prepared, plan.seed, plan.n_jobs)
        return cls(base, survey, far)

    def score(self, block: pa.Table, start: int = 0) -> tuple[pd.DataFrame, dict[str, Any]]:
        """The rows of a block with the added columns, and sums over them.

        Parameters
        ----------
        block : pyarrow.Table
            Of the file that was surveyed.
        start : int
            The place of its first row.
        """
        training, target = self.base.training, self.base.training.target
        rows = prepare_block(block, self._survey, training)
        model = self.base.models[0].estimator
        with stage(1.0, span=0.0):
            predictions = predict_rows(model, rows.X, rows.y, len(target.classes), self._step)
        here = replace(
            self.base, scored=rows, predictions=predictions,
            model_of_row=np.zeros(len(rows.X), np.int64),
        )  # fmt: skip
        far = None
        if self._far is not None:
            with stage(1.0, span=0.0):
                far = judge_more_rows(self._far, training, rows)
        interval = None
        if not target.classes:
            interval = row_intervals(here, self.base.level, self.base.conformal, self._held)
        added = added_columns(rows, predictions, interval, {}, self.base.level, far)
        added = self._with_errors(added)
        if self._numbers is not None:
            added["row_in_file"] = self._numbers[start : start + len(rows.X)], NUMBER_UNIT
        renamed = dict(self.base.added.renamed)
        names = [renamed.get(name, name) for name in block.column_names]
        own = dict(zip(names, own_columns(block, self._survey), strict=True))
        frame, _ = join_columns(own, added, self.base.added.renamed)
        scores = None if far is None else far.rows.score
        drift = self._first.count(rows.X, scores).as_json(_MOST_LEVELS)
        sums = _sums(rows, predictions, far)
        if interval is not None:
            y = training.y[training.known]
            sums |= count_ends(interval, predictions.loc, y)._asdict()
        return frame, {**sums, "drift": drift}

    def measure_drift(self, counts: SecondCounts) -> TableDrift:
        """How the file differs from the first one, by what its blocks counted."""
        return self._first.compare(counts, self._far, self.base.plan.seed)

    def probe(self) -> str:
        """A digest of what the model says about rows that it learnt from: it tells models apart."""
        training = self.base.training
        X = training.X.iloc[:_PROBED]
        predictions = predict_rows(
            self.base.models[0].estimator, X, np.full(len(X), np.nan),
            len(training.target.classes), self._step,
        )  # fmt: skip
        digest = hashlib.sha256(predictions.loc.tobytes())
        for part in (predictions.probabilities, *predictions.uncertainty):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def _with_errors(self, added: dict[str, Any]) -> dict[str, Any]:
        """The column of errors in each block, if any row of the file has a target."""
        if "error" in added or not self._survey.has_target:
            return added
        n_rows = len(added["unseen_level"][0])
        unit = "" if self.base.training.target.classes else "absolute"
        last = {name: added.pop(name) for name in _LAST}
        return {**added, "error": (np.full(n_rows, np.nan), unit), **last}


_LAST = ("unseen_level", "new_missing")


class PartWork(NamedTuple):
    """What it takes to write any part: `score_part` does it, in this process or another."""

    scorer: BlockScorer
    file: BlockFile | None  # None if blocks come with the part
    directory: Path
    suffix: str
    block_rows: int
    part_rows: int


def score_part(work: PartWork, part: tuple[int, Iterable[pa.Table] | None]) -> PartRecord:
    """Score the blocks of one part and write it."""
    number, of_part = part
    if of_part is None:
        assert work.file is not None
        of_part = work.file.blocks(work.block_rows, number * work.part_rows)
    sums: list[dict[str, Any]] = []

    def pieces(blocks: Iterable[pa.Table]) -> Iterator[pd.DataFrame]:
        start = number * work.part_rows
        for block in islice(blocks, work.part_rows // work.block_rows):
            frame, facts = work.scorer.score(block, start)
            start += block.num_rows
            sums.append(facts)
            yield frame

    return write_part(work.directory, number, pieces(of_part), work.suffix, lambda: _added_up(sums))


def write_missing(
    parts: PartFiles, scorer: BlockScorer, new: BlockFile, block_rows: int, part_rows: int
) -> None:
    """Score and write all parts that are not finished.

    The file is read from the first of them on. On a cluster, workers write the parts. They read
    Parquet themselves; blocks of text are sent to them.

    Parameters
    ----------
    parts : PartFiles
    scorer : BlockScorer
    new : BlockFile
    block_rows, part_rows : int
        As in `score_in_blocks`.

    Raises
    ------
    ClusterError
        If a worker writes to a directory that this process does not see.
    """
    reads = is_elsewhere() and isinstance(new, ParquetBlocks)
    directory, suffix = parts.directory.absolute(), parts.run.suffix
    work = PartWork(scorer, new if reads else None, directory, suffix, block_rows, part_rows)
    missing = parts.missing
    items: Iterable[tuple[int, Iterable[pa.Table] | None]]
    if reads:
        items = [(number, None) for number in missing]
    else:
        items = _with_blocks(missing, new, block_rows, part_rows, lists=is_elsewhere())
    for done, (_, record) in enumerate(spread_each(score_part, work, items)):
        path = directory / part_name(record.number, suffix)
        if not path.is_file() or path.stat().st_size != record.n_bytes:
            raise ClusterError(
                f"A worker has written {path.name}, but it is not in {directory} here: the workers "
                "need the same file system."
            )
        parts.note(record)
        tick(done + 1.0)


def _with_blocks(
    missing: list[int], new: BlockFile, block_rows: int, part_rows: int, lists: bool
) -> Iterator[tuple[int, Iterable[pa.Table]]]:
    """Each part with its blocks; as ``lists`` for other processes, else read one by one."""
    blocks: Iterator[pa.Table] = iter(())
    at = -1
    for number in missing:
        if number != at:
            blocks = new.blocks(block_rows, number * part_rows)
        mine = islice(blocks, part_rows // block_rows)
        yield number, list(mine) if lists else mine
        at = number + 1


def places_of(out: Path) -> tuple[Path, str, bool]:
    """The directory of the parts, their suffix, and whether they become one file.

    Examples
    --------
    >>> places_of(Path("scored.csv"))
    (PosixPath('scored.csv.parts'), '.csv', True)
    """
    if out.is_dir():
        return out, SUFFIXES[0], False
    suffix = ".parquet" if out.suffix.lower() == ".parquet" else ".csv"
    return out.with_name(f"{out.name}.parts"), suffix, True


def _plan_of_blocks(plan: ScorePlan) -> tuple[ScorePlan, list[str]]:
    """A plan whose automatic method is trees alone, and what is said of that."""
    if plan.method != AUTOMATIC:
        return plan, []
    notice = "Trees alone are trained, as usual where a file is scored in blocks."
    return plan.of_trees(), [] if plan.asks_for_trees else [notice]


def _settled(
    plan: ScorePlan, training: Prepared, n_new: int, earlier: dict[str, Any] | None
) -> tuple[ScorePlan, str]:
    """The plan with its ensemble settled, which depends on the machine: an earlier run's stands."""
    if earlier is None or not plan.is_open:
        return settle_plan(plan, training, n_new)
    then = earlier["run"]["settings"].get("plan", {})
    settled = {
        name: then[name] for name in ("ensemble", "n_members", "n_trees", "n_folds") if name in then
    }
    return replace(plan, **settled), ""


def _sums(
    rows: Prepared, predictions: Predictions, far: TableUnfamiliarity | None
) -> dict[str, Any]:
    """What is added up over blocks."""
    known = rows.known
    errors = rows.y[known] - predictions.loc[known]
    wrong = (errors != 0.0).sum() if rows.target.classes else np.square(errors).sum()
    flagged = predictions.unseen_level | predictions.new_missing
    return {
        "rows": len(rows.y),
        "known": int(known.sum()),
        "nll": float(predictions.nll[known].sum()),
        "error": float(wrong),
        "flagged": int(flagged.sum()),
        "unfamiliar": 0 if far is None else int((far.rows.score > UNFAMILIAR).sum()),
        "outside": 0 if far is None else int((far.n_outside > 0).sum()),
    }


def _added_up(sums: list[dict[str, Any]]) -> dict[str, Any]:
    names = [name for name in sums[0] if name != "drift"]
    totals: dict[str, Any] = {name: math.fsum(each[name] for each in sums) for name in names}
    drift = reduce(SecondCounts.add, (SecondCounts.from_json(each["drift"]) for each in sums))
    return {**totals, "drift": drift.as_json(_MOST_LEVELS)}


def _summary(
    scorer: BlockScorer,
    survey: Survey,
    facts: list[dict[str, Any]],
    columns: tuple[str, ...],
    n_kept: int,
    notices: list[str],
    warnings: list[str],
    directory: Path | None,
    seconds: float,
) -> StreamedScores:
    total = _added_up(facts)
    n_known = int(total["known"])
    if int(total["rows"]) != survey.n_rows:
        raise TableError("The file has changed while it was scored: run the command again.")
    error = total["error"] / n_known if n_known else math.nan
    classes = scorer.base.training.target.classes
    n_flagged = int(total["flagged"])
    far, n_rows, n_outside = scorer._far, survey.n_rows, int(total["outside"])
    share = math.nan if far is None else total["unfamiliar"] / n_rows
    drift = scorer.measure_drift(SecondCounts.from_json(total["drift"]))
    unlike = far is not None and is_unlike(far, n_rows, share, n_outside)
    part = (drift.outside, drift.usual_outside) if far is None else (
        drift.foreign, drift.usual_foreign
    )  # fmt: skip
    of_block, told = flag_notices(scorer.base.predictions), list[str]()
    training = scorer.base.training
    if not classes:
        counts = EndCounts(*(int(total[name]) for name in EndCounts._fields))
        y, target = training.y[training.known], training.target.name
        told = describe_ends(counts, scorer.base.level, target, y)
    return StreamedScores(
        base=scorer.base,
        n_rows=survey.n_rows,
        n_parts=len(facts),
        n_kept=n_kept,
        n_known=n_known,
        nll=total["nll"] / n_known if n_known else math.nan,
        error=error if classes else math.sqrt(error),
        n_flagged=n_flagged,
        share_unfamiliar=share,
        n_outside=n_outside,
        columns=columns,
        drift=drift,
        notices=(
            *(notice for notice in scorer.base.notices if notice not in of_block), *notices,
            *([flagged_sentence(n_flagged)] if n_flagged else []),
            *told,
            *([_NOT_NAMED] if n_known and not classes else []),
            *([] if far is None else lacking_notice(far)),
        ),
        warnings=(*([foreign_sentence(share, n_outside)] if unlike else []), *warnings),
        no_coverage=coverage_withheld(
            classes, n_rows / (far.rows_together if far else 1.0), *part, far is not None, unlike
        ),
        directory=directory,
        seconds=seconds,
    )  # fmt: skip
