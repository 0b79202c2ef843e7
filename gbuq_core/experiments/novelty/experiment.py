"""Novelty maps as a page and a download find them."""

from __future__ import annotations

from gbuq_core.experiments.experiment import Account
from gbuq_core.experiments.novelty.claims import STUDY
from gbuq_core.experiments.novelty.export import (
    novelty_code,
    novelty_csv,
    novelty_rows_csv,
    score_section,
)
from gbuq_core.experiments.novelty.plan import NoveltySettings
from gbuq_core.experiments.novelty.words import answer_novelty

NOVELTY = Account(
    name="novelty",
    question="What makes a place new to the model?",
    lede="Does the model's **novelty** rise where it has seen no rows? Click a place, guess what "
    "the map will do, and erase the rows there.",
    settings=NoveltySettings,
    answer=answer_novelty,
    scores=lambda run: score_section(run.fit, run.scores),
    study=STUDY,
    code=lambda run: novelty_code(run.settings),
    tables=lambda run: {
        "Maps": lambda run: novelty_csv(run.fit, run.maps),
        "Rows": lambda run: novelty_rows_csv(run.fit, run.maps),
    },
    title="Novelty maps",
    lead="What makes a place new to a forest: novelty, conditional novelty and other scores over "
    "the same map. After MACAU (doi 10.5121/csit.2023.131920), section 3.2.",
    equations=r"""
MACAU ([doi 10.5121/csit.2023.131920](https://doi.org/10.5121/csit.2023.131920)), section 3.2. Every
leaf of every tree keeps the mean and the covariance of its training rows, shrunk by OAS, after
robust scaling. In each tree, a row has a distance to the rows of its leaf. A z-score says how large
this distance is among the training rows' own distances in that tree. Novelty is the mean z-score
over T trees:

$$
d_t(x)=\sqrt{(x-\mu_\ell)^\top\Sigma_\ell^{-1}(x-\mu_\ell)},\qquad
z_t(x)=\Phi^{-1}\!\big(\hat F_t(d_t(x))\big),\qquad
\text{novelty}(x)=\tfrac1T\sum_t z_t(x)
$$

Conditional novelty uses only the features on the path to the leaf. The squared distance is a sum
over features. Its terms are Shapley values in closed form:

$$
d^2=\sum_j\varphi_j,\qquad \varphi_j=(x_j-\mu_j)\,\big[\Sigma^{-1}(x-\mu)\big]_j
$$

Beyond the farthest training row, the authors' z-score stops at 5.2. Here it keeps rising, unless
you choose theirs. For classes, knowledge uncertainty is the variance of the class probability over
the trees. It is not in nats.
""",
    terms=("novelty", "knowledge", "auroc", "leaf_index"),
    departures="MACAU",
)
