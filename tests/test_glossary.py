"""Every term is one plain sentence; labels carry their unit."""

import re

import pytest

from gbuq_core.glossary import (
    GLOSSARY,
    STD_CAVEAT,
)


@pytest.mark.parametrize("text", [*(term.definition for term in GLOSSARY.values()), STD_CAVEAT])
def test_definitions_are_one_plain_sentence(text):
    assert text.endswith(".")
    assert ". " not in text
    assert not re.search(r"[<>*_`$\[\]\\]", text)  # neither HTML nor Markdown nor LaTeX


def test_labels_start_with_a_capital_and_are_told_apart():
    labels = [term.label for term in GLOSSARY.values()]
    assert all(label[0].isupper() for label in labels)
    assert len(set(labels)) == len(labels)


def test_the_glossary_cannot_be_changed():
    with pytest.raises(TypeError):
        GLOSSARY["total"] = None
