"""A paper's statements on a page: the verdict, the statement, and below it what came out here."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from gbuq_core.experiments.claims import Claim


def draw_claim(claim: Claim) -> None:
    """One statement."""
    st.markdown(f"**{claim.verdict.capitalize()}.** {claim.paper}")
    st.caption(claim.here[:1].upper() + claim.here[1:])


def draw_claims(claims: Sequence[Claim], columns: int = 2) -> None:
    """The statements side by side, read down and then right; one below the other on a phone."""
    places = st.columns(columns, gap="large")
    for i, claim in enumerate(claims):
        with places[columns * i // len(claims)]:
            draw_claim(claim)
