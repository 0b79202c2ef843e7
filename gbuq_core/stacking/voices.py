"""What each voice says of a row, and the parts of the law that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.model_files.contents import require
from gbuq_core.stacking.law import Normals, Part, Students, raw_moments
from gbuq_core.stacking.support import Support

FloatArray = NDArray[np.float64]

VOICES = ("trees", "residuals", "targets", "process")
COUNTS = (10, 30, 100)  # nearest training rows
RESIDUAL_WIDTHS = (0.08, 0.15, 0.3, 0.5)  # of the row's own std
_TARGET_WIDTHS = (0.003, 0.01, 0.03, 0.1, 0.2)  # of the local spread of the targets
_NEAR = 0.1  # of the targets tell how far these lie apart around one
_TO_STD = 5.0  # 4 for a tenth of a normal's targets; more, so that chance narrows none of them
_TAILS = (4.0, 10.0, 100.0)  # degrees of freedom of the process's t
_OUTSIDE = 20.0  # widths beyond a bound: a mass there stands for one at the bound


class Component(NamedTuple):
    """One way to speak of a voice; the weights are of these."""

    voice: str
    near: int  # of neighbours; 0 for the others
    width: float  # smoothing, or degrees of freedom of the process; 0 for the trees

    def check_file(self) -> None:
        """Refuse components that no fit makes."""
        known = self.voice in VOICES and self.near >= 0 and self.width >= 0.0
        require(known, "a voice is impossible")


class Heard(NamedTuple):
    """What the voices say of n rows; arrays of voices that are not in use are empty."""

    loc: FloatArray  # (n,): the trees' mean, std and degrees of freedom
    scale: FloatArray
    df: FloatArray
    middle: FloatArray  # (n,): what the residuals are set on
    z: FloatArray  # (n, k): the neighbours' residuals in stds, nearest first
    y: FloatArray  # (n, k): their targets
    spread: FloatArray  # (n, k): how far the targets lie apart around each of these, in units of y
    counts: FloatArray  # (n, k): how many rows each neighbour counts as
    mean: FloatArray  # (n,): the process's mean, and its std with noise
    std: FloatArray
    extra: FloatArray  # (n,): variance that trees and residuals get beyond the training rows

    def take(self, rows: Any) -> Heard:
        """Some of the rows."""
        return Heard(*(part[rows] if len(part) else part for part in self))


def find_components(voices: Sequence[str], n_neighbours: int) -> tuple[Component, ...]:
    """All components of some voices, the trees first.

    >>> len(find_components(("trees", "residuals", "process"), 40))
    12
    """
    counts = [count for count in COUNTS if count <= n_neighbours] or [n_neighbours]
    components = [Component("trees", 0, 0.0)]
    for voice, widths in (("residuals", RESIDUAL_WIDTHS), ("targets", _TARGET_WIDTHS)):
        if voice in voices and n_neighbours > 0:
            components += [Component(voice, count, width) for count in counts for width in widths]
    if "process" in voices:
        components += [Component("process", 0, df) for df in _TAILS]
    return tuple(components)


def local_spreads(y: FloatArray, resolution: float, std: float) -> FloatArray:
    """How far targets (n,) lie apart around each of them, (n,): their std at most.

    The range of the tenth of the targets nearest in rank, times what makes it the std in the middle
    of a normal distribution. It is far less where many small values stand beside a few large ones.
    """
    ranked = np.sort(y)
    half = max(1, round(0.5 * _NEAR * len(y)))
    first = np.searchsorted(ranked, y, "left") - half
    last = np.searchsorted(ranked, y, "right") - 1 + half
    outside = np.maximum(-first, 0) + np.maximum(last - (len(y) - 1), 0)
    first, last = np.maximum(first, 0), np.minimum(last, len(y) - 1)
    share = 1.0 - np.minimum(outside / (2.0 * half), 0.99)  # all of it where all are equal
    spread = _TO_STD * (ranked[last] - ranked[first]) / share
    return np.clip(spread, min(resolution, std), std)


class Making(NamedTuple):
    """What the parts depend on besides the row."""

    components: tuple[Component, ...]
    support: Support

    def parts(self, heard: Heard, shares: FloatArray) -> tuple[Part, ...]:
        """The law's parts, with shares (n, n_components); those without any are left out."""
        parts: list[Part] = []
        groups = dict.fromkeys((way.voice, way.width) for way in self.components)
        for voice, width in groups:
            places = [
                k for k, way in enumerate(self.components)
                if (way.voice, way.width) == (voice, width) and (shares[:, k] > 0.0).any()
            ]  # fmt: skip
            if not places:
                continue
            if voice == "trees":
                std = np.sqrt(np.square(heard.scale) + heard.extra)
                parts.append(Students(self._inside(heard.loc), std, heard.df, shares[:, places[0]]))
            elif voice == "process":
                df = np.full(len(heard.mean), width)
                mean = self._inside(heard.mean)
                parts.append(Students(mean, heard.std, df, shares[:, places[0]]))
            else:
                parts.append(self._of_neighbours(heard, voice, width, places, shares))
        return tuple(parts)

    def _of_neighbours(
        self, heard: Heard, voice: str, width: float, places: list[int], shares: FloatArray
    ) -> Normals:
        most = max(self.components[k].near for k in places)
        of_atoms = self.of_neighbours(heard, shares, places)[:, :most]
        if voice == "residuals":
            centres = self._inside(heard.middle)[:, None] + heard.scale[:, None] * heard.z[:, :most]
            std = np.sqrt(np.square(width * heard.scale) + heard.extra)
            return Normals(centres, np.repeat(std[:, None], most, axis=1), of_atoms)
        centres, std = heard.y[:, :most].copy(), width * heard.spread[:, :most]
        support = self.support
        if support.low_mass:
            at = centres == support.low
            centres[at] -= _OUTSIDE * std[at]
        if support.high_mass:
            at = centres == support.high
            centres[at] += _OUTSIDE * std[at]
        return Normals(centres, std, of_atoms)

    def _inside(self, values: FloatArray) -> FloatArray:
        return np.clip(values, self.support.low, self.support.high)

    def means(self, heard: Heard, shares: FloatArray) -> FloatArray:
        """Mean of each voice (n, n_voices), 0 where it has no share."""
        out = np.zeros((len(shares), len(VOICES)))
        of_each = (heard.loc, heard.z, heard.y, heard.mean)
        for place, (voice, values) in enumerate(zip(VOICES, of_each, strict=True)):
            mine = [k for k, way in enumerate(self.components) if way.voice == voice]
            share = shares[:, mine].sum(axis=1)
            if not share.any():
                continue
            if values.ndim == 1:
                mean = self._inside(values)
            else:
                atoms = self.of_neighbours(heard, shares, mine)
                mean = (atoms * values).sum(axis=1) / np.where(share > 0.0, share, 1.0)
                if voice == "residuals":
                    mean = self._inside(heard.middle) + heard.scale * mean
            out[:, place] = np.where(share > 0.0, mean, 0.0)
        return out

    def moments(self, heard: Heard, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of each voice, (n, n_voices) each, NaN where it has no share."""
        real = self._replace(support=self.support._replace(low_mass=False, high_mass=False))
        means, variances = np.full((2, len(shares), len(VOICES)), np.nan)
        for place, voice in enumerate(VOICES):
            mine = np.array([way.voice == voice for way in self.components])
            parts = real.parts(heard, shares * mine)
            if parts:
                with np.errstate(invalid="ignore"):
                    means[:, place], variances[:, place] = raw_moments(parts)
        return means, variances

    def of_neighbours(
        self, heard: Heard, shares: FloatArray, places: Sequence[int] | None = None
    ) -> FloatArray:
        """Shares (n, k) of the neighbours in some components, or in all."""
        out = np.zeros(heard.counts.shape)
        for k, way in enumerate(self.components):
            speaks = way.near and (places is None or k in places)
            if speaks and shares[:, k].any():
                rows = heard.counts[:, : way.near]
                out[:, : way.near] += shares[:, k, None] * rows / rows.sum(axis=1, keepdims=True)
        return out

    def of_voice(self, shares: FloatArray) -> FloatArray:
        """Shares (n, n_voices) of the voices."""
        out = np.zeros((len(shares), len(VOICES)))
        for k, way in enumerate(self.components):
            out[:, VOICES.index(way.voice)] += shares[:, k]
        return out
