"""Commands in this process: what they print, and the one sentence with which they refuse."""

import json

import numpy as np
import pandas as pd

from gbuq_core.__main__ import main


def frame_of(n=120, seed=0):
    """Rows of a number and a group, and a target of both without noise."""
    rng = np.random.default_rng(seed)
    x, group = rng.uniform(-2, 2, n), rng.choice(["a", "b"], n)
    return pd.DataFrame({"x": x, "group": group, "y": x**2 + (group == "a")}).round(6)


def code_of(*words):
    """The exit code of a command."""
    try:
        return main([*map(str, words)])
    except SystemExit as stopped:  # argparse's own complaints
        return stopped.code


def printed(capsys, *words):
    """What a command that does its work writes to the standard output."""
    assert main([*map(str, words)]) == 0
    return capsys.readouterr().out


def record_of(capsys, *words):
    """The JSON object of a command."""
    return json.loads(printed(capsys, *words, "--json"))


def refusal(capsys, *words):
    """The sentence with which a command refuses these words, having printed nothing else."""
    assert code_of(*words) == 2, words
    streams = capsys.readouterr()
    assert (streams.out, streams.err.count("\n")) == ("", 1), (words, streams)
    assert streams.err.endswith((".\n", "?\n")), streams.err  # the nearest option is a question
    assert "Traceback" not in streams.err
    return streams.err.rstrip("\n")
