"""Kernels are compiled by other processes: in which order, and what happens if one fails."""

import os
import threading
import time

import pytest
from numba import typeof

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor, compilers
from gbuq_core.__main__ import main
from gbuq_core.boosting import numba_engine, warmup
from gbuq_core.compilers import Compilers, _Child, _NoProcess
from gbuq_core.errors import Cancelled
from gbuq_core.kernel_steps import STEPS
from gbuq_core.methods import METHODS, SAMPLERS
from gbuq_core.progress import Place, at

HANG = 60  # seconds after which a test that waits has failed


class Children:
    """Children that compile nothing, and what they were given."""

    def __init__(self):
        self.given, self.nice = [], {}
        self.may_go_on, self.error = threading.Event(), None
        self.may_go_on.set()

    def __call__(self):
        return self

    def compile(self, name, *, nice):
        self.given.append(name)
        self.nice[name] = nice
        assert self.may_go_on.wait(HANG)
        if self.error:
            raise self.error

    def close(self):
        pass


@pytest.fixture
def children(monkeypatch):
    children = Children()
    monkeypatch.setattr(compilers, "_Child", children)
    monkeypatch.setattr(compilers, "is_compiled", lambda name: False)
    monkeypatch.setattr(compilers, "usable_cores", lambda: 1)
    monkeypatch.delenv(compilers._IS_CHILD, raising=False)
    return children


def test_what_is_asked_for_goes_first_but_after_what_it_needs(children):
    pool = Compilers()
    children.may_go_on.clear()
    pool.begin(["macau", "chains"])
    while not children.given:  # the first one is on its way
        time.sleep(0.01)
    thread = threading.Thread(target=pool.need, args=("gaussian_boosting",))
    thread.start()
    while pool.progress()[1] < 5:
        thread.join(0.01)
    children.may_go_on.set()
    thread.join(HANG)
    assert pool.wait(HANG)
    assert children.given == ["macau", "trees_of_two", "gaussian", "gaussian_boosting", "chains"]
    assert [name for name, nice in children.nice.items() if nice] == ["macau", "chains"]
    assert pool.progress() is None
    pool.need("macau", "chains")  # once is enough
    assert len(children.given) == 5


def test_a_step_that_is_on_the_disk_is_not_done_again(children, monkeypatch):
    monkeypatch.setattr(compilers, "is_compiled", lambda name: name != "gaussian_boosting")
    Compilers().need("gaussian_boosting")
    assert children.given == ["gaussian_boosting"]


@pytest.mark.parametrize("error", [_NoProcess, None], ids=["no process", "a step fails"])
def test_nobody_waits_for_what_cannot_be_compiled_elsewhere(children, error):
    """A child says that a step has failed as it says that it is done: the caller will see why."""
    children.error = error
    pool = Compilers()
    pool.need("macau_classes")
    assert pool.wait(HANG)
    children.error = None
    pool.need("chains")  # another child is tried for other steps
    assert children.given[-1] == "chains"


def test_a_fit_that_nobody_wants_waits_for_no_kernel(children):
    def check():
        raise Cancelled

    pool = Compilers()
    children.may_go_on.clear()
    with at(Place(checks=(check,))), pytest.raises(Cancelled):
        pool.need("chains")
    children.may_go_on.set()
    assert pool.wait(HANG)


def test_a_process_without_python_or_cache_compiles_by_itself(children, monkeypatch):
    for name, value in {"executable": "", "frozen": True}.items():
        with monkeypatch.context() as patch:
            patch.setattr(compilers.sys, name, value, raising=False)
            Compilers().need("chains")
    with monkeypatch.context() as patch:
        patch.setattr(compilers, "finished_mark", lambda name: None)
        Compilers().need("chains")
    assert children.given == []


def test_a_child_does_a_step_and_ends_with_its_parent():
    child = _Child()
    child.compile("chains", nice=False)
    levels = [os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, child._process.pid)]
    child.compile("no such step", nice=True)  # said to have failed; the child goes on
    levels.append(os.getpriority(os.PRIO_PROCESS, child._process.pid))
    own = levels[0]
    assert levels == [own, own, min(own + compilers._NICE, 19)]
    child._process.stdin.close()  # as when the parent dies
    assert child._process.wait(HANG) == 0
    child = _Child()
    child._process.kill()  # as when the memory is full
    child._process.wait(HANG)
    with pytest.raises(_NoProcess):
        child.compile("chains", nice=False)
    child.close()


def test_steps_name_methods_and_functions_that_there_are():
    for step in STEPS.values():
        module, _, function = step.function.partition(":")
        assert callable(getattr(compilers.importlib.import_module(module), function))
        assert set(step.methods) <= {*METHODS, *SAMPLERS}
        assert set(step.after) < set(STEPS)


@pytest.mark.parametrize(
    ("task", "step", "n_classes"),
    [
        ("GAUSSIAN", warmup.boost_numbers, None),
        ("SOFTMAX", warmup.boost_two_classes, 2),
        ("SOFTMAX", warmup.boost_three_classes, 3),
    ],
)
def test_steps_compile_what_a_fit_calls(task, step, n_classes, monkeypatch):
    kernels = getattr(numba_engine, task)
    called = []

    def boost(*arguments):
        called.append(tuple(map(typeof, arguments)))
        kernels.boost(*arguments)

    monkeypatch.setattr(numba_engine, task, kernels._replace(boost=boost))
    compilers.need_kernels(numba_engine._FITTING[n_classes])
    step()
    X = [[float(row), 0.0] for row in range(12)]
    model = BoostedEnsembleRegressor if n_classes is None else BoostedEnsembleClassifier
    y = [row % (n_classes or 12) for row in range(12)]
    model(n_members=1, n_trees=2, stopping=None).fit(X, y)
    assert set(called) <= set(kernels.boost.signatures)


def test_the_command_compiles_what_is_missing(children, monkeypatch, capsys):
    monkeypatch.setattr(compilers, "COMPILERS", Compilers())
    monkeypatch.setattr(compilers, "is_compiled", lambda name: name in children.given)
    assert main(["warm", "--methods", "cg", "forest"]) == 0
    assert children.given == ["chains"]
    assert capsys.readouterr().out.startswith("Compiled the kernels (1 step) in ")
    assert main(["warm", "--methods", "cg"]) == 0
    assert capsys.readouterr().out == "All kernels are compiled already (1 step).\n"
    assert main(["warm", "--methods", "cgg"]) == 2
    assert "There is no method 'cgg'" in capsys.readouterr().err
    monkeypatch.setattr(compilers, "is_compiled", lambda name: False)
    assert main(["warm", "--methods", "cg"]) == 2
    assert "These kernels could not be compiled and kept: chains." in capsys.readouterr().err


def test_progress_is_told_with_a_count(children, monkeypatch):
    pool = Compilers()
    monkeypatch.setattr(compilers, "COMPILERS", pool)
    children.may_go_on.clear()
    pool.begin(["chains", "macau"])
    assert compilers.compiling_words() == "Compiling kernels, once per machine (0 of 2)"
    children.may_go_on.set()
    assert pool.wait(HANG)
    assert compilers.compiling_words() is None
