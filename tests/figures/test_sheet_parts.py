"""The parts of the view of maps, which are joined to one class of JavaScript."""

import re
from collections import Counter

from gbuq_core.figures.canvas.renderer import FOLDER

_BODIES = (
    r"^class SheetView\b[^\n]*\{\n(.*?)^\}",
    r"^Object\.assign\(SheetView\.prototype, \{\n(.*?)^\}\);",
)
_METHOD = re.compile(r"^  (?:async |get |set |\*)?(\w+)\([^\n]*\) \{", re.MULTILINE)


def methods_of(source):
    """Names of the methods that one file gives the view."""
    whole = re.MULTILINE | re.DOTALL
    bodies = [body for pattern in _BODIES for body in re.findall(pattern, source, whole)]
    for name in re.findall(r"^Object\.assign\(SheetView\.prototype, (\w+)\);", source, re.M):
        bodies += re.findall(rf"^const {name} = \{{\n(.*?)^\}};", source, whole)
    return [method for body in bodies for method in _METHOD.findall(body)]


def test_no_two_parts_give_the_view_a_method_of_one_name():
    """The later one would replace the other without a word."""
    counts = Counter(
        method for path in sorted(FOLDER.glob("*.js")) for method in methods_of(path.read_text())
    )
    assert len(counts) > 50  # or the files are no longer read
    assert [method for method, n in counts.items() if n > 1] == []


def test_a_method_that_two_parts_give_is_found():
    part = "const Part = {\n  draw(a) {\n  },\n};\nObject.assign(SheetView.prototype, Part);\n"
    other = "class SheetView {\n  draw() {\n  }\n}\n"
    assert methods_of(part) == methods_of(other) == ["draw"]
