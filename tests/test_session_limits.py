"""What one session may use: the file that says it, and the runner that keeps to it."""

import re
import threading
from pathlib import Path

import pytest
from job_parts import HANG

from gbuq_core import jobs, session_limits
from gbuq_core.errors import InvalidParameter, LimitReached
from gbuq_core.jobs import JobRunner
from gbuq_core.session_limits import SessionLimits, configured_limits, read_limits


def written(folder, text):
    path = folder / "gbuq.toml"
    path.write_text(text)
    return path


def test_every_limit_is_read_and_what_is_left_out_is_none(tmp_path):
    text = "fits_at_once = 2\nfits_per_hour = 100\nupload_megabytes = 50\nheld_megabytes = 500\n"
    limits = read_limits(written(tmp_path, f"[limits]\n{text}rows = 1_000_000\n"))
    assert limits == SessionLimits(2, 100, 50, 500, 1_000_000)
    assert read_limits(written(tmp_path, "")) == SessionLimits()
    assert read_limits(written(tmp_path, "[limits]\nrows = 5\n")) == SessionLimits(rows=5)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[limits]\nfits = 3\n", 'the limit "fits", which is unknown: the limits are fits_at_once'),
        ("[limit]\nrows = 3\n", 'has "limit", which is unknown: its only section is [limits]'),
        ("rows = 3\n", 'has "rows", which is unknown'),
        ("limits = 3\n", "must be a section"),
        ('[limits]\nrows = "many"\n', 'rows must be a whole number of at least 1; got "many"'),
        ("[limits]\nrows = 1.5\n", 'got "1.5"'),
        ("[limits]\nrows = true\n", 'got "True"'),
        ("[limits]\nheld_megabytes = -1\n", 'got "-1"'),
        ("[limits]\nfits_at_once = 0\n", "leave the line out for no limit"),
        ("[limits\n", "not valid TOML"),
    ],
)
def test_a_wrong_file_gets_one_sentence(tmp_path, text, part):
    with pytest.raises(InvalidParameter) as caught:
        read_limits(written(tmp_path, text))
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_the_file_is_named_by_a_variable_or_lies_where_the_server_starts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GBUQ_CONFIG", raising=False)
    assert configured_limits() == SessionLimits()
    written(tmp_path, "[limits]\nrows = 7\n")
    assert configured_limits().rows == 7
    monkeypatch.setenv("GBUQ_CONFIG", str(tmp_path / "other.toml"))
    with pytest.raises(InvalidParameter, match=r'"other.toml".*cannot be read.*GBUQ_CONFIG'):
        configured_limits()


def limited(**limits):
    runner = JobRunner()
    runner.limits = SessionLimits(**limits)
    return runner


class Held:
    """A fit that runs until it is let go or cancelled."""

    def __init__(self):
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, job):
        self.begun.set()
        while not self.go_on.wait(0.002):
            job.tick(0)
        return job.key


def test_fits_beyond_those_at_once_wait_for_one_of_the_same_user():
    runner, fits = limited(fits_at_once=2), [Held() for _ in range(4)]
    mine = [runner.want("ann", k, fits[k], slot=f"s{k}") for k in range(3)]
    assert fits[0].begun.wait(HANG)
    assert fits[1].begun.wait(HANG)
    assert mine[2].held_back
    assert mine[2].state == "queued"
    assert runner.want("bob", 3, fits[3]).held_back is False  # another's fits do not wait
    assert fits[3].begun.wait(HANG)
    fits[0].go_on.set()
    assert mine[0].result(HANG) == 0
    assert fits[2].begun.wait(HANG)
    assert not mine[2].held_back
    for user in ("ann", "bob"):
        runner.forget_user(user)


