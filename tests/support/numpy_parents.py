"""The kernels that find parents on the GPU of `numpy_gpu`, and the report of a program that asks for them. No class of
vertices pushes here: `class_edges` stays 0, so all vertices look for their parents."""

import numpy as np

from garaph_py.executor.components import NO_VERTEX

from .numpy_packed import array_of, offsets_of, sources_of

REPORT = np.dtype([("steps", np.int64), ("before", np.int64)])
"""What `Trails` reports."""


def find_parents(driver, context, page):
    first, last, base = (int(page[name]) for name in ("first_vertex", "last_vertex", "first_edge"))
    offsets = offsets_of(driver, context, "in_begins")[first : last + 1] - base
    values, far = array_of(driver, context, "values", np.int64), np.iinfo(np.int64).max
    sources = sources_of(driver, context, page)[offsets[0] : offsets[-1]]
    vertices = np.repeat(np.arange(first, last), np.diff(offsets))
    gave = (values[sources] < far) & (values[vertices] > 0)
    gave &= np.where(gave, values[sources], 0) + 1 == values[vertices]
    np.minimum.at(array_of(driver, context, "parents", np.uint32), vertices[gave], sources[gave].astype(np.uint32))


def report(driver, context, page):
    first, last = int(page["first_vertex"]), int(page["last_vertex"])
    parents = array_of(driver, context, "parents", np.uint32)[first:last]
    reported = driver.array(page["reported"], REPORT, last - first)
    reported["steps"] = array_of(driver, context, "values", np.int64)[first:last]
    reported["before"] = np.where(parents == NO_VERTEX, -1, parents.astype(np.int64))


KERNELS = {"find_parents": find_parents, "find_parents_packed": find_parents}
