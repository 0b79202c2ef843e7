"""Two clocks as a page and a download find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gbuq_core.experiments.experiment import Account
from gbuq_core.experiments.two_clocks.export import (
    maps_csv,
    scores_csv,
    scores_section,
    two_clocks_code,
)
from gbuq_core.experiments.two_clocks.plan import TwoClocksSettings
from gbuq_core.experiments.two_clocks.scores import TwoClocksLook
from gbuq_core.experiments.two_clocks.words import answer_two_clocks


def _lede(settings: TwoClocksSettings) -> str:
    if settings.has_clocks:
        return (
            "A boosted model states how sure it is. Do its 90 % intervals hold 90 % of new rows? "
            "Move the two sliders: one stops the **mean**, the other the **scale**."
        )
    return (
        "Every model here states a std for each row. Do its 90 % intervals hold 90 % of new rows? "
        "Switch the factor on and off, and watch the band over the truth."
    )


def _tables(look: TwoClocksLook) -> Mapping[str, Callable[[TwoClocksLook], str]]:
    return {"Scores": scores_csv, **({"Maps": maps_csv} if look.fit.plan.has_clocks else {})}


TWO_CLOCKS = Account(
    name="two-clocks",
    question="Is the stated uncertainty true?",
    lede=_lede,
    settings=TwoClocksSettings,
    answer=answer_two_clocks,
    scores=scores_section,
    study=None,  # the page has the scores of its seeds, not only their verdicts
    code=lambda look: two_clocks_code(replace(look.fit.plan, tails=look.tails)),
    tables=_tables,
    title="Two clocks",
    lead="Is the stated uncertainty true? The mean of a boosted ensemble and its scale stop at "
    "different numbers of trees, which rows held out of the training choose.",
    equations=r"""
The ensemble is that of Malinin, Prokhorenkova and Ustimenko, [Uncertainty in gradient boosting via
ensembles](https://arxiv.org/abs/2006.10562): every member boosts a mean and a log std by the
likelihood (equation 9), and the variances add up (equation 6). The paper uses all trees. Two clocks
is ours. On rows that a fold has not seen, the mean clock a has the least squared error, and then
the scale clock b and the factor g have the least NLL:

$$
a=\arg\min_t\sum_i\bigl(y_i-\bar\mu^{(t)}(x_i)\bigr)^2,\qquad
(b,g)=\arg\min_{t,g}\;-\sum_i\log p\bigl(y_i\mid\bar\mu^{(a)}(x_i),
v^{(t)}_g(x_i)\bigr)
$$

$$
\underbrace{v^{(b)}_g(x)}_{\text{total}}=
\underbrace{\frac{g^2}{M}\sum_m\bigl(\sigma_m^{(b)}(x)\bigr)^2}_{\text{data}}+
\underbrace{\frac1M\sum_m\bigl(\mu_m^{(a)}(x)-\bar\mu^{(a)}(x)\bigr)^2}
_{\text{knowledge}}
$$

The factor scales data uncertainty only. p is a normal, or a Student t with the same std whose
degrees of freedom are chosen too. Early stopping takes one number of trees for both, by the NLL.
CatBoost and NGBoost are one model each, as their users train them, so their knowledge is 0. The
mean of a cyclical ensemble can stop only at the end of a cycle, once two members are complete. A
method without clocks has only the factor. Early in training, the mean fits structure and the scale
fits noise. Later, the training rows are fitted so closely that their residuals no longer show the
noise, and the scale collapses.
""",
    terms=(
        *("mean_clock", "scale_clock", "total", "data", "knowledge"),
        *("coverage", "nll", "crps", "rmse"),
    ),
    departures="Boosting",
)
