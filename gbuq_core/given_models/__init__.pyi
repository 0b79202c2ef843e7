from gbuq_core.given_models.describing import ModelSummary, summarize_model
from gbuq_core.given_models.judging import GivenJudge, GivenRows
from gbuq_core.given_models.matching import MatchedModel, match_table
from gbuq_core.given_models.reading import GivenModel, read_model
from gbuq_core.trees.importers.catboost_json import LOSSES

__all__ = [
    "LOSSES",
    "GivenJudge",
    "GivenModel",
    "GivenRows",
    "MatchedModel",
    "ModelSummary",
    "match_table",
    "read_model",
    "summarize_model",
]
