"""A page with two fits side by side, one of which can be slow or fail."""

import time

import streamlit as st

from gbuq_core.errors import InvalidData
from gbuq_core.jobs import RUNNER
from pages._ui.jobs_glue import (
    Request,
    ask,
    cost_line,
    leave_other_pages,
    session_user,
    show_progress,
)
from pages._ui.notices import show_notice


def count(seconds, fails):
    def compute(job):
        if fails == "ours":
            raise InvalidData("There are no rows.")
        if fails == "theirs":
            raise KeyError("secret")
        for step in range(round(seconds * 100)):
            time.sleep(0.01)
            job.tick(step / (seconds * 100))
        return f"counted {seconds}"

    return compute


if st.toggle("Go to another page", key="away"):
    leave_other_pages("another")
    st.stop()
leave_other_pages("slow")
if st.toggle("Forget the session, as a closed tab does", key="gone"):
    session_user.clear()
    st.stop()
seconds = st.number_input("Seconds", 0.0, 60.0, 0.01, key="seconds")
fails = st.selectbox("Fails", ("", "ours", "theirs"), key="fails")
answers = ask(
    [
        Request("quick", ("test", "quick"), count(0.01, ""), "Quick"),
        Request("slow", ("test", seconds, fails), count(seconds, fails), "Slow", seconds),
    ]
)
show_progress(answers)
for answer in answers:
    if answer.error:
        show_notice(answer.error, answer.slot, tone="error")
    st.text(f"{answer.slot}: {answer.state}, {answer.result}, fresh {answer.fresh}")
    st.text(cost_line(answer))

st.button("Look again")
running = [job for job in RUNNER._live.values() if job.key[0] == "test"]
st.text(f"running in the process: {len(running)}")
