"""The state of "Noise that grows" in the address."""

from __future__ import annotations

from dataclasses import replace

from gbuq_core.experiments.heteroscedastic.experiment import SORT
from gbuq_core.experiments.heteroscedastic.plan import PAPER, SCORES, HeteroscedasticSettings
from gbuq_core.settings import knobs_of, to_values
from pages._ui.knobs import Preset
from pages._ui.live import EVERY
from pages._ui.present import Step
from pages._ui.url_state import PageState

_EVERY = replace(
    EVERY, label="All methods", help="Shows every chosen method at once, instead of the first."
)
STATE = PageState(
    key="heteroscedastic",
    knobs=(*knobs_of(HeteroscedasticSettings), _EVERY, SORT),
    presets=(
        Preset(
            "Paper settings",
            {name: to_values(PAPER)[name] for name in ("methods", "trees")},
            "Six methods of the paper's figure 1.",
        ),
        Preset(
            "Leaves of one row",
            {
                "min_child_samples": 1,
                "max_leaves": 255,
                "score": SCORES["inference_novelty"],
                "tail": "ends at 5.2",
            },
            "A leaf with one row cannot know a slope or the noise. What happens to the AUROC of "
            "knowledge uncertainty, and to that of the authors' inference novelty, which stops at "
            "5.2? Then let novelty go on rising.",
        ),
        Preset(
            "Subsample 0.8",
            {"subsample": 0.8, "score": SCORES["knowledge"]},
            "The trees see nearly the same rows. Does their knowledge uncertainty still rise "
            "outside the rows?",
        ),
    ),
    picture=("heteroscedastic-panels",),
    story=(
        Step(
            "Noise grows with x, and no rows lie left of 0 or right of 10. Who knows both?",
            {"every": True},
        ),
        Step(
            "Only x from 0 to 10. Whose light band has the width of the true noise?",
            {"every": True, "focus": True},
        ),
        Step("200 rows. Whose dark rim grows?", {"every": True, "rows": 200}),
        Step("Five times the noise. Whose bands follow it?", {"every": True, "noise_slope": 0.5}),
    ),
)
