"""Work for the workers of a cluster: sent in small numbers, sent again where it was lost."""

from __future__ import annotations

import queue
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple

from gbuq_core.cluster.tasks import hold, run_task
from gbuq_core.errors import ClusterError
from gbuq_core.parallel import elsewhere
from gbuq_core.progress import advance, here, stage
from gbuq_core.resources import held_bytes

_LARGE = 1 << 16  # bytes of an item that goes to a worker without the scheduler reading it
_AT_ONCE = 3  # items in flight for each thread of a worker: one at work, one there, one on its way
_MOST_LOSSES = 3  # of one item
_LOOK_SECONDS = 0.5  # how long a job that nobody wants any more may go unnoticed
_PATIENCE = 60.0  # seconds without any worker


class _Flight(NamedTuple):
    """An item on its way: its place, itself, what was sent of it, to which copy of the shared
    object, and how often it was lost.
    """

    place: int
    item: Any
    sent: Any
    copy: int = 0
    n_lost: int = 0


class _Copies(NamedTuple):
    """What stands for the shared object: where it was sent first, and for each thread of a worker.

    Dask's own broadcast waits for ever for a worker that is lost meanwhile. These are tasks, which
    another worker takes over.
    """

    first: Any
    futures: list[Any]


class Cluster:
    """Workers of a Dask scheduler; `gbuq_core.cluster.open_cluster` makes it.

    Attributes
    ----------
    notices : tuple of str
        What should be known about the workers, in sentences.
    """

    def __init__(self, client: Any, notices: tuple[str, ...] = ()) -> None:
        self.notices = notices
        self._client = client
        self._workers_seen = time.monotonic()

    @property
    def n_workers(self) -> int:
        """How many workers there are now."""
        return len(self._client.nthreads())

    def spread(self) -> AbstractContextManager[None]:
        """Inside, fits train their models here, and tables are scored here.

        Each model of a boosted ensemble is one task (of the numba engine; with CatBoost each fold),
        and so is each fold of another method. A virtual ensemble is one model: only its folds run
        side by side.
        """
        return elsewhere(self)

    def map(self, fn: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]) -> list[Any]:
        """Return ``[fn(shared, item) for item in items]``, computed by the workers.

        Parameters
        ----------
        fn : callable
            A function of a module that the workers have.
        shared : object
            Sent to every worker once.
        items : iterable
            Few are sent at a time. With a length, they are counted as progress.

        Raises
        ------
        ClusterError
            If the scheduler is lost, no worker is left, or an item is lost again and again.
        Cancelled
            If nobody wants the result any more.
        Exception
            What ``fn`` raised.
        """
        n_items = len(items) if isinstance(items, Sized) else 0
        found: dict[int, Any] = {}
        with stage(float(max(1, n_items))):
            for index, result in self.each(fn, shared, items):
                found[index] = result
                advance(1.0 if n_items else 0.0)
        return [found[index] for index in range(len(found))]

    def each(
        self, fn: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """As `map`, but yield ``(index, result)`` as the results come, in any order."""
        arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        flights: dict[str, tuple[Any, _Flight]] = {}
        copies = self._copy_to_all(shared)
        source = enumerate(items)
        room = _AT_ONCE * max(1, sum(self._client.nthreads().values()))
        more = True

        def send(flight: _Flight) -> None:
            busy = Counter(other.copy for _, other in flights.values())
            copy = min(range(len(copies.futures)), key=busy.__getitem__)
            future = self._client.submit(
                run_task, fn, copies.futures[copy], flight.sent, pure=False,
                key=f"gbuq-{fn.__name__}-{uuid.uuid4().hex}",
            )  # fmt: skip
            flights[future.key] = future, flight._replace(copy=copy)
            future.add_done_callback(arrived.put)

        try:
            while True:
                while more and len(flights) < room:
                    pair = next(source, None)
                    if pair is None:
                        more = False
                        break
                    send(_Flight(*pair, self._pack(pair[1])))
                if not flights:
                    return
                future = self._next(arrived)
                if future.key not in flights:
                    continue
                _, flight = flights.pop(future.key)
                state, result = self._outcome(future, flight)
                if state:
                    yield flight.place, result
                    continue
                time.sleep(_LOOK_SECONDS)  # until the client knows what else is lost
                copies = self._copy_to_all(shared)
                packed = self._pack(flight.item)
                send(flight._replace(sent=packed, n_lost=flight.n_lost + 1))
        finally:
            if flights:
                with suppress(Exception):
                    self._client.cancel([future for future, _ in flights.values()], force=True)

    def keep(self, item: Any) -> Any:
        """Send an object to one worker and return what stands for it among the items of `map`."""
        return Kept(item, self)

    def _next(self, arrived: queue.SimpleQueue[Any]) -> Any:
        """The next future that is finished, failed or lost."""
        place = here()
        while True:
            place.check()
            try:
                return arrived.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                self._check_alive()

    def _check_alive(self) -> None:
        """Raise if the scheduler is lost, or nobody has been there to work for a while."""
        self._check_connected()
        with suppress(OSError):  # lost a moment ago: seen at the next look
            if self._client.nthreads():
                self._workers_seen = time.monotonic()
        if time.monotonic() - self._workers_seen > _PATIENCE:
            raise self._nobody()

    def _nobody(self) -> ClusterError:
        return ClusterError(
            f"No worker has been there for {_PATIENCE:g} s: start workers and run this again."
        )

    def _check_connected(self) -> None:
        """A scheduler that comes back has forgotten all that it was given."""
        if self._client.status != "running":
            raise ClusterError(
                "The connection to the scheduler is lost: start it again, then run the same again, "
                "with --resume if the rows were streamed."
            )

    def _outcome(self, future: Any, flight: _Flight) -> tuple[bool, Any]:
        """Whether the result is there, and the result; raises what the function raised."""
        from distributed import KilledWorker

        from gbuq_core.cluster.connecting import import_distributed

        cancelled = import_distributed().client.FutureCancelledError
        try:
            return True, future.result()
        except KilledWorker as error:
            raise ClusterError(
                f"Part {flight.place + 1} has ended its workers again and again, probably because "
                "they have too little memory: give them more, or choose smaller parts."
            ) from error
        except cancelled as error:
            if flight.n_lost == _MOST_LOSSES:
                raise ClusterError(
                    f"Part {flight.place + 1} was lost {_MOST_LOSSES + 1} times: look at the logs "
                    "of the workers."
                ) from error
        self._check_connected()
        return False, None

    def _pack(self, item: Any) -> Any:
        """An item as an argument of a task: itself if it is small."""
        if isinstance(item, Kept):
            return item.sent()
        return self._send(item) if held_bytes(item) > _LARGE else item

    def _copy_to_all(self, item: Any) -> _Copies:
        """Send an object to one worker, from which the others fetch it."""
        first = self._send(item)
        threads = self._client.nthreads()
        return _Copies(
            first,
            [
                self._client.submit(
                    hold, first, workers=[address], allow_other_workers=True, pure=False
                )
                for address, n_threads in threads.items()
                for _ in range(n_threads)
            ]
            or [first],
        )

    def _send(self, item: Any) -> Any:
        """A future that stands for an object which one worker holds."""
        began = time.monotonic()
        while True:
            try:
                # In a list: of a tuple, each entry would become a future of its own.
                (sent,) = self._client.scatter([item], hash=False)
                return sent
            # The scheduler may not know yet that a worker is gone.
            except (TimeoutError, OSError, CancelledError) as error:
                self._check_connected()
                if time.monotonic() - began > _PATIENCE:
                    raise self._nobody() from error
            here().check()
            time.sleep(_LOOK_SECONDS)


class Kept:
    """An object that a worker holds for several calls; sent again if its worker is lost."""

    def __init__(self, item: Any, cluster: Cluster) -> None:
        self._item, self._cluster = item, cluster
        self._future: Any = None

    def sent(self) -> Any:
        """The future that stands for it, or itself if it is small."""
        if held_bytes(self._item) <= _LARGE:
            return self._item
        if self._future is None or self._future.status != "finished":
            self._future = self._cluster._send(self._item)
        return self._future
