"""Soft trees as a page and a download find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gbuq_core.experiments.experiment import Account
from gbuq_core.experiments.soft_trees.claims import STUDY
from gbuq_core.experiments.soft_trees.export import (
    score_section,
    soft_trees_code,
    soft_trees_curves_csv,
    soft_trees_functions_csv,
    soft_trees_parameters_csv,
    soft_trees_rows_csv,
)
from gbuq_core.experiments.soft_trees.fit import SoftTreesRun
from gbuq_core.experiments.soft_trees.plan import SOFT_METHODS, SoftTreesSettings
from gbuq_core.experiments.soft_trees.words import answer_soft_trees

Table = Callable[[SoftTreesRun], str]


def _tables(run: SoftTreesRun) -> Mapping[str, Table]:
    def table_of(make: Callable[[Any], str], part: Any) -> Table:
        return lambda run: make(part)

    soft = [
        both for both in zip(run.fits, run.views, strict=True) if both[0].method in SOFT_METHODS
    ]
    return {
        "Curves": soft_trees_curves_csv,
        "Rows": lambda run: soft_trees_rows_csv(run.data),
        **{f"Functions of {v.label}": table_of(soft_trees_functions_csv, v) for _, v in soft},
        **{f"Parameters of {f.label}": table_of(soft_trees_parameters_csv, f) for f, _ in soft},
    }


SOFT_TREES = Account(
    name="soft-trees",
    question="How many functions fit these points?",
    lede="Each thin line is a **function** that the model considers possible. Take rows away: "
    "where do the lines still agree, and where do they spread?",
    settings=SoftTreesSettings,
    answer=lambda run: answer_soft_trees(run.scores),
    scores=lambda run: score_section(run.scores),
    silence=lambda run: "The paper says nothing about these methods on these data.",
    study=STUDY,
    code=lambda run: soft_trees_code(run.settings),
    tables=_tables,
    title="Soft trees",
    lead="Functions that fit the same rows, drawn from soft trees with a posterior and from other "
    "models. After Cinquin et al., Variational boosted soft trees (arXiv 2302.10706).",
    equations=r"""
Cinquin, Rukat, Schmidt, Wistuba and Bekasov, [Variational boosted soft
trees](https://arxiv.org/abs/2302.10706), sections 4.1 and 4.2. A gate sends a point to the right
with a probability. The probability of a leaf is the product of those along its path:

$$
g_i(x)=\operatorname{sigmoid}\!\left(\beta\,(w_i^\top x+b_i)\right),\qquad
p(y\mid x,\theta)=\sum_{\ell}\pi_\ell(x)\,
\mathcal N\!\left(y\mid \mu_\ell(x),\sigma_\ell^2(x)\right)
$$

All parameters together have a Gaussian posterior. Its covariance is a diagonal plus a factor of low
rank. Training maximises the evidence lower bound:

$$
q(\theta)=\mathcal N\!\left(\mu,\operatorname{diag}(\sigma^2)+VV^\top\right),\qquad
\mathrm{ELBO}=\mathbb E_q\!\left[\log p(y\mid X,\theta)\right]
-\mathrm{KL}\!\left(q\,\|\,p\right)
$$

A sampled function is the mean prediction of one draw of the parameters. Knowledge uncertainty is
the variance of these functions. Data uncertainty is the mean of the variances that they predict.
SGLB's functions are its members. XBART's functions are the sweeps that it keeps. A Gaussian process
draws its functions directly.
""",
    departures="Variational soft trees",
)
