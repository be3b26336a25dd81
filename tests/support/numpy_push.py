"""The kernels that push on the GPU of `numpy_gpu`, for programs like `Quiet` and `Lengths`: the least distance of a
vertex, in edges or by their lengths."""

import numpy as np

from garaph_py.executor.gpu import header

from .numpy_packed import array_of, here_and_there, offsets_of, packed_of, sources_of


def tally_of(driver, page):
    return driver.array(page["tally"], driver.layouts.tally, 1)[0:1]


def listed_of(driver, page):
    """The counts of the queue."""
    return driver.array(page["listed"] or page["tally"], driver.layouts.tally, 1)[0]


def bits_of(driver, context, name):
    """The vertices of a bitmap, as truth values; and a function that writes others."""
    n = int(context["n"])
    words = array_of(driver, context, name, np.uint8, -(-n // 8))

    def write(chosen):
        words[:] = np.packbits(chosen, bitorder="little")

    return np.unpackbits(words, bitorder="little", count=n) == 1, write


def is_search(context):
    """Whether the program is `ManyBFS`, whose values are bits."""
    return "live" in context["parameters"].dtype.names


def adds_lengths(context):
    """Whether an edge's length is added to what is pushed along it: `ManyBFS` and `Labels` push values as they are."""
    return not {"live", "labels"} & set(context["parameters"].dtype.names)


def columns_of(context):
    """The sources of a program with a column for each; empty if values are numbers."""
    own = context["parameters"]
    return [int(own[name]) for name in own.dtype.names if name.startswith("c") and name.endswith("_source")]


def values_of(driver, context, name="values"):
    """An array of values, shape (n,), or (n, columns) if they are rows."""
    width = len(columns_of(context))
    if not width:
        return array_of(driver, context, name, np.int64)
    return array_of(driver, context, name, np.int64, int(context["n"]) * width).reshape(-1, width)


def relax(driver, context, page, targets, contributions):
    """Push to `targets`; return the vertices that this has activated, and put them into the next frontier."""
    new = values_of(driver, context)
    before = new.copy()
    (np.bitwise_and if is_search(context) else np.minimum).at(new, targets, contributions)
    was, write = bits_of(driver, context, "next_frontier")
    changed = (new != before).reshape(len(new), -1).any(axis=1) & ~was
    write(changed | was)
    return np.flatnonzero(changed)


def edges_of(driver, context, vertices):
    """The number of out-edges of `vertices`."""
    offsets = offsets_of(driver, context, "out_begins")
    return int(np.diff(offsets)[vertices].sum())


def count(driver, context, page, activated):
    tally = tally_of(driver, page)
    tally["active"] = tally["active"] + len(activated)
    tally["active_edges"] = tally["active_edges"] + edges_of(driver, context, activated)


def lengths_of(driver, page):
    """The lengths of the page's edges, int64; 1 of each if the program reads none."""
    if page["value_records"]:
        records, numbers = packed_of(
            driver, page, ("value_records", "value_words", "first_value_word", "mapped_value_words")
        )
        return records["base"] + numbers
    if not page["edge_values"] and not page["mapped_values"]:
        return np.ones(int(page["last_edge"] - page["first_edge"]), np.int64)
    return here_and_there(driver, page, "edge_values", "mapped_values", np.int32)


def is_idle(driver, context, page):
    """Whether `choose` has chosen another kernel; if not, the `context` gets the values where they are now."""
    if not page["wanted"]:
        return False
    tally = tally_of(driver, page)[0]
    if tally["swapped"]:
        context["values"], context["next_values"] = context["next_values"].copy(), context["values"].copy()
    return not tally["chosen"] & page["wanted"]


def choose(driver, context, page):
    last, own = driver.array(page["before"], driver.layouts.tally, 1)[0], tally_of(driver, page)
    own["since"], own["nanoseconds"] = 1, last["nanoseconds"] + 1000  # each superstep takes a microsecond
    own["supersteps"] = last["supersteps"]
    pulled = last["chosen"] == header.PULLS and context["next_values"] != context["values"]
    own["swapped"] = last["swapped"] ^ np.uint32(pulled)
    late = own["nanoseconds"][0] > header.LONGEST_LAUNCH
    if late or not last["chosen"] or not last["active"] or last["supersteps"] >= header.MOST_SUPERSTEPS:
        return
    if last["active_edges"] > page["most_pushed"]:
        own["chosen"] = header.PULLS * page["pulls"]
    else:
        threads = int(page["few_threads"])
        fits = last["active"] <= header.FEW_LISTS * threads and last["active_edges"] <= header.FEW_EDGES * threads
        own["chosen"] = header.PUSHES_FEW if fits and threads else header.PUSHES
    own["supersteps"] += own["chosen"][0] in (header.PUSHES, header.PULLS)


def list_frontier(driver, context, page):
    active = np.flatnonzero(bits_of(driver, context, "frontier")[0])[::-1]
    bits_of(driver, context, "next_frontier")[1](np.zeros(int(context["n"]), bool))
    if context["kept_sums"] and not context["pushes_all"]:
        bits_of(driver, context, "notified")[1](np.zeros(int(context["n"]), bool))
    array_of(driver, context, "queue", np.uint32, len(active))[:] = active
    if context["next_values"] != context["values"] and not context["kept_sums"]:
        copies = values_of(driver, context, "next_values")
        places = active if context["copies_by_vertex"] else np.arange(len(active))
        copies[places] = values_of(driver, context)[active]
    offsets = offsets_of(driver, context, "out_begins")
    begins, ends = offsets[active], offsets[active + 1]
    cut = (ends - 1) // header.PIECE - begins // header.PIECE + 1
    numbers = np.where(ends - begins < header.PIECE, 0, cut)
    pieces = [(place, k) for place, many in enumerate(numbers) for k in range(many)]
    array_of(driver, context, "pieces", driver.layouts.list_piece, len(pieces))[:] = pieces
    tally = tally_of(driver, page)
    tally["queued"], tally["pieces"] = len(active), len(pieces)


def push_lists(driver, context, page, ends_of, ranges, values):
    """Push along lists, or parts of them, with these `ranges` of edges, of vertices with these `values`; return the
    vertices that this has activated."""
    targets, lengths = ends_of(np.concatenate([np.arange(0), *(np.arange(*part) for part in ranges)]))
    said = np.repeat(values, [end - begin for begin, end in ranges], axis=0)
    if adds_lengths(context):
        said = farther(said, lengths)
    return relax(driver, context, page, targets, said)


def farther(values, lengths):
    """The distances `values` of edges' sources, and the edges' `lengths`."""
    far = np.iinfo(np.int64).max
    lengths = lengths if values.ndim == 1 else lengths[:, None]
    return np.where(values == far, far, values + np.where(values == far, 0, lengths))


def out_edges(driver, context, page):
    """A function that gives the targets and the lengths of some out-edges of the page, which is unpacked once."""
    targets, lengths = sources_of(driver, context, page, "out_begins"), lengths_of(driver, page)
    first = int(page["first_edge"])
    return lambda edges: (targets[edges - first], lengths[edges - first])


def reverse_values(driver, context, page):
    """What the kernel does by binary searches, by sorting: parallel edges keep their order."""
    first, last, n = int(page["first_vertex"]), int(page["last_vertex"]), int(context["n"])
    begin, end = map(int, page[["first_edge", "last_edge"]])
    into, out = (offsets_of(driver, context, name) for name in ("in_begins", "out_begins"))
    sources = driver.array(page["sources"], np.uint32, end - begin, begin - int(page["base_edge"])).astype(np.int64)
    destinations = np.repeat(np.arange(first, last), np.diff(into[first : last + 1]))
    base, stop = int(context["first_target"]), int(context["last_target"])
    targets = driver.array(context["targets"], np.uint32, stop - base).astype(np.int64)
    owners, is_here = np.repeat(np.arange(n), np.diff(out)), (out[:-1] >= base) & (out[1:] <= stop)
    owners = owners[base:stop]
    places = np.flatnonzero((targets >= first) & (targets < last) & is_here[owners])  # by owner, then by target
    order = np.lexsort([destinations, sources])
    order = order[is_here[sources[order]]]
    np.testing.assert_array_equal(owners[places], sources[order])
    np.testing.assert_array_equal(targets[places], destinations[order])
    values = driver.array(context["target_values"], np.int32, stop - base)
    values[places] = lengths_of(driver, page)[order]


def push_queue(driver, context, page):
    queue = array_of(driver, context, "queue", np.uint32, int(listed_of(driver, page)["queued"])).astype(np.int64)
    values = values_of(driver, context)[queue]
    if context["next_values"] != context["values"]:
        copies = values_of(driver, context, "next_values")
        values = copies[queue if context["copies_by_vertex"] else np.arange(len(queue))]
    ends_of = out_edges(driver, context, page)
    activated = [
        push_lists(driver, context, page, ends_of, ranges, values[places])
        for ranges, places in parts_of(driver, context, page, queue)
    ]
    count(driver, context, page, np.concatenate(activated))


def edge_list(driver, context, page):
    """Sources, targets and lengths of the edges that the host has listed."""
    count, values = int(page["last_edge"]), page["edge_values"]
    ends = (driver.array(place, np.uint32, count).astype(np.int64) for place in (page["sources"], context["targets"]))
    return *ends, driver.array(values, np.int32, count).astype(np.int64) if values else np.ones(count, np.int64)


def push_edge_list(driver, context, page):
    sources, targets, lengths = edge_list(driver, context, page)
    is_synchronous = context["next_values"] != context["values"]
    values = array_of(driver, context, "next_values" if is_synchronous else "values", np.int64)[sources]
    count(driver, context, page, relax(driver, context, page, targets, values + lengths))


def parts_of(driver, context, page, queue):
    """The lists of the queue's vertices that are in the page, whole or in pieces: ranges, and places in the queue.

    The kernel's warps take those that none has taken, so a launch needs counts of its own, which begin with 0.
    """
    tally, own = listed_of(driver, page), tally_of(driver, page)
    assert not (own["taken_lists"] | own["taken_pieces"])
    own["taken_lists"] = own["taken_pieces"] = 1
    offsets = offsets_of(driver, context, "out_begins")
    is_here = (queue >= page["first_vertex"]) & (queue < page["last_vertex"])
    begins, ends = offsets[queue], offsets[queue + 1]
    ends = np.where(is_here & (ends - begins < header.PIECE), ends, begins)  # longer ones are in pieces
    yield list(zip(begins, ends, strict=True)), np.arange(len(queue))
    for place, number in array_of(driver, context, "pieces", driver.layouts.list_piece, int(tally["pieces"])).tolist():
        if not is_here[place]:
            continue
        begin, end = offsets[queue[place]], offsets[queue[place] + 1]
        first = (begin // header.PIECE + number) * header.PIECE
        yield [(max(begin, first), min(end, first + header.PIECE))], np.array([place])


class Order:
    """What priority.cuh does, for integers."""

    def __init__(self, context, many):
        self.many, self.watches, self.step, self.last = many, False, None, np.inf
        names = context["parameters"].dtype.names
        in_place = context["next_values"] == context["values"]
        self.urgency = int(context["parameters"]["urgency"]) if "urgency" in names and in_place else None

    def priorities(self, values):
        return values * (0 if self.urgency is None else self.urgency)

    def next(self, followed, waiting, queued, least):
        if self.urgency is None:
            return
        if not self.watches:
            self.watches = queued > self.many
            return
        if self.step is None:
            self.step = abs(least) // 64
        elif followed > self.many:
            self.step //= 2
        elif followed * 4 < self.many and waiting:
            self.step *= 2
        self.step = max(self.step, 1)
        self.last = least + self.step


def push_few(driver, context, page):
    log = array_of(driver, context, "supersteps", driver.layouts.superstep, header.MOST_SUPERSTEPS + 1)
    offsets = offsets_of(driver, context, "out_begins")
    tally, threads = tally_of(driver, page), driver.threads
    before = int(tally["supersteps"][0])
    assert tally["queued"][0] <= header.FEW_LISTS * threads  # the kernel would leave out the others
    queue = array_of(driver, context, "queue", np.uint32, int(tally["queued"][0])).astype(np.int64)
    order, edges = Order(context, header.MANY_EDGES * threads), 0
    began, swapped, ends_of = before, context.copy(), out_edges(driver, context, page)
    swapped["frontier"], swapped["next_frontier"] = context["next_frontier"], context["frontier"]
    for step in range(before, header.MOST_SUPERSTEPS):
        values = array_of(driver, context, "values", np.int64)[queue].copy()
        waits = order.priorities(values) > order.last
        waiting, queue, values = queue[waits], queue[~waits], values[~waits]
        marked, cleared = (swapped, context) if (step - began) % 2 else (context, swapped)
        was, write = bits_of(driver, cleared, "next_frontier")
        was[np.append(queue, waiting)] = False
        write(was)
        was, write = bits_of(driver, marked, "next_frontier")
        was[waiting] = True
        write(was)
        ranges = list(zip(offsets[queue], offsets[queue + 1], strict=True))
        queue = np.append(waiting, push_lists(driver, marked, page, ends_of, ranges, values))
        left, before, edges = edges_of(driver, context, waiting), edges, edges_of(driver, context, queue)
        log[step] = edges, len(queue), 1000 * step, left, 0, 0
        if len(queue):
            least = order.priorities(array_of(driver, context, "values", np.int64)[queue]).min()
            order.next(before - left, left, edges, int(least))
        is_few = len(queue) <= header.FEW_LISTS * threads and edges <= header.FEW_EDGES * threads
        if not len(queue) or not is_few:
            break
    if (step - began) % 2:  # the last frontier is in the other bitmap
        bits_of(driver, context, "next_frontier")[1](bits_of(driver, swapped, "next_frontier")[0])
    tally["active"], tally["active_edges"], tally["supersteps"] = len(queue), edges, step + 1


def relax_received(driver, context, page):
    first, last = int(page["first_place"]), int(page["last_place"])
    targets = array_of(driver, context, "queue", np.uint32, last)[first:].astype(np.int64)
    values = array_of(driver, page, "collected", np.int64, last)[first:]
    count(driver, context, page, relax(driver, context, page, targets, values))


KERNELS = {
    "choose": choose,
    "list_frontier": list_frontier,
    "push_edge_list": push_edge_list,
    "push_queue": push_queue,
    "push_queue_packed": push_queue,
    "push_few": push_few,
    "push_few_packed": push_few,
    "relax_received": relax_received,
    "reverse_values": reverse_values,
}
