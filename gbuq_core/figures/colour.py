"""Colours with a meaning: perceptually uniform maps and categories."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import numpy.typing as npt

from gbuq_core.validation import check_choice

# Every fifth row of two public-domain (CC0) colour tables, as rrggbb: cividis (Nuñez, Anderton
# and Renslow 2018, PLOS ONE 13(7)) and viridis (Smith and van der Walt 2015).
_ANCHORS = {
    "cividis": (
        "00224e002656002a5f002d68003070083370163770203a6f273e6e2e416d34456c3a486c3f4c6c444f6c"
        "49536c4e566c535a6d575d6d5c616e60646f656870696b716d6f727272747676767a7a787e7d78838179"
        "8885788d8878928c789690779b9476a09875a59c74aaa073afa471b5a86fbaac6dbfb06bc4b468c9b965"
        "cfbd62d4c15fdac65bdfca57e5cf52ead34cf0d846f6dd3ffce236fee838"
    ),
    "viridis": (
        "44015446085c471063481769481d6f482475472a7a46307e453781433d844142873f48893d4e8a3a538b"
        "38598c355e8d33638d31688e2e6d8e2c718e2a768e297b8e27808e25848e23898e218e8d20928c1f978b"
        "1e9c891fa18821a58524aa8328ae802eb37c35b7793dbc7446c06f50c46a5ac86465cb5e70cf577cd250"
        "89d54895d840a2da37b0dd2fbddf26cae11fd8e219e5e419f1e51dfde725"
    ),
}
COLOUR_MAPS = tuple(_ANCHORS)

HEX = re.compile(r"#[0-9a-fA-F]{6}")  # the one spelling of a colour that figures take

# Okabe and Ito's eight colours that people with any colour vision tell apart. Black comes last
# because it vanishes on a dark page.
OKABE_ITO = (
    "#0072b2",  # blue
    "#e69f00",  # orange
    "#009e73",  # green
    "#cc79a7",  # purple
    "#56b4e9",  # sky
    "#d55e00",  # vermilion
    "#f0e442",  # yellow
    "#000000",
)


@cache
def colour_table(name: str) -> npt.NDArray[np.uint8]:
    """Return a colour map as (256, 3) uint8, RGB from its low to its high end, read-only.

    Channels are interpolated between a few anchors. No channel differs by more than 4 of 255 from
    the published table.
    """
    check_choice("colour_map", name, COLOUR_MAPS)
    anchors = np.frombuffer(bytes.fromhex(_ANCHORS[name]), dtype=np.uint8).reshape(-1, 3)
    at, place = np.arange(256), np.linspace(0, 255, len(anchors))
    table = np.column_stack([np.interp(at, place, channel) for channel in anchors.T])
    rounded = np.rint(table).astype(np.uint8)
    rounded.setflags(write=False)
    return rounded
