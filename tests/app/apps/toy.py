"""The page of an experiment that is new."""

from gbuq_core.settings import knobs_of
from pages._ui.experiment import show_experiment
from pages._ui.url_state import PageState
from tests.toy_experiment import TOY, ToySettings

STATE = PageState(key="toy", knobs=knobs_of(ToySettings), picture=("toy",))

show_experiment(TOY, STATE, ("rows",))
