"""Stored openings repeat what their experiments compute."""

import dataclasses
import re
from dataclasses import replace

import numpy as np
import pytest
from lesson_parts import computed

from benchmarks.openings import MOST_BYTES, MOST_BYTES_OF_LESSONS, MOST_BYTES_OF_PAGES, OPENINGS
from demos import NAMES, load_lessons
from demos.first_steps import FirstStep
from gbuq_core.experiments.opening import changed

# Relative to an array's largest number: what processors make of a fit of a thousand trees, each of
# which continues from the last.
REFITTED = 1e-4
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?)")
WRITTEN = 0.06  # of a number in a sentence, which has two digits or more


def compare(stored, fresh, tolerance, where):
    """Fail where two records hold something else."""
    fields = getattr(fresh, "_fields", ())
    if dataclasses.is_dataclass(fresh):
        fields = [field.name for field in dataclasses.fields(fresh)]
    assert type(stored) is type(fresh), where
    if isinstance(fresh, dict):
        assert list(stored) == list(fresh), where
        stored, fresh = list(stored.values()), list(fresh.values())
    for name in fields:
        compare(getattr(stored, name), getattr(fresh, name), tolerance, f"{where}.{name}")
    if isinstance(fresh, list | tuple) and not fields:
        assert len(stored) == len(fresh), where
        for place, pair in enumerate(zip(stored, fresh, strict=True)):
            compare(*pair, tolerance, f"{where}[{place}]")
    elif isinstance(fresh, float) or (isinstance(fresh, np.ndarray) and fresh.dtype.kind == "f"):
        finite = np.abs(fresh)[np.isfinite(fresh)]
        atol = tolerance * (finite.max() if finite.size else 0.0)
        np.testing.assert_allclose(stored, fresh, rtol=0, atol=atol, err_msg=where)
    elif isinstance(fresh, np.ndarray):
        np.testing.assert_array_equal(stored, fresh, err_msg=where)
    elif isinstance(fresh, bytes):  # numbers as a browser reads them
        assert len(stored) == len(fresh), where
    elif isinstance(fresh, str):
        words, again = _NUMBER.split(stored), _NUMBER.split(fresh)
        assert words[::2] == again[::2], where
        numbers = ([float(text.replace(",", "")) for text in each[1::2]] for each in (words, again))
        np.testing.assert_allclose(*numbers, rtol=WRITTEN, err_msg=where)
    elif not fields and not callable(fresh):
        assert stored == fresh, where


def test_they_are_small():
    sizes = {}
    for opening in OPENINGS.values():
        sizes[opening.name] = sizes.get(opening.name, 0) + opening.path.stat().st_size
    assert sizes.pop("openings") <= MOST_BYTES_OF_LESSONS
    assert max(sizes.values()) <= MOST_BYTES, sizes
    assert sum(sizes.values()) <= MOST_BYTES_OF_PAGES, sizes


def made_again(opening, plan):
    """What a plan's experiment computes; lessons' steps are computed once for all tests."""
    if isinstance(plan, FirstStep):
        return computed(plan.lesson, load_lessons()[NAMES.index(plan.lesson)].steps[0].title)
    return opening.make(plan)


@pytest.mark.parametrize("name", OPENINGS)
def test_it_is_what_is_computed(name):
    """Of many seeds the last: they are alike."""
    opening = OPENINGS[name]
    stored = [(plan, opening.find(plan)) for plan in opening.plans()]
    assert stored
    assert all(result is not None for _, result in stored), f"run benchmarks.openings --only {name}"
    for plan, result in stored if len(stored) < 6 else stored[-1:]:
        if name == "beyond/plane":
            plan, result = plan._replace(seeds=1), result._replace(aurocs=result.aurocs[:1])
        fresh = changed(made_again(opening, plan), **opening.not_stored(plan))
        compare(result, opening.restore(fresh), 2.0**-opening.bits + REFITTED, name)


def test_what_is_read_is_what_was_written_up_to_its_rounding(tmp_path, monkeypatch):
    opening = OPENINGS["wave/opening"]
    (plan,) = opening.plans()
    fresh = opening.make(plan)
    again = replace(opening, make=lambda _: fresh)
    monkeypatch.setattr(type(opening), "path", tmp_path / "opening.xz")
    again.path.write_bytes(again.content())
    compare(
        again.find(plan), changed(fresh, **opening.not_stored(plan)), 2.0**-opening.bits, "wave"
    )
    assert again.find(plan) is again.find(plan)
    assert again.find(replace(plan, rows=125)) is None
    with pytest.raises(ValueError, match="read-only"):
        again.find(plan).loc[0] = 0.0
