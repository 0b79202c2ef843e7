"""Finding a cluster, or starting one on this machine, and checking that it fits to this process."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from types import ModuleType
from typing import Any

from gbuq_core.cluster.spreading import Cluster
from gbuq_core.cluster.tasks import describe_process
from gbuq_core.errors import ClusterError, InvalidParameter, MissingPackage
from gbuq_core.presentation import counted
from gbuq_core.resources import usable_cores
from gbuq_core.validation import check_number

PATIENCE = 10.0  # seconds until an address counts as one where nobody answers
_LOOK_SECONDS = 0.1
_STARTS = 2  # of local workers: a busy machine may end one that has only begun
_STARTING = threading.Lock()  # what is changed meanwhile belongs to the process
_ADDRESS = re.compile(r"(tcp|tls)://[^\s/]+:\d+")


@contextmanager
def open_cluster(
    scheduler: str | None = None, n_workers: int | None = None, timeout: float = PATIENCE
) -> Iterator[Cluster]:
    """Connect to a Dask scheduler, or start workers on this machine, for a ``with`` block.

    Parameters
    ----------
    scheduler : str, optional
        The address that ``dask scheduler`` prints: ``"tcp://host:8786"``. Start its workers with
        ``dask worker --nthreads 1``. Without it, processes of this machine are the workers; a
        script must then begin its work under ``if __name__ == "__main__":``, because a worker that
        ends is replaced by a process that imports the script.
    n_workers : int, optional
        How many processes to start here; one a core by default. With ``scheduler``, how many
        workers to wait for; one by default.
    timeout : float
        Seconds to wait for an answer, and for the workers.

    Yields
    ------
    Cluster

    Raises
    ------
    MissingPackage
        If Dask is not installed.
    ClusterError
        If nobody answers, no worker starts or comes, or a worker has other versions than this
        process.

    Examples
    --------
    >>> from gbuq_core import BoostedEnsembleRegressor, make_heteroscedastic
    >>> table = make_heteroscedastic(n=300, random_state=0)
    >>> def fit():
    ...     model = BoostedEnsembleRegressor(n_members=4, n_trees=50, random_state=0)
    ...     return model.fit(table.X, table.y)
    >>> with open_cluster(n_workers=2) as cluster:  # doctest: +SKIP
    ...     with cluster.spread():
    ...         model = fit()  # its models are trained by two processes
    >>> (model.predict(table.X) == fit().predict(table.X)).all()  # doctest: +SKIP
    True
    """
    distributed = import_distributed()
    if scheduler is not None and not _ADDRESS.fullmatch(scheduler):
        raise InvalidParameter(
            f"The scheduler's address must look like tcp://host:8786; got {scheduler!r}."
        )
    if n_workers is not None:
        n_workers = check_number("n_workers", n_workers, 1, 10_000, integer=True)
    check_number("timeout", timeout, 0.0, 3600.0, low_open=True)
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        if scheduler is None:
            count = n_workers or usable_cores()
            address: Any = stack.enter_context(_local_workers(distributed, count))
        else:
            count, address = n_workers or 1, scheduler
        cluster = Cluster(stack.enter_context(_connect(distributed, address, timeout)))
        _wait_for_workers(cluster, count, timeout)
        cluster.notices = compare_versions(describe_process(), cluster.run(describe_process))
        yield cluster


def import_distributed() -> Any:
    """Dask's package of schedulers and workers, imported on first use."""
    try:
        import distributed
    except ImportError as error:
        raise MissingPackage(
            "A cluster needs Dask, which is not installed: pip install 'gbuq[cluster]'."
        ) from error
    return distributed


@contextmanager
def _local_workers(distributed: Any, count: int) -> Iterator[Any]:
    """A scheduler in this process, and processes of this machine as its workers."""
    # What Dask sets for the workers it leaves here: one thread for libraries not yet loaded.
    before = dict(os.environ)
    changed: list[str] = []
    try:
        with _STARTING, _without_main():
            try:
                cluster = _start_local(distributed, count)
            finally:
                changed = [name for name, now in os.environ.items() if before.get(name) != now]
                _put_back(changed, before)
        with cluster:
            yield cluster
    finally:
        _put_back(changed, before)  # once more: a worker may have been replaced


