"""The kernels on the GPU of `numpy_gpu` that know in which order it has the vertices: they report and collect values in
the host's order, for `Blend`, and bring edges to the GPU's order."""

import numpy as np


def numbers_of(driver, context, page):
    """The GPU's numbers of the vertices of a page, or of all."""
    first, count = int(page["first_vertex"]), int(page["last_vertex"] - page["first_vertex"])
    if not context["positions"]:
        return np.arange(first, first + count)
    return driver.array(context["positions"], np.uint32, count, first).astype(np.int64)


def report(driver, context, page):
    """The twin of report.cu, for `Blend`."""
    at, numbers, n = driver.array, numbers_of(driver, context, page), int(context["n"])
    degrees = np.diff(at(context["out_begins"], np.uint32, n + 1).astype(np.int64))
    reported = at(page["reported"], np.int64, len(numbers))
    reported[:] = (at(context["values"], np.int64, n) + degrees)[numbers]


def collect(driver, context, page):
    """The twin of collect.cu."""
    at, numbers, n = driver.array, numbers_of(driver, context, page), int(context["n"])
    if page["collected"]:
        at(page["collected"], np.int64, len(numbers))[:] = at(context["values"], np.int64, n)[numbers]
    if page["collected_bits"]:
        frontier = np.unpackbits(at(context["frontier"], np.uint8, -(-n // 8)), bitorder="little")
        bits = np.zeros(-(-len(numbers) // 64) * 64, np.uint8)
        bits[: len(numbers)] = frontier[numbers]
        at(page["collected_bits"], np.uint8, len(bits) // 8)[:] = np.packbits(bits, bitorder="little")


def find_shifts(driver, context, page):
    """The twin of the first kernel in reorder.cu."""
    at, numbers, n = driver.array, numbers_of(driver, context, page), int(context["n"])
    begins, ends = (at(context["in_begins"], np.uint32, n, k).astype(np.int64) for k in range(2))
    shifts = (at(page["new_begins"], np.uint32, n).astype(np.int64)[numbers] - begins)[begins < ends]
    at(page["shifts"], np.int64, len(shifts))[:] = shifts


def reorder_edges(driver, context, page):
    """The twin of the second kernel in reorder.cu."""
    at, n = driver.array, int(context["n"])
    edges = np.arange(int(page["first_edge"]), int(page["last_edge"]))
    begins, ends = (at(context["in_begins"], np.uint32, n, k).astype(np.int64) for k in range(2))
    ranks = np.searchsorted(begins[begins < ends], edges, side="right") - 1
    if not len(edges):
        return
    to, own = (
        edges + at(page["shifts"], np.int64, ranks[-1] + 1)[ranks],
        int(page["first_edge"] - page["base_edge"]),
    )
    for new, given, kind in (("new_sources", "sources", np.uint32), ("new_edge_values", "edge_values", np.int32)):
        if page[new]:
            moved = at(page[given], kind, len(edges), own)
            moved = at(context["positions"], np.uint32, n)[moved] if new == "new_sources" else moved
            at(page[new], kind, int(to.max()) + 1)[to] = moved


KERNELS = {one.__name__: one for one in (report, collect, find_shifts, reorder_edges)}
