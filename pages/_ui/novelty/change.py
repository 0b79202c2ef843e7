"""What the last edit of Novelty's rows changed, and whether the prediction was right."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import streamlit as st

from gbuq_core.experiments.novelty.compare import (
    Judgement,
    MapChange,
    compare_maps,
    judge_prediction,
)
from gbuq_core.experiments.novelty.edits import mask_of
from gbuq_core.experiments.novelty.fit import NoveltyFit
from gbuq_core.experiments.novelty.picture import change_sheet
from gbuq_core.experiments.novelty.scores import describe_change
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.knobs import find_knob
from gbuq_core.settings import plan_of
from pages._ui.canvas import canvas
from pages._ui.controls import draw_knob
from pages._ui.jobs_glue import Answer
from pages._ui.notices import show_notice
from pages._ui.novelty.controls import STATE
from pages._ui.novelty.edits import guesses_of
from pages._ui.novelty.picture import FitWithMaps, ShownMaps, novelty_maps


class Changed(NamedTuple):
    """The fit before the last edit, where the edit was, and what was predicted."""

    fit: NoveltyFit
    mask: npt.NDArray[np.bool_]
    change: MapChange
    judgements: tuple[Judgement, ...]


def changed_of(found: ShownMaps, before: Answer | None) -> Changed | None:
    """What the last edit changed; None without edits, or while the fit before is on its way."""
    run = found.run
    edits = run.settings.edits
    if not edits or before is None or before.result is None:
        return None
    made: FitWithMaps = before.result
    fit = made.fit
    if fit.plan != plan_of(replace(run.settings, edits=edits[:-1])):
        return None
    maps = novelty_maps(made, run.settings, "before")
    mask = mask_of(edits[-1].runs)
    change = compare_maps(maps, run.maps, run.settings.score, mask)
    judgements = tuple(
        judge_prediction(key, answer, maps, run.maps, mask)
        for key, answer in guesses_of(edits).items()
    )
    return Changed(fit, mask, change, judgements)


def say_change(found: ShownMaps, changed: Changed | None) -> None:
    """Right below the maps: what the edit did to the rows, and whether it was foreseen."""
    if not found.run.settings.edits:
        return
    outcome = found.run.fit.rows.outcomes[-1].text
    lines = [outcome]
    if changed is not None:
        lines += [judgement.text for judgement in changed.judgements]
        if not changed.judgements:
            lines.append("This edit came with the link, so nobody predicted its effect.")
    show_notice(lines, "verdict")


def draw_change(found: ShownMaps, before: Answer | None, changed: Changed | None) -> None:
    """The maps before and after the last edit, and their difference."""
    if not found.run.settings.edits:
        return
    with st.expander("What the last edit changed", expanded=True):
        with st.container(width=260):
            draw_knob(find_knob(STATE.knobs, "score"))
        if changed is not None:
            canvas(change_sheet_of(found, changed), key="novelty-change")
            st.text(describe_change(changed.change), width="stretch")
        elif before is not None and before.error:
            show_notice(before.error, "before", tone="error")
        else:
            st.text("The maps before the edit are being computed.")


def change_sheet_of(found: ShownMaps, changed: Changed) -> PanelSheet:
    """Before, after and difference of the chosen score."""
    return change_sheet(changed.fit, found.run.fit, changed.change, changed.mask)