def _start_local(distributed: Any, count: int) -> AbstractContextManager[Any]:
    for _ in range(_STARTS):
        try:
            return distributed.LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                # Its HTTP server starts all the same: at a port of its own, or it would warn.
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.CRITICAL,
            )
        except (RuntimeError, OSError) as error:
            failed = error
    first: BaseException = failed
    while first.__cause__ is not None:
        first = first.__cause__
    raise ClusterError(
        f"Dask could not start {counted(count, 'worker process', 'worker processes')} on this "
        f"machine ({str(first).rstrip('.')}): close programs that take its memory, or do without a "
        "cluster."
    ) from failed


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module: a new process would run it first, and end without a word if its file
    is gone (a script of Streamlit or a test) or does not run there. Workers need nothing of it.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _put_back(names: list[str], before: Mapping[str, str]) -> None:
    """Give variables of the environment the values that they had."""
    for name in names:
        if name in before:
            os.environ[name] = before[name]
        else:
            os.environ.pop(name, None)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the log of Dask, which repeats on the terminal what our sentences say."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@contextmanager
def _connect(distributed: Any, address: Any, timeout: float) -> Iterator[Any]:
    """A client that answers for itself only."""
    try:
        if isinstance(address, str):
            asyncio.run(_greet(distributed, address, timeout))
        client = distributed.Client(address, timeout=timeout, set_as_default=False)
    except OSError as error:
        raise ClusterError(
            f"Nobody answers at {address} within {timeout:g} s: check the address, and that "
            "dask scheduler runs there."
        ) from error
    try:
        yield client
    finally:
        # What the workers did is done: a scheduler that does not answer hides no other error.
        with suppress(TimeoutError, OSError):
            client.close(timeout=timeout)


async def _greet(distributed: Any, address: str, timeout: float) -> None:
    """Raise OSError unless a scheduler answers: Dask's client waits for ever for one that stands
    still, and for another program at that port.
    """
    security = distributed.security.Security().get_connection_args("client")
    async with distributed.rpc(address, timeout=timeout, connection_args=security) as scheduler:
        await asyncio.wait_for(scheduler.identity(), timeout)


def _wait_for_workers(cluster: Cluster, count: int, timeout: float) -> None:
    deadline = time.monotonic() + max(timeout, 1.0)
    while (n_there := cluster.n_workers) < count:
        if time.monotonic() > deadline:
            raise ClusterError(
                f"The scheduler has {n_there} of {count} workers after {timeout:g} s: start them "
                "with dask worker --nthreads 1 and the scheduler's address."
            )
        time.sleep(_LOOK_SECONDS)


def compare_versions(ours: Mapping[str, str], answers: Mapping[str, Any]) -> tuple[str, ...]:
    """Refuse workers with other versions; what else should be known of them, in sentences.

    ``answers`` has what each worker says of itself, by its address.
    """
    others = set()
    for address, theirs in answers.items():
        if isinstance(theirs, OSError):
            raise ClusterError(f"The worker at {address} does not answer: look at its log.")
        if isinstance(theirs, BaseException):
            raise ClusterError(
                f"The worker at {address} cannot load gbuq ({theirs}): install the same gbuq there."
            )
        for name in ours:
            if name != "processor" and theirs.get(name) != ours[name]:
                raise ClusterError(
                    f"The worker at {address} has {name} {theirs.get(name)}, but this process has "
                    f"{ours[name]}: install the same versions on all machines."
                )
        others.add(theirs["processor"])
    others.discard(ours["processor"])
    if not others:
        return ()
    return (
        f"Some workers have other processors ({', '.join(sorted(others))}) than this machine "
        f"({ours['processor']}): the last digits of results may differ.",
    )
