from gbuq_core.streaming.blocks import BlockFile, count_rows, is_too_large, open_blocks
from gbuq_core.streaming.parts import PartFiles, PartRecord, Run, package_version, write_part
from gbuq_core.streaming.sampling import sample_table
from gbuq_core.streaming.scoring import (
    BlockScorer,
    StreamedScores,
    places_of,
    score_in_blocks,
    write_missing,
)
from gbuq_core.streaming.surveying import Survey, prepare_block, survey_file

__all__ = [
    "BlockFile",
    "BlockScorer",
    "PartFiles",
    "PartRecord",
    "Run",
    "StreamedScores",
    "Survey",
    "count_rows",
    "is_too_large",
    "open_blocks",
    "package_version",
    "places_of",
    "prepare_block",
    "sample_table",
    "score_in_blocks",
    "survey_file",
    "write_missing",
    "write_part",
]
