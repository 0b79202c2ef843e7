"""The neighbours of one prediction as a list, and the rows that are highlighted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from gbuq_core.study.neighbours import neighbour_columns
from gbuq_core.study.neighbours_fit import NeighboursRun
from gbuq_core.study.neighbours_picture import describe_brush

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 200  # of a list


def draw_rows(run: NeighboursRun) -> None:
    """The neighbours as a list, with the classes among them, and the highlighted rows."""
    look, data = run.look, run.fit.data
    st.subheader("The neighbours")
    if look.class_shares is not None:
        shares = (f"{100 * share:.0f} % {name}" for name, share in look.class_shares.items())
        st.text(
            f"{data.label_name.capitalize()} of the {look.k} neighbours: {', '.join(shares)}. The "
            f"model did not see the {data.label_name}. The paper has no such shares; this page "
            "adds them.",
            width="stretch",
        )
    frame = neighbour_frame(run)
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
    brushed = run.brushed
    if highlighted := describe_brush(run):
        st.text(highlighted, width="stretch")
    if brushed is not None and brushed.n_rows:
        st.subheader("Rows with a scale in this range")
        st.dataframe(
            highlighted_frame(run).head(MOST_ROWS),
            hide_index=True,
            key="neighbours-highlighted",
            height=min(36 * (brushed.n_rows + 1), 300),
        )
        if brushed.n_rows > MOST_ROWS:
            st.caption(
                f"The list shows the {MOST_ROWS} rows with the largest scale, of "
                f"{brushed.n_rows:,}. The download of predictions has all."
            )


def neighbour_frame(run: NeighboursRun) -> pd.DataFrame:
    """A line a neighbour: its number among the training rows, affinity, target, features.

    A table's held-out row comes first, to compare them with.
    """
    import pandas as pd  # late, as the picture has no table

    look, data = run.look, run.fit.data
    near = pd.DataFrame(neighbour_columns(run))
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


def highlighted_frame(run: NeighboursRun) -> pd.DataFrame:
    """A line a row in the range, the least sure first."""
    import pandas as pd

    data, view = run.fit.data, run.view
    at = np.flatnonzero(run.brushed.rows)
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
