"""Settings that tests repeat over seeds."""

from dataclasses import dataclass

from gbuq_core.settings import setting


@dataclass(frozen=True, kw_only=True)
class Small:
    seed: int = 5
    trees: int = setting(800, "Trees", low=1, high=1000, shrink=(1.0, 50))
    shown: int = setting(0, "Shown", low=0, high=9, drawn=True)
