"""What is said where there is no cluster, or one that does not fit."""

import socket
import sys

import pytest

from gbuq_core.cluster import open_cluster
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
