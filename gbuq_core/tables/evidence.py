"""Whether the orders of a table's rows find those with large errors, on rows held out."""

from __future__ import annotations

import numpy as np

from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.tables.judging import held_out
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.unfamiliar import Evidence, bootstrap_evidence, held_out_unfamiliarity


def find_evidence(scored: ScoredTable) -> dict[str, Evidence]:
    """PRR of each uncertainty and of unfamiliarity on held-out rows of the first file."""
    kept = vars(scored)
    if "_evidence" not in kept:
        kept["_evidence"] = _find(scored)
    return kept["_evidence"]


def _find(scored: ScoredTable) -> dict[str, Evidence]:
    held = held_out(scored)
    errors = held.errors if held.classes else held.errors**2
    orders = {kind: getattr(held.predictions.uncertainty, kind) for kind in UNCERTAINTY_KINDS}
    unfamiliarity = held_out_unfamiliarity(scored, held.rows)
    if unfamiliarity is not None:
        orders["unfamiliarity"] = unfamiliarity
    # The bootstrap draws them model by model beside a second file.
    drawn = np.concatenate([part.rows for part in scored.measured] or [held.rows])
    at = held.rows.searchsorted(drawn)
    return {name: bootstrap_evidence(errors[at], order[at]) for name, order in orders.items()}
