"""What a sheet lets its reader move: knobs above the maps, and what the browser needs for them.

A `gbuq_core.figures.handles.LiveKnob` stands in the picture's own bar. While it moves, JavaScript
(``live.js``) works the maps out again in every frame, from the members that `encode_members` sent
once, and colours them anew; nothing is asked of a server. ``ensembles.js`` holds the formulas: the
means, entropies and variances of `gbuq_core.uncertainty`, over the members whose
stages are asked for.

What JavaScript computes differs from Python's numbers by what the packing takes away:

- Class probabilities travel in steps of 1/65,535, the last class as what is left. Each is off by
  at most 1/131,070 (the last of three by twice as much).
- Means and variances of a normal travel as float32.
- A map of a frame for which no members were sent is read back from the frame itself, which is
  off by half a step of its range at most (`gbuq_core.figures.canvas.encoding.quantise`).
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidData
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.validation import check_choice, check_number

Ints = npt.NDArray[np.int64]

_TOP = 65_535  # the code of a probability of one
_PAGE_UNIT = 17  # of these steps, which divides all of them: 3,855 steps, as fine as openings
MAP = "map"  # the knob that names the map beside the truth
EVERY = "every"  # the knob that shows all maps
# What JavaScript knows to do with a knob, by its key.
MOVES = (
    *("step", "start", "burn_in", "shown", "flag", "log", "scale", "unit", "colours", "focus"),
    *("k", "tau", "order", "calibrate", "family"),  # near_maps.js
    "show",  # rank_maps.js
    *(MAP, EVERY),  # pairs.js
)
FRAME_SCALES = ("all frames", "this frame")  # what the knob ``colours`` lets the colours span
PLANS = ("models", "truncation", "cycles")


class Ensemble(NamedTuple):
    """What one method's maps are made of."""

    plan: str
    stages: npt.ArrayLike
    members: npt.ArrayLike
    frame_trees: npt.ArrayLike
    panels: tuple[int, int, int]
    cycle: int = 0


class Live(NamedTuple):
    """How the maps of a sheet follow its knobs."""

    family: Literal["classes", "normal"]
    ensembles: Sequence[Ensemble]
    noise_top: float | None = None
    noise_low: float = 0.0
    noise_panels: Sequence[int] = ()
    span: float = 1e-8
    from_zero: bool = False
    own: Literal["last", "all"] = "last"
    flag_text: str = ""
    units: dict[str, str] = {}  # noqa: RUF012 - never written to


def offered(
    knobs: Sequence[LiveKnob], *, plays: bool = False, focus: object = None
) -> list[LiveKnob]:
    """The knobs with a meaning: no choice of frames without a player, no rows without place."""
    missing = {"colours": not plays, "focus": focus is None}
    return [knob for knob in knobs if not missing.get(knob.key)]


def knob_headers(knobs: Sequence[LiveKnob]) -> list[dict[str, Any]]:
    """Return what the renderer needs of the knobs.

    >>> from gbuq_core.figures.handles import live_knob
    >>> from gbuq_core.knobs import Knob
    >>> log = live_knob(Knob("log", "Log", "switch", False), True)
    >>> knob_headers([log])[0]["choices"]
    [False, True]
    """
    for knob in knobs:
        if knob.key not in MOVES:
            raise InvalidData(f"No picture can follow a knob called {knob.key!r}.")
    return [{**knob.spec, "choices": list(knob.choices)} for knob in knobs]


def live_header(live: Live) -> dict[str, Any]:
    """Return how the maps follow the knobs, without the members."""
    return {
        "family": live.family,
        "members": members_digest(live),
        "ensembles": [
            {
                "plan": check_choice("plan", method.plan, PLANS),
                "cycle": int(method.cycle),
                "stages": np.asarray(method.stages).tolist(),
                "models": int(np.shape(method.members)[1]),
                "outputs": int(np.shape(method.members)[3]),
                "frameTrees": np.asarray(method.frame_trees).tolist(),
                "panels": list(method.panels),
            }
            for method in live.ensembles
        ],
        "noiseTop": live.noise_top,
        "noiseLow": live.noise_low,
        "noisePanels": list(live.noise_panels),
        "span": live.span,
        "fromZero": live.from_zero,
        "own": live.own,
        "flagText": live.flag_text,
        "units": dict(live.units),
    }


