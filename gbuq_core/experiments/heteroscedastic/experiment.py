"""Heteroscedastic as a page and a download find it."""

from __future__ import annotations

from gbuq_core.experiments.experiment import Account
from gbuq_core.experiments.heteroscedastic.claims import STUDY, settings_text
from gbuq_core.experiments.heteroscedastic.export import (
    curves_csv,
    heteroscedastic_code,
    rows_csv,
    scores_csv,
)
from gbuq_core.experiments.heteroscedastic.fit import HeteroscedasticRun
from gbuq_core.experiments.heteroscedastic.picture import USUAL
from gbuq_core.experiments.heteroscedastic.plan import HeteroscedasticSettings
from gbuq_core.experiments.heteroscedastic.scorecard import foreign_section, intervals_section
from gbuq_core.experiments.heteroscedastic.words import answer_heteroscedastic
from gbuq_core.figures.standalone import Section


def _scores(run: HeteroscedasticRun) -> list[Section]:
    return [make(run.scores, run.settings) for make in (intervals_section, foreign_section)]


HETEROSCEDASTIC = Account(
    name="heteroscedastic",
    question="Does the model know its noise, and where it has seen nothing?",
    lede="The noise grows with x, and all rows lie between 0 and 10. Make it larger: does the "
    "**light band** follow? Does the **dark rim** widen outside the rows?",
    settings=HeteroscedasticSettings,
    answer=lambda run: answer_heteroscedastic(run, run.scores),
    scores=_scores,
    reading=f"{USUAL} % of in-distribution rows score below the dotted line. The knobs of the "
    "picture and those under View change it without retraining.",
    about=lambda run: settings_text(run.settings),
    silence=lambda run: "The paper says nothing about these methods.",
    study=STUDY,
    code=lambda run: heteroscedastic_code(run.settings),
    tables=lambda run: {
        "Curves": curves_csv,
        "Scores": lambda run: scores_csv(run.scores),
        "Rows": lambda run: rows_csv(run.data),
    },
    title="Heteroscedastic",
    lead="Do models know their noise, and the places where they have seen no rows? MACAU has a "
    "linear model or a mean in every leaf of a random forest. The page compares it with others. "
    "After the paper on MACAU, doi 10.5121/csit.2023.131920.",
    equations=r"""
The paper on MACAU, [doi 10.5121/csit.2023.131920](https://doi.org/10.5121/csit.2023.131920),
sections 3 and 4. The rows follow its equation 6, with a noise std of a tenth of x:

$$
X\sim U(0,10),\qquad Y=\tfrac12 X+\sin X+0.1\,X\,\varepsilon,\qquad
\varepsilon\sim\mathcal N(0,1)
$$

Every leaf of every tree has a small model: a Bayesian linear regression on the features along the
path to the leaf (linear), or the mean and the variance of its rows (basic). The law of total
variance (equations 1 and 2) combines the T trees. Data uncertainty is the mean of the leaves'
variances. Knowledge uncertainty is the variance of the leaves' means:

$$
\underbrace{\sigma^2(x)}_{\text{total}}=
\underbrace{\frac1T\sum_t\sigma_t^2(x)}_{\text{data}}+
\underbrace{\frac1T\sum_t\bigl(\mu_t(x)-\bar\mu(x)\bigr)^2}_{\text{knowledge}}
$$

Novelty (section 3.2) is the Mahalanobis distance from a row to the training rows of its leaf. In
each tree, the distances of the training rows turn it into a z-score. Novelty is the mean of these
z-scores. The authors' z-scores stop at 5.2. Ours go on rising, unless you change that in All
settings. Conditional novelty uses only the features along the path to the leaf. With one feature,
that is the same. Inference novelty compares the prediction with the leaf's predictions in training.
""",
    terms=(
        *("total", "data", "knowledge", "novelty", "conditional_novelty", "inference_novelty"),
        *("foreign_rows", "conformal", "crps", "coverage", "auroc"),
    ),
    departures="MACAU",
)
