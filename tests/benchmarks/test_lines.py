"""Counting lines, and names that stand once."""

from benchmarks import lines

SOURCE = '''
from dataclasses import dataclass
from typing import NamedTuple

@dataclass
class Once:
    x: int

class Twice(NamedTuple):
    x: int

class Plain:
    """No record."""

def _single():
    return Once(1)

def _double():
    return Twice(1), Twice(2)

def both():
    return _single(), _double(), _double()
'''


def test_a_small_house_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "ROOT", tmp_path)
    for room in lines.ROOMS:
        (tmp_path / room / "inner").mkdir(parents=True)
    (tmp_path / "app.py").write_text("import gbuq_core\n")
    (tmp_path / "gbuq_core/inner/some.py").write_text(SOURCE)
    (tmp_path / "gbuq_core/saving.py").write_text("load = 1\n" * 3)
    (tmp_path / "pages/page.py").write_text("x = 1\n")
    n_source = len(SOURCE.splitlines())
    assert lines.room_sizes() == {"gbuq_core": n_source + 3, "pages": 1}
    assert lines.room_sizes(2) == {"gbuq_core/inner": n_source, "gbuq_core": 3, "pages": 1}
    assert lines.largest_files("gbuq_core", 1) == [("gbuq_core/inner/some.py", n_source)]
    assert lines.saver_lines() == 3
    named = lines.read_names()
    assert lines.built_once(named) == ["Once"]
    assert lines.used_once(named) == ["_single"]
