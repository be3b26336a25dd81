"""The kernels that push on the GPU of `numpy_gpu`, for programs like `Quiet`: the least number of edges to a vertex."""

import numpy as np

from garaph_py.executor.gpu import header

from .numpy_packed import sources_of


def array_of(driver, context, name, kind, count=None):
    return driver.array(context[name], kind, int(context["n"]) if count is None else count)


def tally_of(driver, page):
    return driver.array(page["tally"], driver.layouts.tally, 1)[0:1]


def bits_of(driver, context, name):
    """The vertices of a bitmap, as truth values; and a function that writes others."""
    n = int(context["n"])
    words = array_of(driver, context, name, np.uint8, -(-n // 8))

    def write(chosen):
        words[:] = np.packbits(chosen, bitorder="little")

    return np.unpackbits(words, bitorder="little", count=n) == 1, write


def relax(driver, context, page, targets, contributions):
    """Push to `targets`; return the vertices that this has activated, and put them into the next frontier."""
    new = array_of(driver, context, "values", np.int64)
    before = new.copy()
    np.minimum.at(new, targets, contributions)
    was, write = bits_of(driver, context, "next_frontier")
    changed = (new != before) & ~was
    write(changed | was)
    return np.flatnonzero(changed)


def edges_of(driver, context, vertices):
    """The number of out-edges of `vertices`."""
    offsets = array_of(driver, context, "out_offsets", np.int64, int(context["n"]) + 1)
    return int(np.diff(offsets)[vertices].sum())


def count(driver, context, page, activated):
    tally = tally_of(driver, page)
    tally["active"] = tally["active"] + len(activated)
    tally["active_edges"] = tally["active_edges"] + edges_of(driver, context, activated)


def list_frontier(driver, context, page):
    active = np.flatnonzero(bits_of(driver, context, "frontier")[0])[::-1]
    array_of(driver, context, "queue", np.uint32, len(active))[:] = active
    if context["next_values"] != context["values"]:
        copies = array_of(driver, context, "next_values", np.int64, len(active))
        copies[:] = array_of(driver, context, "values", np.int64)[active]
    offsets = array_of(driver, context, "in_offsets", np.int64, int(context["n"]) + 1)
    begins, ends = offsets[active], offsets[active + 1]
    cut = (ends - 1) // header.PIECE - begins // header.PIECE + 1
    numbers = np.where(ends - begins < header.PIECE, 0, cut)
    pieces = [(place, k) for place, many in enumerate(numbers) for k in range(many)]
    array_of(driver, context, "pieces", driver.layouts.list_piece, len(pieces))[:] = pieces
    array_of(driver, context, "supersteps", driver.layouts.superstep, 1)[:] = 0
    tally = tally_of(driver, page)
    tally["queued"], tally["pieces"] = len(active), len(pieces)


def push_lists(driver, context, page, ranges, vertices, values):
    """Push along parts of the lists of `vertices`; return the vertices that this has activated."""
    edges = np.concatenate([np.arange(0), *(np.arange(*part) for part in ranges)])
    said = np.repeat(values + 1, [end - begin for begin, end in ranges])
    targets = sources_of(driver, context, page)[edges - int(page["first_edge"])]
    return relax(driver, context, page, targets, said)


def push_queue(driver, context, page):
    tally = tally_of(driver, page)[0]
    queue = array_of(driver, context, "queue", np.uint32, int(tally["queued"])).astype(np.int64)
    values = array_of(driver, context, "values", np.int64)[queue]
    if context["next_values"] != context["values"]:
        values = array_of(driver, context, "next_values", np.int64, len(queue)).copy()
    offsets = array_of(driver, context, "in_offsets", np.int64, int(context["n"]) + 1)
    is_here = (queue >= page["first_vertex"]) & (queue < page["last_vertex"])
    begins, ends = offsets[queue], offsets[queue + 1]
    ends = np.where(is_here & (ends - begins < header.PIECE), ends, begins)  # longer ones are in pieces
    activated = [push_lists(driver, context, page, list(zip(begins, ends, strict=True)), queue, values)]
    for place, number in array_of(driver, context, "pieces", driver.layouts.list_piece, int(tally["pieces"])).tolist():
        if not is_here[place]:
            continue
        begin, end = offsets[queue[place]], offsets[queue[place] + 1]
        first = (begin // header.PIECE + number) * header.PIECE
        part = max(begin, first), min(end, first + header.PIECE)
        activated.append(push_lists(driver, context, page, [part], queue[[place]], values[[place]]))
    count(driver, context, page, np.concatenate(activated))


def push_few(driver, context, page):
    log = array_of(driver, context, "supersteps", driver.layouts.superstep, header.MOST_SUPERSTEPS + 1)
    offsets = array_of(driver, context, "in_offsets", np.int64, int(context["n"]) + 1)
    tally, threads = tally_of(driver, page), driver.threads
    assert tally["queued"][0] <= header.FEW_LISTS * threads  # the kernel would leave out the others
    queue = array_of(driver, context, "queue", np.uint32, int(tally["queued"][0])).astype(np.int64)
    for step in range(header.MOST_SUPERSTEPS):
        was, write = bits_of(driver, context, "next_frontier")
        was[queue] = False
        write(was)
        values = array_of(driver, context, "values", np.int64)[queue]
        ranges = list(zip(offsets[queue], offsets[queue + 1], strict=True))
        queue = push_lists(driver, context, page, ranges, queue, values)
        edges = edges_of(driver, context, queue)
        log[step] = edges, len(queue), 1000 * step
        is_few = len(queue) <= header.FEW_LISTS * threads and edges <= header.FEW_EDGES * threads
        if not len(queue) or not is_few:
            break
    tally["active"], tally["active_edges"], tally["supersteps"] = len(queue), edges, step + 1


KERNELS = {
    "list_frontier": list_frontier,
    "push_queue": push_queue,
    "push_queue_packed": push_queue,
    "push_few": push_few,
    "push_few_packed": push_few,
}
