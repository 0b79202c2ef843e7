"""What the figures of a page were given to draw."""

from tests.figure_readers import decode_sheet, unpack_curves


def curve_specs(at):
    """The specifications of the figures of curves."""
    return [unpack_curves(data) for data in _bytes_of(at, curves=True)]


def sheets(at):
    """The sheets of the canvas figures."""
    return [decode_sheet(data) for data in _bytes_of(at, curves=False)]


def unnamed(sheet):
    """The maps that no link can name, but for the truth that stands first."""
    knob = next(knob for knob in sheet.header["knobs"] if knob["key"] == "map")
    return {panel["name"] for panel in sheet.header["panels"][1:]} - set(knob["texts"])


def _bytes_of(at, curves):
    parts = [part.proto for part in at.get("bidi_component")]
    return [
        proto.bytes
        for proto in parts
        if proto.bytes
        and proto.component_name not in ("gbuq_near", "gbuq_members")  # draw nothing
        and proto.component_name.startswith("gbuq_curves") == curves
    ]
