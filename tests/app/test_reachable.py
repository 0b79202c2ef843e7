"""Every control that version 0.2 showed is still on its page, folded or not, by today's names."""

import json
import re
from pathlib import Path

import pytest

from tests.app.drawn import curve_specs, sheets
from tests.app.opening import open_link
from tests.app.waiting import run_watched, run_when_done

CONTROLS = json.loads(Path(__file__).with_name("controls_of_0_2.json").read_text())
WIDGETS = (
    "slider", "select_slider", "selectbox", "multiselect", "number_input", "text_input", "radio",
    "toggle", "button", "button_group", "download_button", "file_uploader",
)  # fmt: skip


def controls(at):
    """The labels of a page's widgets and of the knobs in its pictures, without their seconds."""
    widgets = [part.proto.label for kind in WIDGETS for part in at.get(kind)]
    pictures = [*(sheet.header for sheet in sheets(at)), *curve_specs(at)]
    knobs = [knob["label"] for picture in pictures for knob in picture.get("knobs", ())]
    return {re.sub(r",? about .* s$", "", label) for label in (*widgets, *knobs)}


# Your data begins without a table, and its second file has a section of its own.
PARTS = {"your_data": ({"table": "diabetes", "row": "271"}, {"section": "Second file"})}


@pytest.mark.usefixtures("two_seeds")
@pytest.mark.parametrize("page", CONTROLS)
def test_every_control_is_still_there(page):
    missing = set(CONTROLS[page])
    for query in PARTS.get(page, ({},)):
        at = open_link("home", {})  # whose rows stay in the address: a bare one folds much
        at.switch_page(f"pages/{page}.py")
        at.query_params.update(query)
        missing -= controls(run_when_done(run_watched(at)))
    assert not missing
