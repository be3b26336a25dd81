"""The kernels of programs that push deltas on the GPU of `numpy_gpu`, for `Peeled` and `Weighed`."""

import numpy as np

import garaph_py as gp
from garaph_py.executor.gpu import header

from . import numpy_push
from .numpy_packed import array_of, offsets_of, sources_of
from .numpy_push import bits_of, edges_of, lengths_of, listed_of, out_edges, parts_of, tally_of


class Peeled(gp.VertexProgram):
    """The vertices that are left when those with fewer than `k` in-edges from such vertices are taken away."""

    k: int = 1

    value = np.int64
    sum = gp.add

    def init(self):
        return 1

    def gather(self, src):
        return src

    def delta(self, new, old):
        return new - old

    def apply(self, old, acc):
        return old if acc >= self.k else 0


class Weighed(Peeled):
    """The same with in-edges that weigh `k` together; the weights are int32."""

    def gather(self, src, edge):
        return src * edge

    def delta(self, new, old, edge):
        return (new - old) * edge


def initialize(driver, context, page):
    n = int(context["n"])
    array_of(driver, context, "values", np.int64)[:] = 1
    activate(driver, context, page, "frontier", np.ones(n, bool))


def apply_vertices(driver, context, page):
    first, last = int(page["first_vertex"]), int(page["last_vertex"])
    old = array_of(driver, context, "values", np.int64).copy()  # new ones may replace them
    degrees = np.diff(offsets_of(driver, context, "in_begins"))[first:last]
    sums = np.zeros(last - first, np.int64)
    said = old[sources_of(driver, context, page)] * lengths_of(driver, page)
    np.add.at(sums, np.repeat(np.arange(last - first), degrees), said)
    if context["kept_sums"]:
        array_of(driver, context, "kept_sums", np.int64)[first:last] = sums
    new = applied(context, old[first:last], sums)
    array_of(driver, context, "next_values", np.int64)[first:last] = new
    changed = np.zeros(len(old), bool)
    changed[first:last] = new != old[first:last]
    activate(driver, context, page, "next_frontier", changed)


def push_deltas(driver, context, page):
    queue = array_of(driver, context, "queue", np.uint32, int(listed_of(driver, page)["queued"])).astype(np.int64)
    new, old = (array_of(driver, context, name, np.int64)[queue] for name in ("values", "next_values"))
    old = np.zeros_like(old) if context["pushes_all"] else old  # both programs gather what they would add
    sums = array_of(driver, context, "kept_sums", np.int64)
    was, write = bits_of(driver, context, "notified")
    ends_of = out_edges(driver, context, page)
    for ranges, places in parts_of(driver, context, page, queue):
        targets, weights = ends_of(np.concatenate([np.arange(*part) for part in ranges]))
        np.add.at(sums, targets, np.repeat((new - old)[places], [end - begin for begin, end in ranges]) * weights)
        was[targets] = True
    write(was)


def push_edge_list(driver, context, page):
    if not context["kept_sums"]:
        numpy_push.push_edge_list(driver, context, page)
        return
    sources, targets, weights = numpy_push.edge_list(driver, context, page)
    new, old = (array_of(driver, context, name, np.int64)[sources] for name in ("values", "next_values"))
    np.add.at(array_of(driver, context, "kept_sums", np.int64), targets, (new - old) * weights)
    was, write = bits_of(driver, context, "notified")
    was[targets] = True
    write(was)


def apply_notified(driver, context, page):
    values, included, sums = (
        array_of(driver, context, name, np.int64) for name in ("values", "next_values", "kept_sums")
    )
    active, notified = (bits_of(driver, context, name)[0] for name in ("frontier", "notified"))
    included[active] = values[active]
    new = np.where(notified, applied(context, values, sums), values)
    activate(driver, context, page, "next_frontier", new != values)
    values[:] = new


def push_few_deltas(driver, context, page):
    """Supersteps of the two kernels before; the queue, the set of notified vertices and the frontiers are left as by
    the kernel."""
    log = array_of(driver, context, "supersteps", driver.layouts.superstep, header.MOST_SUPERSTEPS + 1)
    tally, threads, offsets = tally_of(driver, page), driver.threads, offsets_of(driver, context, "out_begins")
    values, included, sums = (
        array_of(driver, context, name, np.int64) for name in ("values", "next_values", "kept_sums")
    )
    room, ends_of = driver.sizes[int(context["next_queues"])] // 4, out_edges(driver, context, page)
    queue = array_of(driver, context, "queue", np.uint32, int(tally["queued"][0])).astype(np.int64)
    assert len(queue) <= header.FEW_LISTS * threads
    assert not bits_of(driver, context, "notified")[0].any()
    for step in range(int(tally["supersteps"][0]), header.MOST_SUPERSTEPS):
        ranges = list(zip(offsets[queue], offsets[queue + 1], strict=True))
        targets, weights = ends_of(np.concatenate([np.arange(*part) for part in ranges]))
        changes = np.repeat((values - included)[queue], [end - begin for begin, end in ranges])
        np.add.at(sums, targets, changes * weights)
        included[queue] = values[queue]
        notified = np.unique(targets)
        assert len(notified) <= room
        new = applied(context, values[notified], sums[notified])
        queue = notified[new != values[notified]]
        values[notified] = new
        edges = edges_of(driver, context, queue)
        log[step] = edges, len(queue), 1000 * step, 0, len(notified), 0
        is_few = len(queue) <= header.FEW_LISTS * threads and edges <= header.FEW_EDGES * threads
        if not len(queue) or not is_few:
            break
    was, write = bits_of(driver, context, "next_frontier")
    was[queue] = True
    write(was)
    tally["active"], tally["active_edges"], tally["supersteps"] = len(queue), edges, step + 1


def applied(context, old, sums):
    return np.where(sums >= int(context["parameters"]["k"]), old, 0)


def activate(driver, context, page, name, changed):
    """Add vertices to a frontier, and to the page's counts."""
    was, write = bits_of(driver, context, name)
    write(was | changed)
    tally, activated = tally_of(driver, page), np.flatnonzero(changed)
    tally["active"] = tally["active"] + len(activated)
    tally["active_edges"] = tally["active_edges"] + edges_of(driver, context, activated)


KERNELS = {
    "push_edge_list": push_edge_list,
    "push_deltas": push_deltas,
    "push_deltas_packed": push_deltas,
    "push_few_deltas": push_few_deltas,
    "push_few_deltas_packed": push_few_deltas,
    "apply_notified": apply_notified,
}
UPDATES = {"initialize": initialize, "apply_vertices": apply_vertices}
"""The kernels that other programs have too."""
