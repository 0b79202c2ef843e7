"""Neighbours as a page and a download find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gbuq_core.experiments.experiment import Account
from gbuq_core.experiments.neighbours.claims import STUDY
from gbuq_core.experiments.neighbours.export import (
    as_shown,
    neighbours_code,
    neighbours_csv,
    neighbours_map_csv,
    neighbours_rows_csv,
    scorecard_section,
)
from gbuq_core.experiments.neighbours.look import NeighboursRun
from gbuq_core.experiments.neighbours.plan import NeighboursSettings
from gbuq_core.experiments.neighbours.words import answer_neighbours, describe_choice


def _tables(run: NeighboursRun) -> Mapping[str, Callable[[NeighboursRun], str]]:
    tables = {"Predictions": neighbours_csv, "Neighbours": neighbours_rows_csv}
    return {**tables, "Picture": neighbours_map_csv} if run.fit.data.n_inputs else tables


NEIGHBOURS = Account(
    name="neighbours",
    question="Which training rows does a prediction come from?",
    lede="A prediction comes from the training rows that share its leaves: which are they here? "
    "Move over the picture. The **orange points** are those rows; the bell shows their targets' "
    "spread.",
    settings=NeighboursSettings,
    answer=answer_neighbours,
    numbers=describe_choice,
    scores=scorecard_section,
    study=STUDY,
    code=lambda run: neighbours_code(as_shown(run)),
    tables=_tables,
    title="Neighbours",
    lead="The training rows behind a prediction of boosted trees, and how uncertain they make it. "
    "After Brophy and Lowd, Instance-based uncertainty estimation for gradient-boosted regression "
    "trees (arXiv 2205.11412).",
    equations=r"""
Brophy and Lowd, [Instance-based uncertainty estimation for gradient-boosted regression
trees](https://arxiv.org/abs/2205.11412), section 3. The affinity of a new row to a training row is
the number of trees in which both reach the same leaf (algorithm 1). The k training rows with the
highest affinity are the neighbours. Ties go to the rows that come first:

$$
A(x, x_i)=\sum_{t=1}^{T}\mathbf 1\!\left[\ell_t(x)=\ell_t(x_i)\right],\qquad
\mu=\hat y(x),\quad \sigma=\operatorname{std}\{y_i: i\in N_k(x)\}
$$

The mean is the model's own prediction; only the spread comes from the neighbours. k is the best of
17 values on the validation rows (algorithm 3). Calibration then multiplies all scales by one
factor, or adds one constant (equation 2). It acts on the std, as in the authors' code. After
tuning, the model is trained on all rows. Nine families can be fitted to the neighbours' targets
(equation 3). Each keeps this mean and spread, except the kernel density, which takes both from the
targets. The best family has the lowest NLL on the validation rows. Affinity can also be counted in
the first, the last or random trees only (section 4.1).
""",
    departures="IBUG",
)
