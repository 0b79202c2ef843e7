"""Commands in this process, and the one sentence with which they refuse."""

from gbuq_core.__main__ import main


def code_of(*words):
    """The exit code of a command."""
    try:
        return main([*map(str, words)])
    except SystemExit as stopped:  # argparse's own complaints
        return stopped.code


def refusal(capsys, *words):
    """The sentence with which a command refuses these words, having printed nothing else."""
    assert code_of(*words) == 2, words
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1), (words, said)
    assert said.err.endswith((".\n", "?\n")), said.err  # the nearest option is a question
    assert "Traceback" not in said.err
    return said.err.rstrip("\n")
