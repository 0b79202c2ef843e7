"""What the query of a link means on a page."""

from types import SimpleNamespace
from urllib.parse import parse_qs, urlencode

from pages._ui.knobs import read_knob


def link_of(at):
    """The query of the link that a page's Share button copies: its address."""
    return urlencode(dict(at.query_params.items()), doseq=True)


def values_of_link(state, query):
    """The values of a page's knobs; no parameter may be unknown or refused."""
    knobs = {knob.key: knob for knob in state.knobs}
    values = {key: knob.default for key, knob in knobs.items()}
    named = parse_qs(query, keep_blank_values=True)
    for name, texts in named.items():
        reading = read_knob(knobs[name], texts)
        assert reading.problem == ""
        values[name] = reading.value
    return SimpleNamespace(**values)
