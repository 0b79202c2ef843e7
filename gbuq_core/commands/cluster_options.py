"""The options `--scheduler` and `--cluster`: let a cluster of Dask do the work of a command."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from gbuq_core.commands.common_options import say_notes
from gbuq_core.errors import InvalidParameter


def add_cluster(add: Callable[..., Any]) -> None:
    """The options of where the work is done."""
    add(
        "--scheduler",
        metavar="ADDRESS",
        help="let the workers of this Dask scheduler train and "
        "score, such as tcp://host:8786; the numbers are the same; needs the extra "
        "cluster",
    )
    add(
        "--cluster",
        choices=["local"],
        help="local: let one worker process a core of this machine "
        "train and score; needs the extra cluster",
    )
    add(
        "--workers",
        type=int,
        metavar="N",
        help="how many workers to start with --cluster local, "
        "or to wait for with --scheduler; default: one a core, or one",
    )


@contextmanager
def workers(
    options: argparse.Namespace,
) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """What a job enters to have its work done by a cluster, if one is asked for."""
    if options.scheduler is not None and options.cluster is not None:
        raise InvalidParameter("--scheduler and --cluster exclude each other: leave one out.")
    if options.scheduler is None and options.cluster is None:
        if options.workers is not None:
            raise InvalidParameter("--workers goes with --scheduler or --cluster only.")
        yield nullcontext
        return
    from gbuq_core.cluster import open_cluster

    with open_cluster(options.scheduler, options.workers) as cluster:
        say_notes(cluster.notices, options)
        yield cluster.spread
