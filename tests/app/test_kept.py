"""What pages keep of their fits: made once, made anew when it depends on another, forgotten."""

import pytest

from pages._ui import kept as keeping
from pages._ui.kept import forget_kept, keep_only, kept, last_kept


@pytest.fixture(autouse=True)
def session(monkeypatch):
    state = {}
    monkeypatch.setattr(keeping.st, "session_state", state)
    return state


def test_a_value_is_made_once_for_the_same_objects_and_equal_settings():
    fit, made = object(), []
    for _ in range(2):
        assert kept("a", [fit], (1, 2), lambda: made.append(1) or "value") == "value"
    assert len(made) == 1


def test_another_object_or_setting_makes_it_anew():
    first, second = [1.0], [1.0]  # equal, yet two
    assert kept("a", [first], 1, lambda: "one") == "one"
    assert kept("a", [second], 1, lambda: "two") == "two"
    assert kept("a", [second], 2, lambda: "three") == "three"
    assert kept("a", [second, first], 2, lambda: "four") == "four"
    assert kept("a", [second, first], 2, lambda: "five") == "four"


def test_a_value_that_cannot_be_made_is_not_kept():
    with pytest.raises(ZeroDivisionError):
        kept("a", [], 1, lambda: 1 / 0)
    assert kept("a", [], 1, lambda: 7) == 7


def test_the_last_value_is_there_whatever_it_depended_on():
    assert last_kept("a") is None
    kept("a", [object()], 1, lambda: "value")
    assert last_kept("a") == "value"


def test_only_what_is_named_stays(session):
    for name in ("maps:a", "maps:b", "words"):
        kept(name, [], 0, lambda: 1)
    keep_only("maps:", {"maps:b"})
    assert set(session["_kept"]) == {"maps:b", "words"}
    forget_kept()
    assert session == {}
