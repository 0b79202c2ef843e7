"""Tables of the user: reading, inferring what the columns are, cleaning, scoring and exporting.

The page "Your data" and ``python -m gbuq_core score`` share it. It follows no paper of its own:
what it trains and measures is `gbuq_core.boosting` and `gbuq_core.metrics`.
"""

from gbuq_core.tables.builtin import BUILTIN_TABLES, BuiltinTable, LoadedTable, load_builtin
from gbuq_core.tables.changing import (
    CHANGE_MEANING,
    RowChange,
    change_row,
    estimate_change,
    why_no_change,
)
from gbuq_core.tables.cleaning import (
    TASKS,
    Prepared,
    Target,
    infer_task,
    prepare_new,
    prepare_training,
)
from gbuq_core.tables.columns import CHOSEN_KINDS, FEATURE_KINDS, KINDS, Column
from gbuq_core.tables.database import read_query
from gbuq_core.tables.deciding import (
    DECIDING_MEANING,
    DecidingRow,
    DecidingRows,
    ModelLeaves,
    deciding_rows,
    model_leaves,
    why_no_deciding,
)
from gbuq_core.tables.editing import ColumnCurve, EditedRow, column_curve, score_edited
from gbuq_core.tables.evaluating import ClassificationScores, RegressionScores, Scores
from gbuq_core.tables.explaining import (
    EFFECT_MEANING,
    ColumnDistribution,
    ColumnEffect,
    RowExplanation,
    column_distribution,
    estimate_explaining,
    explain_row,
)
from gbuq_core.tables.failing import Cohort, Failures, find_failures
from gbuq_core.tables.files import (
    ReadOptions,
    Source,
    Table,
    read_table,
    to_csv_bytes,
    to_parquet_bytes,
)
from gbuq_core.tables.growing import RowStages, grow_row, why_no_stages
from gbuq_core.tables.judging import (
    ClassScore,
    Groups,
    HeldOut,
    class_scores,
    coverage_by_group,
    group_column,
    held_out,
    pit_values,
)
from gbuq_core.tables.predicting import Predictions, ScorePlan, law_of
from gbuq_core.tables.schema import Schema, edit_schema, infer_schema, suggest_target
from gbuq_core.tables.scoring import (
    ADDED_NAMES,
    MAX_ROWS_OUT_OF_FOLD,
    PROTOCOLS,
    AddedColumns,
    FittedModel,
    ScoredTable,
    ScoreEstimate,
    estimate_scoring,
    score_table,
)
from gbuq_core.tables.separated_text import MAX_FILE_BYTES
from gbuq_core.tables.splitting import SPLITS, describe_split
from gbuq_core.tables.suspecting import split_warnings
from gbuq_core.tables.unfamiliar import (
    Evidence,
    TableUnfamiliarity,
    add_unfamiliarity,
    bootstrap_evidence,
    foreign_notice,
    measure_unfamiliarity,
    reason_of,
    say_reason,
    unfamiliarity_parts,
)
from gbuq_core.tables.workbook import sheet_names

__all__ = [
    "ADDED_NAMES",
    "BUILTIN_TABLES",
    "CHANGE_MEANING",
    "CHOSEN_KINDS",
    "DECIDING_MEANING",
    "EFFECT_MEANING",
    "FEATURE_KINDS",
    "KINDS",
    "MAX_FILE_BYTES",
    "MAX_ROWS_OUT_OF_FOLD",
    "PROTOCOLS",
    "SPLITS",
    "TASKS",
    "AddedColumns",
    "BuiltinTable",
    "ClassScore",
    "ClassificationScores",
    "Cohort",
    "Column",
    "ColumnCurve",
    "ColumnDistribution",
    "ColumnEffect",
    "DecidingRow",
    "DecidingRows",
    "EditedRow",
    "Evidence",
    "Failures",
    "FittedModel",
    "Groups",
    "HeldOut",
    "LoadedTable",
    "ModelLeaves",
    "Predictions",
    "Prepared",
    "ReadOptions",
    "RegressionScores",
    "RowChange",
    "RowExplanation",
    "RowStages",
    "Schema",
    "ScoreEstimate",
    "ScorePlan",
    "ScoredTable",
    "Scores",
    "Source",
    "Table",
    "TableUnfamiliarity",
    "Target",
    "add_unfamiliarity",
    "bootstrap_evidence",
    "change_row",
    "class_scores",
    "column_curve",
    "column_distribution",
    "coverage_by_group",
    "deciding_rows",
    "describe_split",
    "edit_schema",
    "estimate_change",
    "estimate_explaining",
    "estimate_scoring",
    "explain_row",
    "find_failures",
    "foreign_notice",
    "group_column",
    "grow_row",
    "held_out",
    "infer_schema",
    "infer_task",
    "law_of",
    "load_builtin",
    "measure_unfamiliarity",
    "model_leaves",
    "pit_values",
    "prepare_new",
    "prepare_training",
    "read_query",
    "read_table",
    "reason_of",
    "say_reason",
    "score_edited",
    "score_table",
    "sheet_names",
    "split_warnings",
    "suggest_target",
    "to_csv_bytes",
    "to_parquet_bytes",
    "unfamiliarity_parts",
    "why_no_change",
    "why_no_deciding",
    "why_no_stages",
]
