"""The kernels for connected components on the GPU of `numpy_gpu`, and a program that uses them."""

import numpy as np

import garaph_py as gp
from garaph_py.executor.modes import PULL

from .numpy_packed import array_of, offsets_of, sources_of
from .numpy_push import bits_of, count
from .runs import run_with


class Labels(gp.VertexProgram):
    """The least label in the same component."""

    labels: int = 10007

    gathers = "both"
    value = np.int64
    sum = gp.min

    def init(self, id):
        return id * 7919 % self.labels

    def gather(self, src):
        return src


def least_labels(graph):
    """The answer of `Labels`, pulled by the CPU."""
    return run_with(Labels(), graph, device="cpu", mode=PULL, sync=True).values


def roots_of(parents):
    """The root of each vertex's tree."""
    roots = parents.copy()
    while not np.array_equal(roots, parents[roots]):
        roots = parents[roots]
    return roots


def begin(driver, context, page):
    """What initialize.cu does, for `Labels`."""
    n = int(context["n"])
    array_of(driver, context, "values", np.int64)[:] = np.arange(n) * 7919 % int(context["parameters"]["labels"])
    words = np.packbits(np.ones(n, bool), bitorder="little")
    array_of(driver, context, "frontier", np.uint8, len(words))[:] = words
    tally = driver.array(page["tally"], driver.layouts.tally, 1)[0:1]
    tally["active"], tally["active_edges"] = (
        n,
        offsets_of(driver, context, "out_begins")[-1],
    )


def pull(driver, context, page):
    """What gather_segmented.cu and apply.cu do, for `Labels`."""
    first, last = int(page["first_vertex"]), int(page["last_vertex"])
    old = array_of(driver, context, "values", np.int64)[first:last].copy()
    lengths = np.diff(offsets_of(driver, context, "in_begins")[first : last + 1])
    gathered = array_of(driver, context, "values", np.int64)[sources_of(driver, context, page)]
    new = old.copy()
    np.minimum.at(new, np.repeat(np.arange(last - first), lengths), gathered)
    array_of(driver, context, "next_values", np.int64)[first:last] = new
    active, write = bits_of(driver, context, "next_frontier")
    active[first:last] = new != old
    write(active)
    count(driver, context, page, first + np.flatnonzero(new != old))


def plant(driver, context, page):
    array_of(driver, context, "parents", np.uint32)[:] = np.arange(int(context["n"]))


def link_edges(driver, context, page):
    parents, first = array_of(driver, context, "parents", np.uint32), int(page["first_edge"])
    offsets = offsets_of(driver, context, "in_begins")
    sources = sources_of(driver, context, page)
    (largest,) = array_of(driver, context, "largest", np.uint32, 1)
    for v in range(int(page["first_vertex"]), int(page["last_vertex"])):
        begin, end = offsets[v : v + 2]
        if parents[v] != largest and end - begin >= page["least_edges"]:
            for u in sources[begin - first : end - first]:
                link(parents, u, v)


def link_short(driver, context, page):
    """Link the edges that `link_edges` leaves out."""
    every = page.copy()
    every["least_edges"] = 0
    link_edges(driver, context, every)


def hook_first(driver, context, page):
    """Hook nothing: a tree of each vertex is as good."""


link_second = hook_first


def link(parents, u, v):
    while parents[u] != u:
        u = parents[u]
    while parents[v] != v:
        v = parents[v]
    parents[max(u, v)] = min(u, v)


def flatten(driver, context, page):
    parents = array_of(driver, context, "parents", np.uint32)
    parents[:] = roots_of(parents)


def find_largest(driver, context, page):
    roots, counts = np.unique(array_of(driver, context, "parents", np.uint32), return_counts=True)
    array_of(driver, context, "largest", np.uint32, 1)[:] = roots[counts.argmax()]


def link_received(driver, context, page):
    parents, queue = (array_of(driver, context, name, np.uint32, int(context["n"])) for name in ("parents", "queue"))
    for v in np.flatnonzero(queue != np.arange(len(queue))):
        link(parents, queue[v], v)


def sum_trees(driver, context, page):
    flatten(driver, context, page)
    values, parents = (
        array_of(driver, context, name, kind) for name, kind in (("values", np.int64), ("parents", np.uint32))
    )
    np.minimum.at(values, parents, values.copy())


def spread_sums(driver, context, page):
    values = array_of(driver, context, "values", np.int64)
    values[:] = values[roots_of(array_of(driver, context, "parents", np.uint32))]


KERNELS = {
    name: globals()[name]
    for name in (
        "plant",
        "hook_first",
        "link_second",
        "link_short",
        "link_edges",
        "flatten",
        "find_largest",
        "link_received",
        "sum_trees",
        "spread_sums",
    )
}
UPDATES = {"initialize": begin, "apply_vertices": pull}
