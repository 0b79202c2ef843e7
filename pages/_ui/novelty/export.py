"""What can be taken away from Novelty: code, tables, page; and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from gbuq_core.experiments.claims import claim_table
from gbuq_core.experiments.novelty.charts import tree_sheet
from gbuq_core.experiments.novelty.export import (
    novelty_code,
    novelty_csv,
    novelty_rows_csv,
    place_section,
    score_section,
)
from gbuq_core.experiments.novelty.picture import novelty_sheet
from gbuq_core.experiments.novelty.words import describe_change
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.glossary import GLOSSARY
from pages._ui.departures import show_departures
from pages._ui.export import Download, show_exports
from pages._ui.novelty.change import Changed, change_sheet_of
from pages._ui.novelty.picture import ShownMaps, scores_of_maps
from pages._ui.novelty.scorecard import about_claims, claims_of, scores_of

_PAPER = "https://doi.org/10.5121/csit.2023.131920"
_LEAD = (
    "What makes a place new to a forest: novelty, conditional novelty and other scores over the "
    "same map. After MACAU (doi 10.5121/csit.2023.131920), section 3.2."
)
_TERMS = ("novelty", "knowledge", "auroc", "leaf_index")


def export_novelty(
    found: ShownMaps, changed: Changed | None, knobs: Sequence[LiveKnob] = ()
) -> None:
    """Code, data, page."""
    fit, maps = found.run.fit, found.run.maps
    downloads = (
        Download("Maps (CSV)", "novelty-maps.csv", "text/csv", partial(novelty_csv, fit, maps)),
        Download(
            "Rows (CSV)", "novelty-rows.csv", "text/csv", partial(novelty_rows_csv, fit, maps)
        ),
        Download("Page (HTML)", "novelty.html", "text/html", partial(_html, found, changed, knobs)),
    )
    show_exports("novelty", novelty_code(found.run.settings), downloads)
    st.caption("In words")
    st.text(found.words)


def explain_novelty() -> None:
    """Equations, words, and where they come from."""
    st.markdown(
        f"MACAU ([doi 10.5121/csit.2023.131920]({_PAPER})), section 3.2. Every leaf of every "
        "tree keeps the mean and the covariance of its training rows, shrunk by OAS, after "
        "robust scaling. In each tree, a row has a distance to the rows of its leaf. A z-score "
        "says how large this distance is among the training rows' own distances in that tree. "
        "Novelty is the mean z-score over T trees:"
    )
    st.latex(
        r"d_t(x)=\sqrt{(x-\mu_\ell)^\top\Sigma_\ell^{-1}(x-\mu_\ell)},\qquad "
        r"z_t(x)=\Phi^{-1}\!\big(\hat F_t(d_t(x))\big),\qquad "
        r"\text{novelty}(x)=\tfrac1T\sum_t z_t(x)"
    )
    st.markdown(
        "Conditional novelty uses only the features on the path to the leaf. The squared "
        "distance is a sum over features. Its terms are Shapley values in closed form:"
    )
    st.latex(r"d^2=\sum_j\varphi_j,\qquad \varphi_j=(x_j-\mu_j)\,\big[\Sigma^{-1}(x-\mu)\big]_j")
    st.markdown(
        "Beyond the farthest training row, the authors' z-score stops at 5.2. Here it keeps "
        "rising, unless you choose theirs. For classes, knowledge uncertainty is the variance "
        "of the class probability over the trees. It is not in nats."
    )
    for key in _TERMS:
        term = GLOSSARY[key]
        unit = f" Unit: {term.unit}." if term.unit else ""
        st.markdown(f"**{term.label}.** {term.definition}{unit}")
    show_departures("MACAU")


def _html(found: ShownMaps, changed: Changed | None, knobs: Sequence[LiveKnob] = ()) -> bytes:
    maps = novelty_sheet(found.run, look=found.look, bar=found.bar, knobs=knobs, alt=found.words)
    sheet, tables = (maps, [scores_of_maps(found)]) if maps.panels else (None, [])
    sections = [Section(sheet=sheet, caption=found.words, tables=tables)]
    if changed is not None:
        told = [describe_change(changed.change), *(one.text for one in changed.judgements)]
        sections.append(
            Section(
                heading="What the last edit changed",
                sheet=change_sheet_of(found, changed),
                caption=" ".join(told),
            )
        )
    trees = tree_sheet(found.look)
    sections += [
        place_section(found.run.fit, found.look),
        Section(heading="Tree by tree", sheet=trees, caption=trees.alt),
        score_section(found.run.fit, scores_of(found)),
        Section(
            heading="The paper and this picture",
            text=" ".join(about_claims(found)),
            table=claim_table(claims_of(found)),
        ),
        Section(heading="Python", code=novelty_code(found.run.settings)),
    ]
    return standalone_html(sections, "Novelty maps", _LEAD).encode()
