"""What is said where there is no cluster, or one that does not fit."""

import os
import socket
import sys
import warnings
from contextlib import AbstractContextManager
from types import ModuleType, SimpleNamespace

import pytest

from gbuq_core.cluster import connecting, open_cluster
from gbuq_core.cluster.connecting import compare_versions
from gbuq_core.cluster.tasks import describe_process
from gbuq_core.errors import ClusterError, InvalidParameter, MissingPackage


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPackage, match=r"pip install 'gbuq\[cluster\]'"), open_cluster():
        pass


@pytest.mark.parametrize("address", ["localhost:8786", "tcp://", "tcp://host", "http://host:80"])
def test_what_is_no_address_is_refused(address):
    pytest.importorskip("distributed")
    with pytest.raises(InvalidParameter, match="must look like tcp://"), open_cluster(address):
        pass


def test_where_nobody_answers_it_is_said_in_time():
    pytest.importorskip("distributed")
    nobody = "tcp://127.0.0.1:9"
    with (
        pytest.raises(ClusterError, match=r"^Nobody answers at tcp://127.0.0.1:9 within 0.5 s:"),
        open_cluster(nobody, timeout=0.5),
    ):
        pass


def test_another_program_at_the_port_is_not_waited_for():
    pytest.importorskip("distributed")
    with socket.socket() as silent:  # it accepts, and says nothing
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with (
            pytest.raises(ClusterError, match=f"^Nobody answers at {address} within 0.5 s:"),
            open_cluster(address, timeout=0.5),
        ):
            pass


def test_other_versions_are_refused():
    ours = describe_process()
    assert compare_versions(ours, {"tcp://a:1": dict(ours)}) == ()
    with pytest.raises(ClusterError, match=r"tcp://a:1 has numpy 1\.0, but this process has"):
        compare_versions(ours, {"tcp://a:1": {**ours, "numpy": "1.0"}})
    with pytest.raises(ClusterError, match="tcp://a:1 does not answer"):
        compare_versions(ours, {"tcp://a:1": TimeoutError()})
    missing = ModuleNotFoundError("No module named 'gbuq_core'")
    with pytest.raises(ClusterError, match="cannot load gbuq"):
        compare_versions(ours, {"tcp://a:1": missing})


def test_other_processors_are_told():
    ours = describe_process()
    (notice,) = compare_versions(ours, {"tcp://a:1": {**ours, "processor": "cell"}})
    assert notice.startswith("Some workers have other processors (cell)")


class LocalWorkers(AbstractContextManager):
    """A fake of Dask's workers on this machine, whose first starts fail."""

    def __init__(self, failures):
        self.failures, self.n_starts, self.seen = list(failures), 0, []

    def __call__(self, **options):
        self.n_starts += 1
        self.options = options
        main = sys.modules["__main__"]
        self.seen.append((getattr(main, "__file__", None), main.__spec__))
        os.environ.update(OMP_NUM_THREADS="1", PYTHONHASHSEED="6640")
        if self.failures:
            raise self.failures.pop(0)
        return self

    def __exit__(self, *error):
        os.environ["PYTHONHASHSEED"] = "6640"  # a worker was replaced meanwhile


NANNY = RuntimeError("Nanny failed to start.")
NANNY.__cause__ = RuntimeError("Nanny failed to start worker process")


def start(failures, n_workers=3):
    workers = LocalWorkers(failures)
    with connecting._local_workers(SimpleNamespace(LocalCluster=workers), n_workers) as cluster:
        assert cluster is workers
        assert "PYTHONHASHSEED" not in os.environ
    return workers


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)


def test_a_start_that_fails_once_is_tried_again(environment):
    main = sys.modules["__main__"]
    workers = start([NANNY])
    assert (workers.n_starts, workers.options["n_workers"]) == (2, 3)
    assert workers.seen == [(None, None)] * 2  # a new process has no main module to run
    assert sys.modules["__main__"] is main
    assert (os.environ["OMP_NUM_THREADS"], os.environ.get("PYTHONHASHSEED")) == ("5", None)


@pytest.mark.parametrize("error", [NANNY, OSError("Too many open files")])
def test_a_start_that_fails_again_is_one_sentence(error, environment):
    main = sys.modules["__main__"]
    with pytest.raises(ClusterError) as caught:
        start([error, error], n_workers=1)
    assert str(caught.value) == (
        f"Dask could not start 1 worker process on this machine ({error.__cause__ or error}): "
        "close programs that take its memory, or do without a cluster."
    )
    assert sys.modules["__main__"] is main
    assert (os.environ["OMP_NUM_THREADS"], os.environ.get("PYTHONHASHSEED")) == ("5", None)


def test_workers_start_where_the_main_script_is_gone(tmp_path, monkeypatch, environment):
    pytest.importorskip("distributed")
    main = ModuleType("__main__")
    main.__file__ = str(tmp_path / "gone.py")  # such as a test of Streamlit's leaves behind
    monkeypatch.setitem(sys.modules, "__main__", main)
    before = dict(os.environ)
    with warnings.catch_warnings(), open_cluster(n_workers=1, timeout=60.0) as cluster:
        warnings.simplefilter("error", UserWarning)  # about a port that is taken
        with open_cluster(n_workers=1, timeout=60.0) as other:
            assert other.n_workers == 1
        assert cluster.n_workers == 1
        assert dict(os.environ) == before
    assert sys.modules["__main__"] is main
