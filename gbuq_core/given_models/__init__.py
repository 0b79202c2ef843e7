"""Models that exist already: read from files that a stranger may have made, checked, and judged.

A file is read in a process of its own and comes back as plain arrays (`read_model`); the model is
held against the table that it was trained on (`match_table`); then IBUG (Brophy and Lowd, 2022),
truncations (Malinin et al., 2021) and MACAU's novelty (Merilinna, 2023) read its trees.
"""

from gbuq_core.given_models.judging import GivenJudge, GivenRows
from gbuq_core.given_models.matching import MatchedModel, match_table
from gbuq_core.given_models.reading import GivenModel, read_model

__all__ = [
    "GivenJudge",
    "GivenModel",
    "GivenRows",
    "MatchedModel",
    "match_table",
    "read_model",
]
