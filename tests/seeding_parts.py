"""Many standard normals of a stream at once, by the function that all kernels draw with."""

import numpy as np
from numba import njit

from gbuq_core.seeding import normal_at


@njit(nogil=True)  # not cached: numba would not see that `normal_at` has changed
def fill_normals(base, out):
    """Write standard normals number 0 .. n-1 of a stream into ``out`` (n,) float64."""
    for index in range(out.shape[0]):
        out[index] = normal_at(base, index)


def normals_of(base, *shape):
    """The first standard normals of a stream."""
    normals = np.empty(shape)
    fill_normals(base, normals.reshape(-1))
    return normals