def members_digest(live: Live) -> str:
    """Return the name under which the browser keeps the members of these methods."""
    digest = blake2b(live.family.encode(), digest_size=8)
    for method in live.ensembles:
        members = np.asarray(method.members)
        stages = np.asarray(method.stages).tolist()
        digest.update(repr((method.plan, stages, members.shape)).encode())
        # Megabytes in every run: a checksum of all, and a digest of a few thousand numbers.
        flat = np.ascontiguousarray(members).reshape(-1)
        digest.update(zlib.crc32(flat.view(np.uint8).data).to_bytes(4, "little"))
        digest.update(np.ascontiguousarray(flat[:: max(1, flat.size // 4096)]).tobytes())
    return digest.hexdigest()


def encode_members(live: Live, for_page: bool = False) -> bytes:
    """Pack the members for the browser, in the layout of `encode_sheet`; sent once a fit.

    Class probabilities are unsigned 16-bit steps without the last class, ``[stage, model, class,
    cell]``; means and variances float32, ``[stage, model, output, cell]``. ``for_page`` writes
    steps of 17 of these as differences between stages, all low bytes before all high ones:
    deflated, they are a third as large.
    """
    parts, blobs, size = [], [], 0
    for method in live.ensembles:
        members = np.moveaxis(np.asarray(method.members), -1, -2)
        of_classes = live.family == "classes"
        unit, kind = (_PAGE_UNIT if for_page else 1), ("u2" if of_classes else "f4")
        codes = _as_steps(members, _TOP // unit) if of_classes else members.astype("<f4")
        split = for_page and of_classes
        data = _split(codes) if split else np.ascontiguousarray(codes).tobytes()
        blob = {"at": size, "n": codes.size, "type": kind, "shape": list(codes.shape)}
        blobs.append({**blob, "split": unit if split else 0})
        data += b"\0" * (-len(data) % 4)
        parts.append(data)
        size += len(data)
    header = {"store": members_digest(live), "family": live.family, "members": blobs}
    packed = json.dumps(header).encode()
    packed += b" " * (-len(packed) % 4)
    return struct.pack("<I", len(packed)) + packed + b"".join(parts)


def _split(codes: npt.NDArray[np.uint16]) -> bytes:
    """Differences between stages by their bytes: small whole numbers for those of either sign."""
    steps: Ints = codes.astype(np.int64)
    steps[1:] -= codes[:-1]
    flat = ((steps << 1) ^ (steps >> 63)).reshape(-1)
    return (flat & 255).astype(np.uint8).tobytes() + (flat >> 8).astype(np.uint8).tobytes()


def _as_steps(members: npt.NDArray[Any], top: int) -> npt.NDArray[np.uint16]:
    """Steps of all classes but the last; rounding never takes more than all of them have."""
    codes = np.rint(members[..., :-1, :] * np.float64(top)).astype(np.int64)
    left = np.full(codes[..., 0, :].shape, top)
    for k in range(codes.shape[-2]):
        np.minimum(codes[..., k, :], left, out=codes[..., k, :])
        left -= codes[..., k, :]
    return codes.astype("<u2")


def check_live(live: Live, n_panels: int, n_frames: int) -> None:
    """Refuse members that do not belong to the panels and frames of a sheet."""
    for method in live.ensembles:
        shape = np.shape(method.members)
        if len(shape) != 4 or shape[0] != np.size(method.stages):
            raise InvalidData("Members are numbered by stage, model, cell and output.")
        if np.size(method.frame_trees) != n_frames:
            raise InvalidData(f"Members know {np.size(method.frame_trees)} of {n_frames} frames.")
        for panel in method.panels:
            check_number("panels", panel, 0, n_panels - 1, integer=True)
