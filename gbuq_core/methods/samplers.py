"""Samplers of a density, which stand for boosting methods: SGLD for SGLB, cg-SGLD for cSGLB.

They have records of their own, because they fit no table and share their colours with the methods
that they stand for. `gbuq_core.sampling` runs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from gbuq_core.knobs import Knob, find_knob
from gbuq_core.methods.boosted import RECORDS as _BOOSTED
from gbuq_core.methods.papers import CYCLICAL


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """All that the project says about one sampler, declared once."""

    key: str  # its name in code
    # `label`, `about`: its name for people, which links use too, and one sentence on what it does
    label: str
    about: str
    # `paper`, `section`: where it comes from
    paper: str = CYCLICAL
    section: str = "section 5.1, appendix B.1"
    colour: str  # `#rrggbb`, the same on every page
    cyclical: bool = False  # Whether it has cycles at all. The others ignore the number of cycles.
    # The numbers it uses, by their names in `gbuq_core.sample_mixture`. It refuses the others.
    knobs: tuple[Knob, ...]

    @property
    def defaults(self) -> Mapping[str, float]:
        """Its numbers with their defaults.

        Examples
        --------
        >>> dict(SAMPLERS["nsgld"].defaults)
        {'learning_rate': 0.02, 'noise_scale': 5.0}
        """
        return MappingProxyType({knob.key: knob.default for knob in self.knobs})

    def knob(self, key: str) -> Knob:
        """One of its knobs."""
        return find_knob(self.knobs, key)


_COLOURS = {method.key: method.colour for method in _BOOSTED}
_RATE = Knob("learning_rate", "Learning rate", "number", 0.05, 0.0, 10.0, low_open=True)
_NOISE = Knob(
    "noise_scale",
    "Noise scale",
    "number",
    1.0,
    0.0,
    100.0,
    help="1 gives Langevin dynamics. The paper's value of 0.4 is ambiguous.",
)
_EXPLORATION = Knob(
    "exploration_fraction",
    "Exploration",
    "number",
    0.0,
    0.0,
    0.99,
    help="Samples in this share of each cycle do not count.",
)

_RECORDS = (
    Sampler(
        key="sgld",
        label="SGLD",
        about="Langevin steps whose size falls from step to step.",
        colour=_COLOURS["sglb"],
        knobs=(
            replace(
                _RATE,
                help="At the first step. At step t it has fallen by (t + 1) to the power of -0.55.",
            ),
            Knob("decay", "Decay of the learning rate", "number", 0.55, 0.0, 5.0),
            _NOISE,
        ),
    ),
    Sampler(
        key="nsgld",
        label="N-SGLD",
        about="Langevin steps of one size with more noise.",
        colour="#cc79a7",
        knobs=(
            replace(_RATE, default=0.02),
            replace(
                _NOISE,
                default=5.0,
                help="Multiplies the Langevin noise. 1 samples from the target; more samples from "
                "a flatter density.",
            ),
        ),
    ),
    Sampler(
        key="clr",
        label="clr-SGLD",
        about="Langevin steps whose size falls to zero in each cycle.",
        colour="#009e73",
        cyclical=True,
        knobs=(
            replace(
                _RATE,
                default=0.09,
                help="At the start of each cycle. It then falls to zero along half a cosine.",
            ),
            _NOISE,
            replace(_EXPLORATION, default=0.25),
        ),
    ),
    Sampler(
        key="cg",
        label="cg-SGLD",
        about="Langevin steps whose gradient is scaled down in each cycle.",
        colour=_COLOURS["csglb"],
        cyclical=True,
        knobs=(
            replace(_RATE, default=0.01),
            _NOISE,
            Knob(
                "alpha_max",
                "Largest gradient scale",
                "number",
                10.0,
                0.0,
                1000.0,
                low_open=True,
                help="At the start of each cycle.",
            ),
            Knob("alpha_min", "Smallest gradient scale", "number", 1.0, 0.0, 1000.0),
            _EXPLORATION,
        ),
    ),
)
SAMPLERS: Mapping[str, Sampler] = MappingProxyType({each.key: each for each in _RECORDS})
