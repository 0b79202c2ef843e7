"""Steps of lessons, each computed once for all tests, from fits that are made once."""

import os
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

import demos
from demos import NAMES, load_lessons
from gbuq_core.study import neighbours_fit
from gbuq_core.study.soft_trees import SOFT_TREES
from gbuq_core.study.spiral import SPIRAL

_fit_once = cache(SPIRAL.fit)  # a plan says all that a fit depends on
_trees_once = cache(neighbours_fit.fit_neighbours)
_soft_trees_once = cache(SOFT_TREES.fit)


@contextmanager
def fits_made_once() -> Iterator[None]:
    """Inside, the experiments train no plan of the spiral, neighbours or soft trees twice."""
    with (
        patch.dict(vars(SPIRAL), fit=_fit_once),
        patch.object(neighbours_fit, "fit_neighbours", _trees_once),
        patch.dict(vars(SOFT_TREES), fit=_soft_trees_once),
    ):
        yield


@cache
def computed(name, title):
    """What a lesson's step shows, computed here or by another process of this run of the tests."""
    shared = os.environ.get("GBUQ_TESTS_LESSONS")
    file = shared and Path(shared, sha256(f"{name} {title}".encode()).hexdigest())
    if file and file.exists():
        return pickle.loads(file.read_bytes())  # noqa: S301
    steps = {step.title: step for step in load_lessons()[NAMES.index(name)].steps}
    with fits_made_once(), warnings.catch_warnings():
        warnings.simplefilter("error")  # it would be printed beside a lesson that is written
        warnings.simplefilter("ignore", DeprecationWarning)  # this one would not
        shown = steps[title].compute()
    if file:
        written = file.with_suffix(f".{os.getpid()}")
        written.write_bytes(pickle.dumps(shown))
        written.rename(file)
    return shown


def with_computed_steps(lesson):
    """The lesson, whose steps are computed once for all that asks for them."""
    steps = [
        step._replace(compute=partial(computed, lesson.name, step.title)) for step in lesson.steps
    ]
    return lesson._replace(steps=steps)


def build_site(arguments):
    """Build the site in this process, its lessons from steps that tests have computed."""
    from mkdocs.__main__ import cli

    lessons = tuple(with_computed_steps(lesson) for lesson in load_lessons())
    with patch.object(demos, "load_lessons", lambda: lessons):
        cli(arguments)
