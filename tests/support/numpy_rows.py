"""The kernels for rows on the GPU of `numpy_gpu`, for several programs like `Quiet` and `Lengths` as columns."""

import numpy as np

from .numpy_packed import offsets_of, sources_of
from .numpy_push import bits_of, columns_of, count, farther, lengths_of, values_of


def initialize_rows(driver, context, page):
    values, sources = values_of(driver, context), columns_of(context)
    values[:] = np.iinfo(np.int64).max
    values[sources, np.arange(len(sources))] = 0
    active = np.isin(np.arange(len(values)), sources)
    bits_of(driver, context, "frontier")[1](active)
    count(driver, context, page, np.flatnonzero(active))


def apply_rows(driver, context, page):
    """What gather_rows.cu and apply_rows.cu do."""
    first, last = int(page["first_vertex"]), int(page["last_vertex"])
    values, own = values_of(driver, context), slice(first, last)
    said = farther(values[sources_of(driver, context, page)], lengths_of(driver, page))
    new, degrees = values[own].copy(), np.diff(offsets_of(driver, context, "in_begins")[first : last + 1])
    np.minimum.at(new, np.repeat(np.arange(last - first), degrees), said)
    active, write = bits_of(driver, context, "next_frontier")
    active[own] = (new != values[own]).any(axis=1)
    write(active)
    count(driver, context, page, first + np.flatnonzero(active[own]))
    values_of(driver, context, "next_values")[own] = new


KERNELS = {"initialize_rows": initialize_rows, "apply_rows": apply_rows}
