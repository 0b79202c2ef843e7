"""Commands and options that do not exist are named, with the nearest one that does."""

import pytest
from command_parts import refusal


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["scoer"], "There is no command scoer; did you mean score?"),
        (["frobnicate"], "There is no command frobnicate: see gbuq --help."),
        (["--hepl"], "There is no option --hepl; did you mean --help?"),
        # What is missing is told only of words that are there.
        (["score", "--hepl"], "There is no option --hepl; did you mean --help?"),
        (["score", "--taget=y"], "There is no option --taget; did you mean --target?"),
        (["fit", "rows.csv", "--tress", "9"], "There is no option --tress; did you mean --trees?"),
        (["score", "rows.csv", "-x"], "There is no option -x: see gbuq score --help."),
        (["compare", "--next=f"], "There is no option --next: see gbuq compare --help."),
        (
            ["score", "rows.csv", "--ta=y"],
            "--ta is short for several options (--target, --task): write the one that you mean.",
        ),
        # An option written short is known, and so are words that are no options.
        (["score", "--targ", "y", "-5", "a b"], "The following arguments are required: --out"),
        (["info", "--", "--hepl"], 'There is no file "--hepl": check its name.'),
    ],
)
def test_a_mistyped_word_is_named(words, sentence, capsys):
    assert refusal(capsys, *words).startswith(sentence)
