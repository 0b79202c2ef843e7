"""Work that the tests give to the workers of a cluster, which import it by its name."""

import time

import pyarrow as pa

from gbuq_core.errors import InvalidParameter
from gbuq_core.resources import effective_n_jobs


def threads_of_a_worker(shared, item):
    return effective_n_jobs(None), effective_n_jobs(7), pa.cpu_count()


def first_entry(shared, array):
    return array[0]


def refuse(shared, item):
    raise InvalidParameter("one sentence")


def slow_members(shared, X):
    model, delay = shared
    time.sleep(delay)
    return model.predict_members(X)
