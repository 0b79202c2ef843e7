"""Waiting for what a page has asked for."""

import time

import pytest

from gbuq_core.jobs import RUNNER, JobRunner

PATIENCE = 300.0  # seconds: NGBoost's fits take half of it where others use the cores, too


def live_jobs():
    return list(RUNNER._live.values())


def run_watched(at):
    """Run a page, whose ``asked`` then holds each job that it wanted, and whether that was done."""
    asked, ask = [], JobRunner.want

    def want(runner, *args, **options):
        job = ask(runner, *args, **options)
        asked.append((job, job.wait(0)))
        return job

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JobRunner, "want", want)
        at.run()
    at.asked = asked
    return at


def is_whole(at, counts=lambda job: True):
    """Whether all that the last watched run asked for was there: another run draws the same."""
    return all(done for job, done in at.asked if counts(job))


def run_when_done(at, counts=lambda job: True):
    """Run a page again until all that it asks for is there, as far as that ``counts``.

    While a fit works the page is left alone: each run would take time from the fit.
    """
    deadline = time.monotonic() + PATIENCE
    whole = is_whole(at, counts) if "asked" in vars(at) else False
    while not whole and time.monotonic() < deadline:
        while any(map(counts, live_jobs())) and time.monotonic() < deadline:
            time.sleep(0.02)
        whole = is_whole(run_watched(at), counts)
    vars(at).pop("asked", None)  # of this run: the next one may be another's
    assert not at.exception
    return at
