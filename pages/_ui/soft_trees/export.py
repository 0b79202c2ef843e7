"""Exports of Soft trees (code, tables, page), and its equations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.soft_trees.bandit import BanditRun, describe_bandit
from gbuq_core.experiments.soft_trees.charts import correlation_sheet
from gbuq_core.experiments.soft_trees.export import (
    score_section,
    soft_trees_code,
    soft_trees_curves_csv,
    soft_trees_functions_csv,
    soft_trees_parameters_csv,
    soft_trees_rows_csv,
)
from gbuq_core.experiments.soft_trees.fit import SoftTreesRun
from gbuq_core.experiments.soft_trees.look import tree_view
from gbuq_core.experiments.soft_trees.plan import SOFT_METHODS
from gbuq_core.experiments.soft_trees.words import describe_soft_trees
from gbuq_core.figures.standalone import Section, standalone_html
from pages._ui.departures import show_departures
from pages._ui.export import Download, show_exports
from pages._ui.side_by_side import Shown
from pages._ui.soft_trees.look import (
    READ_TREE,
    correlations_of,
    flow_figure_of,
    tree_sheet_of,
)
from pages._ui.soft_trees.panels import ABOUT_STEPS, bandit_figure_of
from pages._ui.soft_trees.picture import figure_of
from pages._ui.soft_trees.scorecard import scores_of

_PAPER = "https://arxiv.org/abs/2302.10706"
_LEAD = (
    "Functions that fit the same rows, drawn from soft trees with a posterior and from other "
    "models. "
    "After Cinquin et al., Variational boosted soft trees (arXiv 2302.10706)."
)


def export_soft_trees(
    run: SoftTreesRun,
    shown: Sequence[Shown],
    values: SimpleNamespace,
    played: tuple[BanditRun, ...] = (),
) -> None:
    """Code, data, page; ``played`` is the bandit, once it ran."""
    downloads = [
        Download("Curves (CSV)", "curves.csv", "text/csv", partial(soft_trees_curves_csv, run)),
        Download("Rows (CSV)", "rows.csv", "text/csv", partial(soft_trees_rows_csv, run.data)),
    ]
    downloads += [
        Download(
            f"Functions of {view.label} (CSV)",
            f"functions-{view.method}.csv",
            "text/csv",
            partial(soft_trees_functions_csv, view),
        )
        for view in run.views
        if view.method in SOFT_METHODS
    ]
    downloads += [
        Download(
            f"Parameters of {fit.label} (CSV)",
            f"parameters-{fit.method}.csv",
            "text/csv",
            partial(soft_trees_parameters_csv, fit),
        )
        for fit in run.fits
        if fit.method in SOFT_METHODS
    ]
    downloads.append(
        Download(
            "Page (HTML)", "soft-trees.html", "text/html",
            partial(_html, run, shown, values, played),
        )
    )  # fmt: skip
    show_exports("soft-trees", soft_trees_code(run.settings), downloads)
    st.caption("In words")
    st.text(words_of(run), width="stretch")


def words_of(run: SoftTreesRun) -> str:
    """The picture in words."""
    return describe_soft_trees(run, scores_of(run))


def explain_soft_trees() -> None:
    """Equations and where they come from."""
    st.markdown(
        f"Cinquin, Rukat, Schmidt, Wistuba and Bekasov, [Variational boosted soft trees]"
        f"({_PAPER}), sections 4.1 and 4.2. A gate sends a point to the right with a "
        "probability. The probability of a leaf is the product of those along its path:"
    )
    st.latex(
        r"g_i(x)=\operatorname{sigmoid}\!\left(\beta\,(w_i^\top x+b_i)\right),\qquad "
        r"p(y\mid x,\theta)=\sum_{\ell}\pi_\ell(x)\,"
        r"\mathcal N\!\left(y\mid \mu_\ell(x),\sigma_\ell^2(x)\right)"
    )
    st.markdown(
        "All parameters together have a Gaussian posterior. Its covariance is a diagonal plus "
        "a factor of low rank. Training maximises the evidence lower bound:"
    )
    st.latex(
        r"q(\theta)=\mathcal N\!\left(\mu,\operatorname{diag}(\sigma^2)+VV^\top\right),\qquad "
        r"\mathrm{ELBO}=\mathbb E_q\!\left[\log p(y\mid X,\theta)\right]"
        r"-\mathrm{KL}\!\left(q\,\|\,p\right)"
    )
    st.markdown(
        "A sampled function is the mean prediction of one draw of the parameters. Knowledge "
        "uncertainty is the variance of these functions. Data uncertainty is the mean of the "
        "variances that they predict. SGLB's functions are its members. XBART's functions are "
        "the sweeps that it keeps. A Gaussian process draws its functions directly."
    )
    show_departures("Variational soft trees")


def _html(
    run: SoftTreesRun,
    shown: Sequence[Shown],
    values: SimpleNamespace,
    played: tuple[BanditRun, ...] = (),
) -> bytes:
    fresh = [one for one in shown if one.fresh]
    figure = figure_of(run.settings, fresh)
    sections = [Section(curves=figure), Section(heading="In words", text=words_of(run))]
    soft = [fit for fit in run.fits if fit.method in SOFT_METHODS]
    if soft:
        flow = flow_figure_of(values, soft)
        about = READ_TREE.replace("*", "")
        sections.append(Section(heading="Inside one tree", text=about, curves=flow))
    for fit in run.fits:
        if fit.method == "vst":
            look = tree_view(fit, run.settings)
            sheet = tree_sheet_of(fit, look)
            sections.append(Section(heading="Its training", sheet=sheet, caption=sheet.alt))
            correlations = correlation_sheet(correlations_of(fit, 0))
            sections.append(
                Section(
                    heading="Correlated parameters", sheet=correlations, caption=correlations.alt
                )
            )
    sections.append(score_section(scores_of(run)))
    if played:
        words = describe_bandit(played)
        about = ABOUT_STEPS.replace("*", "")
        steps = bandit_figure_of(values, played)
        sections.append(
            Section(heading="A bandit, step by step", text=about, curves=steps, caption=words)
        )
    sections.append(Section(heading="Python", code=soft_trees_code(run.settings)))
    return standalone_html(sections, "Soft trees", _LEAD).encode()
