"""Work for the workers of a cluster: sent in small numbers, sent again where it was lost."""

from __future__ import annotations

import asyncio
import queue
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sized
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple

from gbuq_core.cluster.tasks import hold, run_task
from gbuq_core.errors import ClusterError
from gbuq_core.parallel import elsewhere
from gbuq_core.progress import Place, advance, here, stage
from gbuq_core.resources import held_bytes

_LARGE = 1 << 16  # bytes of an item that goes to a worker without the scheduler reading it
_AT_ONCE = 3  # items in flight for each thread of a worker: one at work, one there, one on its way
_MOST_LOSSES = 3  # of one item
_MOST_REFUSALS = 10  # of workers that cannot be reached, one after the other
_LOOK_SECONDS = 0.5  # how long a job that nobody wants any more may go unnoticed
_PATIENCE = 60.0  # seconds without any worker, or without an answer of the scheduler


class _Copies(NamedTuple):
    """What stands for the shared object: where it was sent first, and for each thread of a worker.

    Dask's own broadcast waits for ever for a worker that is lost meanwhile. These are tasks, which
    another worker takes over.
    """

    first: Any
    futures: list[Any]


class _Flight(NamedTuple):
    """An item on its way: its place, itself, what was sent of it, to which copy of which copies of
    the shared object, and how often it was lost.
    """

    place: int
    item: Any
    sent: Any
    copies: _Copies
    copy: int = 0
    n_lost: int = 0


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
        return len(self._threads())

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
        results: dict[int, Any] = {}
        with stage(float(max(1, n_items))):
            for index, result in self.each(fn, shared, items):
                results[index] = result
                advance(1.0 if n_items else 0.0)
        return [results[index] for index in range(len(results))]

    def each(
        self, fn: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """As `map`, but yield ``(index, result)`` as the results come, in any order."""
        arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        flights: dict[str, tuple[Any, _Flight]] = {}
        copies = self._copy_to_all(shared)
        source = enumerate(items)
        room = _AT_ONCE * len(copies.futures)
        more = True

        def send(flight: _Flight) -> None:
            busy = Counter(other.copy for _, other in flights.values())
            copy = min(range(len(flight.copies.futures)), key=busy.__getitem__)
            future = self._submit(
                run_task,
                fn,
                flight.copies.futures[copy],
                flight.sent,
                key=f"gbuq-{fn.__name__}-{uuid.uuid4().hex}",
            )
            flights[future.key] = future, flight._replace(copy=copy)
            future.add_done_callback(arrived.put)

        try:
            while True:
                while more and len(flights) < room:
                    pair = next(source, None)
                    if pair is None:
                        more = False
                        break
                    send(_Flight(*pair, self._pack(pair[1]), copies))
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
                if flight.copies is copies:  # else they were made again since
                    copies = self._copy_to_all(shared)
                packed = self._pack(flight.item)
                send(flight._replace(sent=packed, copies=copies, n_lost=flight.n_lost + 1))
        finally:
            if flights:
                with suppress(Exception):
                    self._client.cancel([future for future, _ in flights.values()], force=True)

    def run(self, fn: Callable[[], Any]) -> dict[str, Any]:
        """What a function returns on each worker, by its address, or its error.

        An OSError means that the worker is gone or stands still: Dask gives it five minutes.
        """
        return dict(self.ask(lambda client: client.run(fn, on_error="return", asynchronous=True)))

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
                self._note_workers(self._threads())

    def _threads(self) -> dict[str, int]:
        """Threads of the workers that are there, by their address."""
        return dict(self.ask(_threads_of, _PATIENCE))

    def _note_workers(self, threads: Mapping[str, int]) -> None:
        """Raise if nobody has been there to work for a while."""
        if threads:
            self._workers_seen = time.monotonic()
        elif time.monotonic() - self._workers_seen > _PATIENCE:
            raise ClusterError(
                f"No worker has been there for {_PATIENCE:g} s: start workers and run this again."
            )

    def ask(self, question: Callable[[Any], Awaitable[Any]], seconds: float | None = None) -> Any:
        """The answer to a question to the scheduler, which may be lost or stop meanwhile.

        Dask itself waits for ever for a process that is there but does not go on.

        Parameters
        ----------
        question : callable
            ``question(client)`` is awaited in Dask's thread.
        seconds : float, optional
            To wait for the answer. Without them, as long as the scheduler answers to others.

        Raises
        ------
        ClusterError
            If the scheduler is lost or does not answer, or no worker has been there for a while.
        Cancelled
            If nobody wants the result any more.
        """
        self._check_connected()
        place = here()

        async def look() -> Any:
            try:
                return await self._answer(question, place, seconds)
            except asyncio.CancelledError as error:  # the connection went while it was used
                raise ConnectionError("The question was given up.") from error

        try:
            return self._client.sync(look)
        except (OSError, AttributeError):  # without connection, Dask's client has no scheduler
            self._check_connected()
            raise

    async def _answer(
        self, question: Callable[[Any], Awaitable[Any]], place: Place, seconds: float | None
    ) -> Any:
        answer = asyncio.ensure_future(question(self._client))
        began = time.monotonic()
        try:
            while not (await asyncio.wait([answer], timeout=_LOOK_SECONDS))[0]:
                place.check()
                self._check_connected()
                if seconds is None:
                    self._note_workers(await self._answer(_threads_of, place, _PATIENCE))
                elif time.monotonic() - began > seconds:
                    raise ClusterError(
                        f"The scheduler has not answered for {seconds:g} s: look at its log, then "
                        "run the same again, with --resume if the rows were streamed."
                    )
            return answer.result()
        finally:
            answer.cancel()

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
        from distributed.client import FutureCancelledError

        try:
            return True, self.ask(lambda client: client.gather(future, asynchronous=True))
        except KilledWorker as error:
            raise ClusterError(
                f"Part {flight.place + 1} has ended its workers again and again, probably because "
                "they have too little memory: give them more, or choose smaller parts."
            ) from error
        except FutureCancelledError as error:
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

    def _submit(self, fn: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """A future of Dask."""
        self._check_connected()
        try:
            return self._client.submit(fn, *arguments, pure=False, **options)
        except Exception:  # it may have been closed a moment ago
            self._check_connected()
            raise

    def _copy_to_all(self, item: Any) -> _Copies:
        """Send an object to one worker, from which the others fetch it."""
        first = self._send(item)
        futures = [
            self._submit(hold, first, workers=[address], allow_other_workers=True)
            for address, n_threads in self._threads().items()
            for _ in range(n_threads)
        ]
        return _Copies(first, futures or [first])

    def _send(self, item: Any) -> Any:
        """A future that stands for an object which one worker holds."""
        self._workers_seen = time.monotonic()
        for _ in range(_MOST_REFUSALS):
            try:
                # In a list: of a tuple, each entry would become a future of its own.
                (sent,) = self.ask(
                    lambda client: client.scatter([item], hash=False, asynchronous=True)
                )
                return sent
            # The scheduler may not know yet that a worker is gone.
            except (TimeoutError, OSError, CancelledError) as error:
                refused = error
            self._check_connected()
            here().check()
            time.sleep(_LOOK_SECONDS)
        raise ClusterError(
            f"The scheduler cannot reach the workers ({refused}): look at their logs."
        ) from refused


async def _threads_of(client: Any) -> Any:
    return await client.nthreads(asynchronous=True)


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
