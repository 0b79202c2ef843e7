"""Neighbours' closer look at one prediction: distributions, why this scale, and the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.neighbours.charts import Families, family_figure, reasons_sheet
from gbuq_core.figures.neighbours.sources import reasons_from
from gbuq_core.ibug import FAMILIES, FamilyScores
from gbuq_core.presentation import counted, digits, markdown_table, short
from pages._ui.canvas import canvas
from pages._ui.curves import show_curves
from pages._ui.neighbours.picture import Found, near_of, ranked_of
from pages._ui.neighbours.words import title_of, truth_at

MOST_ROWS = 200  # of a list


def draw_look(found: Found) -> None:
    """Charts of the chosen prediction, those that take longest last."""
    st.header(f"{title_of(found.fit, found.look)}: what the neighbours say")
    left, right = st.columns([0.64, 0.36], gap="medium")
    with left:
        show_curves(families_of(found), "neighbours-families")
    st.header("Why this scale")
    canvas(reasons_of(found), key="neighbours-reasons")
    st.caption(_reason_text(found))
    with right:
        _draw_ranking(found, ranked_of(found.fit, found.search, found.view))


def families_of(found: Found) -> Curves:
    """Every family's density over the neighbours' targets."""
    look, known = found.look, truth_at(found.fit, found.look)
    observed, name = look.target, "the row's own target"
    if observed is None and known is not None:
        observed, name = known[0], "true mean"
    families = Families(
        look.y_grid,
        {FAMILIES[key].label: density for key, density in look.densities.items()},
        FAMILIES[look.family].label,
        look.targets,
        near_of(found).share,
        observed,
        name,
    )
    text = (
        f"{len(look.densities)} distributions over the targets of {look.k} neighbours, whose "
        f"middle half lies from {digits(float(np.quantile(look.targets, 0.25)))} to "
        f"{digits(float(np.quantile(look.targets, 0.75)))}. The bold line is "
        f"{FAMILIES[look.family].label}."
    )
    return family_figure(families, found.fit.data.target_name, text)


def reasons_of(found: Found) -> PanelSheet:
    """Affinities of all training rows, the scale against k, the score that chooses k."""
    look, known = found.look, truth_at(found.fit, found.look)
    reasons = reasons_from(
        look,
        found.view.setting,
        found.search.tuning,
        found.settings.scoring,
        None if known is None else known[1],
    )
    return reasons_sheet(reasons, found.fit.data.unit, _reason_text(found))


def _reason_text(found: Found) -> str:
    """Where the cut lies, and what turns the neighbours' spread into the scale."""
    look, (k, least, gamma, delta) = found.look, found.view.setting
    std = float(look.path_std[k - 2])
    zero = int((look.row_affinities == 0).sum())
    strangers = (
        f"{zero:,} of {len(look.row_affinities):,} training rows share no leaf with it"
        if zero
        else "Every training row shares a leaf with it in some tree"
    )
    parts = [
        strangers,
        f"The {k} neighbours each share a leaf with it in at least {look.cut} of {look.n_trees} "
        "trees",
    ]
    if look.n_tied:
        others = f"{look.n_tied:,} other row{'s' * (look.n_tied > 1)}"
        reached = counted(look.cut, "tree")
        parts.append(f"{others} also reached {reached}: ties go to the rows that come first")
    parts.append(f"The standard deviation (std) of the neighbours' targets is {digits(std)}")
    if std < least:
        parts.append(f"That is below the smallest scale allowed, {digits(least)}")
    if gamma != 1.0:
        parts.append(f"Calibration multiplies it by {short(gamma)}")
    if delta:
        parts.append(f"Calibration adds {short(delta)}")
    if gamma == 1.0 and not delta:
        off = not found.settings.calibrate
        parts.append("Calibration is off" if off else "Calibration does not change it")
    parts.append(f"The scale is {digits(look.scale)}")
    if gamma != 1.0 or delta:
        parts.append("The chart of the scale against k uses this calibration for every k")
    return ". ".join(parts) + "."


