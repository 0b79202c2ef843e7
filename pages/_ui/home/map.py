"""Which method gives which uncertainty, and on which page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

import streamlit as st

from gbuq_core.methods import METHODS, NOVELTIES, PARTS
from gbuq_core.presentation import markdown_table
from gbuq_core.study.heart import METHODS as ON_HEART
from gbuq_core.study.heteroscedastic import METHODS as ON_HETEROSCEDASTIC
from gbuq_core.study.neighbours_fit import BASELINES as ON_NEIGHBOURS
from gbuq_core.study.novelty_maps import SCORES as ON_NOVELTY
from gbuq_core.study.soft_trees import METHODS as ON_SOFT_TREES
from gbuq_core.study.spiral import METHODS as ON_SPIRAL

_MACAU = ("macau_linear", "macau_basic")
_SHOWN: Mapping[str, Collection[str]] = MappingProxyType(
    {
        "Heart": ON_HEART,
        "Spiral": ON_SPIRAL,
        "Noise that grows": ON_HETEROSCEDASTIC,
        "Neighbours": ("ibug", *ON_NEIGHBOURS),
        "Soft trees": ON_SOFT_TREES,
        "Novelty maps": (*_MACAU, *ON_NOVELTY),
    }
)


def show_methods() -> None:
    """The table of methods and tasks."""
    head = ("Methods", "Regression", "Classification", "Pages")
    with st.container(key="methods"):
        st.markdown(markdown_table([head, *method_rows()], "l"))
    st.caption(
        "Regression uncertainties are variances in squared units of the target; most pages also "
        "show them as standard deviations. Classification uncertainties are entropies in nats. "
        "MACAU's are variances of the class probability. Novelty is a z-score. A single boosted "
        "model gives no knowledge uncertainty: its total is its data uncertainty."
    )


def method_rows() -> list[tuple[str, str, str, str]]:
    """Methods that give the same, with what they give for each task and the pages with them."""
    alike: dict[tuple[str, str], list[str]] = {}
    for key, method in METHODS.items():
        if not method.forms:  # which are listed in its place
            gives = _words(method.yields), _words(method.classes_yield)
            alike.setdefault(gives, []).append(key)
    return [
        (
            ", ".join(METHODS[key].label for key in keys),
            *gives,
            ", ".join(title for title, shown in _SHOWN.items() if set(shown).intersection(keys)),
        )
        for gives, keys in alike.items()
    ]


def _words(yields: Collection[str]) -> str:
    parts = [", ".join(part for part in PARTS if part in yields)]
    parts.append("novelty" if set(NOVELTIES).intersection(yields) else "")
    parts += [part for part in ("functions", "neighbours") if part in yields]
    return "; ".join(part for part in parts if part)