def test_a_fit_that_waits_begins_when_another_is_stopped_or_when_somebody_else_wants_it():
    runner, fits = limited(fits_at_once=1), [Held() for _ in range(3)]
    first = runner.want("ann", 0, fits[0], slot="a")
    second = runner.want("ann", 1, fits[1], slot="b")
    third = runner.want("ann", 2, fits[2], slot="c")
    assert runner.want("bob", 2, fits[2]) is third
    assert fits[2].begun.wait(HANG)
    assert second.held_back
    runner.release("ann", ["a"])
    assert first.wait(HANG)
    assert fits[1].begun.wait(HANG)
    for user in ("ann", "bob"):
        runner.forget_user(user)


def test_a_fit_that_waits_can_be_given_up():
    runner, fits = limited(fits_at_once=1), [Held() for _ in range(2)]
    runner.want("ann", 0, fits[0], slot="a")
    waiting = runner.want("ann", 1, fits[1], slot="b")
    runner.release("ann", ["b"])
    assert waiting.wait(HANG)
    assert waiting.state == "cancelled"
    runner.forget_user("ann")
    assert runner._held_back == []
    assert not fits[1].begun.is_set()


def test_long_fits_of_an_hour_are_counted_and_the_next_one_is_refused(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(jobs.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(jobs, "LONG_SECONDS", 0.0)
    runner = limited(fits_per_hour=2)
    for k in range(2):
        now[0] += 600
        runner.want("ann", k, lambda job: "value").result(HANG)
    with pytest.raises(LimitReached, match=r"2 fits in the last hour.*wait 50 min 0 s"):
        runner.want("ann", 2, lambda job: "value")
    assert runner.want("ann", 1, lambda job: "anew").result(HANG) == "value"  # what is there
    assert runner.want("bob", 2, lambda job: "value").result(HANG) == "value"
    now[0] += 3001
    assert runner.want("ann", 3, lambda job: "value").result(HANG) == "value"
    runner.forget_user("ann")
    assert "ann" not in runner._counted


def test_fits_of_a_dragged_slider_do_not_count():
    runner = limited(fits_per_hour=1)
    for k in range(5):
        runner.want("ann", k, lambda job: "value").result(HANG)
    assert runner._counted == {}


def test_files_and_results_that_a_user_shows_are_counted_together():
    runner = limited(held_megabytes=1)
    runner.hold_files("ann", 600_000)
    runner.check_held("ann")
    runner.want("ann", "result", lambda job: bytes(500_000), slot="a").result(HANG)
    with pytest.raises(LimitReached, match=r"Your files and results take 1.1 MB"):
        runner.want("ann", "more", lambda job: 1, slot="b")
    assert runner.want("ann", "other", lambda job: 1, slot="a").result(HANG) == 1  # in its place
    runner.check_held("ann")
    runner.hold_files("ann", 2_000_000)
    with pytest.raises(LimitReached, match=r"more than the 1 MB that this server allows"):
        runner.check_held("ann")
    runner.forget_user("ann")
    runner.check_held("ann")


def test_the_end_of_a_job_is_told_to_who_started_it():
    runner, ends, heard = JobRunner(), [], threading.Event()

    def hear(job):
        ends.append((job.state, type(job.error)))
        heard.set()

    def fail(job):
        raise KeyError("x")

    runner.want("ann", "key", fail, when_ended=hear)
    assert heard.wait(HANG)
    assert ends == [("failed", KeyError)]


def test_uploads_and_rows_have_limits_of_their_own():
    limits = SessionLimits(upload_megabytes=2, rows=10)
    limits.check_upload(2_000_000)
    limits.check_rows(10)
    with pytest.raises(LimitReached, match=r"2.5 MB, more than the 2 MB"):
        limits.check_upload(2_500_000)
    with pytest.raises(LimitReached, match="11 rows"):
        limits.check_rows(11)
    assert session_limits.LONG_SECONDS > 0


def test_the_limits_of_the_guide_are_read(tmp_path):
    guide = (Path(__file__).resolve().parents[1] / "docs" / "deploy.md").read_text()
    (section,) = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    assert read_limits(written(tmp_path, section)) == SessionLimits(2, 200, 100, 1500, 2_000_000)