def _draw_ranking(found: Found, ranked: FamilyScores) -> None:
    """Every family's NLL, the lowest first; the one in use bold."""
    rows = sorted(zip(ranked.families, ranked.nll, ranked.refusals, strict=True), key=_by_score)
    table = [("Distribution", "NLL, validation rows")]
    for family, nll, refusal in rows:
        mark = "**" if family == found.look.family else ""
        text = "\u2013" if refusal else digits(float(nll))
        table.append((f"{mark}{FAMILIES[family].label}{mark}", f"{mark}{text}{mark}"))
    with st.container(key="table-families"):
        st.markdown(markdown_table(table))
    refused = [FAMILIES[family].label for family, _, text in rows if text]
    lowest = digits(float(found.fit.data.y.min()))
    need = "needs" if len(refused) == 1 else "need"
    why = f" {' and '.join(refused)} {need} positive targets; the lowest target is {lowest}."
    st.caption(
        "Mean negative log-likelihood in nats; lower is better. Each family keeps IBUG's mean and "
        "spread, and its shape is fitted to the neighbours' targets. Only the kernel density takes "
        f"its mean and spread from the targets.{why if refused else ''}"
    )


def _by_score(row: tuple[str, float, str]) -> tuple[bool, float]:
    _, nll, refusal = row
    return bool(refusal) or np.isnan(nll), float(nll)


def draw_rows(found: Found) -> None:
    """The neighbours as a list, with the classes among them, and the highlighted rows."""
    look, data = found.look, found.fit.data
    st.header("The neighbours")
    if look.class_shares is not None:
        shares = (f"{100 * share:.0f} % {name}" for name, share in look.class_shares.items())
        st.text(
            f"{data.label_name.capitalize()} of the {look.k} neighbours: {', '.join(shares)}. The "
            f"model did not see the {data.label_name}. The paper has no such shares; this page "
            "adds them.",
            width="stretch",
        )
    frame = neighbour_frame(found)
    st.dataframe(
        frame.head(MOST_ROWS + len(frame) - look.k),  # the row itself does not count
        hide_index=True,
        key="neighbours-list",
        height=min(36 * (len(frame) + 1), 360),
        column_config={
            "trees shared": st.column_config.ProgressColumn(
                "trees shared", min_value=0, max_value=look.n_trees, format="%d"
            )
        },
    )
    if look.k > MOST_ROWS:
        st.caption(
            f"The list shows the first {MOST_ROWS} of {look.k:,} neighbours. The download has all."
        )
    brushed = found.brushed
    if brushed is not None and brushed.n_rows:
        st.subheader("Rows with a scale in this range")
        st.dataframe(
            highlighted_frame(found).head(MOST_ROWS),
            hide_index=True,
            key="neighbours-highlighted",
            height=min(36 * (brushed.n_rows + 1), 300),
        )
        if brushed.n_rows > MOST_ROWS:
            st.caption(
                f"The list shows the {MOST_ROWS} rows with the largest scale, of "
                f"{brushed.n_rows:,}. The download of predictions has all."
            )


def neighbour_frame(found: Found) -> pd.DataFrame:
    """A line a neighbour: its number among the training rows, affinity, target, features.

    A table's held-out row comes first, to compare them with.
    """
    look, data = found.look, found.fit.data
    columns = {
        "training row": look.indices + 1,
        "trees shared": look.affinities,
        data.target_name: look.targets,
    }
    if data.labels is not None:
        columns[data.label_name] = data.labels[look.indices]
    columns |= dict(zip(data.feature_names, look.features.T, strict=True))
    near = pd.DataFrame(columns)
    if look.row is None:
        return near
    values = dict.fromkeys(near.columns, "\u2013")  # its class is not known
    values |= {
        "training row": "this row",
        "trees shared": look.n_trees,
        data.target_name: look.target,
        **dict(zip(data.feature_names, look.x.tolist(), strict=True)),
    }
    return pd.concat([pd.DataFrame([values]), near.astype({"training row": str})])


def highlighted_frame(found: Found) -> pd.DataFrame:
    """A line a row in the range, the least sure first."""
    data, view = found.fit.data, found.view
    at = np.flatnonzero(found.brushed.rows)
    at = at[np.argsort(-view.scale[at], kind="stable")]
    kind = "fresh row" if data.n_inputs else "held-out row"
    return pd.DataFrame(
        {
            kind: at + 1,
            "scale": view.scale[at],
            "prediction": view.loc[at],
            data.target_name: data.y_test[at],
            "absolute error": np.abs(data.y_test - view.loc)[at],
            **dict(zip(data.feature_names, data.X_test[at].T, strict=True)),
        }
    )
