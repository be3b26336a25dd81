"""The kernels of the engines that push along edge lists, on the GPU of `numpy_gpu`, for the programs of
`numpy_push` and of `numpy_deltas`."""

import numpy as np

from garaph_py.executor.gpu.header import PIECE

from .numpy_packed import array_of, offsets_of
from .numpy_push import bits_of, count, relax, tally_of


def lists_of(driver, context, edges):
    """The targets and the lengths of some edges of the lists."""
    first, last = (int(edges.min()), int(edges.max()) + 1) if len(edges) else (0, 0)

    def part(name, kind):
        place = int(np.uint64(context[name]).astype(np.int64))  # where edge 0 would be, maybe before all memory
        return driver.array(place, kind, last - first, first).astype(np.int64)

    targets = part("lists", np.int64 if context["wide_lists"] else np.uint32)
    lengths = part("list_values", np.int32) if context["list_values"] else np.ones(last - first, np.int64)
    return targets[edges - first], lengths[edges - first]


def push_ranges(driver, context, page, vertices, copies, ranges):
    """Push along the `ranges` of edges, one for each of `vertices`; `copies` has their values in synchronous runs."""
    edges = np.concatenate([np.arange(0), *(np.arange(*part) for part in ranges)])
    targets, lengths = lists_of(driver, context, edges)
    many = [end - begin for begin, end in ranges]
    values = array_of(driver, context, "values", np.int64)
    if context["kept_sums"]:
        new, old = values[vertices], array_of(driver, context, "next_values", np.int64)[vertices]
        said = new if context["pushes_all"] else new - old
        weights = lengths if context["list_values"] else 1
        np.add.at(array_of(driver, context, "kept_sums", np.int64), targets, np.repeat(said, many) * weights)
        was, write = bits_of(driver, context, "notified")
        was[targets] = True
        write(was)
        return
    said = np.repeat(copies, many) + lengths
    if not context["updated"]:
        relax(driver, context, page, targets, said)
        return
    before = values.copy()
    np.minimum.at(values, targets, said)
    array_of(driver, context, "updated", np.uint8)[np.flatnonzero(values != before)] = 1


def values_of(driver, context, vertices, places):
    """What vertices push in a relaxation: in synchronous runs, the copies at these places."""
    is_apart = context["next_values"] != context["values"] and not context["kept_sums"]
    name = "next_values" if is_apart else "values"
    return array_of(driver, context, name, np.int64, int(context["n"]))[places if is_apart else vertices].copy()


def whole_lists(driver, context, vertices):
    offsets = offsets_of(driver, context, "out_begins")
    return list(zip(offsets[vertices].tolist(), offsets[vertices + 1].tolist(), strict=True))


def shifted(driver, context, vertices, places, ranges):
    """The ranges of edges of vertices at these places of the queue, where compacted lists have them."""
    if not context["compacted"]:
        return ranges
    base, begins = int(np.uint64(context["compacted"]).astype(np.int64)), offsets_of(driver, context, "out_begins")
    shifts = [int(driver.array(base, np.int64, 1, place)[0]) for place in places.tolist()] - begins[vertices]
    return [(begin + by, end + by) for (begin, end), by in zip(ranges, shifts.tolist(), strict=True)]


def push_vertices(driver, context, page):
    first, last = int(page["first_vertex"]), int(page["last_vertex"])
    active = first + np.flatnonzero(bits_of(driver, context, "frontier")[0][first:last])
    if context["splits"]:
        long = lengths_of(driver, context, active) >= PIECE
        leave_pieces(driver, context, page, active[long])
        active = active[~long]
    copies = values_of(driver, context, active, active)
    push_ranges(driver, context, page, active, copies, whole_lists(driver, context, active))


def lengths_of(driver, context, vertices):
    offsets = offsets_of(driver, context, "out_begins")
    return offsets[vertices + 1] - offsets[vertices]


def leave_pieces(driver, context, page, vertices):
    """Leave long lists of vertices to `push_pieces`."""
    found = []
    for vertex, (begin, end) in zip(vertices.tolist(), whole_lists(driver, context, vertices), strict=True):
        found += [(vertex, k) for k in range((end - 1) // PIECE - begin // PIECE + 1)]
    tally_of(driver, page)["pieces"] = len(found)
    array_of(driver, context, "pieces", driver.layouts.list_piece, len(found))[:] = found


def queue_of(driver, context, page):
    return array_of(driver, context, "queue", np.uint32, int(tally_of(driver, page)[0]["queued"])).astype(np.int64)


def push_listed(driver, context, page):
    places = np.arange(int(page["first_place"]), int(page["last_place"]))
    queue = array_of(driver, context, "queue", np.uint32).astype(np.int64)[places]
    if context["splits"]:
        short = lengths_of(driver, context, queue) < PIECE
        places, queue = places[short], queue[short]
    copies = values_of(driver, context, queue, places)
    ranges = shifted(driver, context, queue, places, whole_lists(driver, context, queue))
    push_ranges(driver, context, page, queue, copies, ranges)


def push_pieces(driver, context, page):
    pieces = array_of(driver, context, "pieces", driver.layouts.list_piece, int(tally_of(driver, page)[0]["pieces"]))
    places = pieces["place"].astype(np.int64)
    queue = array_of(driver, context, "queue", np.uint32).astype(np.int64) if context["queue"] else None
    vertices = places if queue is None else queue[places]
    ranges = []
    for (begin, end), number in zip(whole_lists(driver, context, vertices), pieces["number"].tolist(), strict=True):
        first = (begin // PIECE + number) * PIECE
        ranges.append((max(begin, first), min(end, first + PIECE)))
    if queue is not None:
        ranges = shifted(driver, context, vertices, places, ranges)
    push_ranges(driver, context, page, vertices, values_of(driver, context, vertices, places), ranges)


def cut_degrees(driver, context, page):
    limit, whole, part = int(context["degree_limit"]), [], []
    for place, (begin, end) in enumerate(whole_lists(driver, context, queue_of(driver, context, page))):
        cut = end - (end - begin) % limit
        whole += [(start, place, limit) for start in range(begin, cut, limit)]
        part += [(cut, place, end - cut)] * (cut < end)
    tally = tally_of(driver, page)
    tally["whole_shadows"], tally["part_shadows"] = len(whole), len(part)
    for name, shadows in ("whole_shadows", whole), ("part_shadows", part):
        array_of(driver, context, name, driver.layouts.shadow, len(shadows))[:] = shadows


def push_shadows(driver, context, page):
    queue, tally = queue_of(driver, context, page), tally_of(driver, page)[0]
    shadows = np.concatenate(
        [
            array_of(driver, context, name, driver.layouts.shadow, int(tally[name])).copy()
            for name in ("whole_shadows", "part_shadows")
        ]
    )
    places = shadows["place"].astype(np.int64)
    ranges = list(zip(shadows["start"].tolist(), (shadows["start"] + shadows["edges"]).tolist(), strict=True))
    copies = values_of(driver, context, queue[places], places)
    push_ranges(driver, context, page, queue[places], copies, ranges)


def scan_updated(driver, context, page):
    changed, write = bits_of(driver, context, "next_frontier")
    if context["updated"]:
        updated = array_of(driver, context, "updated", np.uint8)
        changed = updated != 0
        updated[:] = 0
        write(changed)
    count(driver, context, page, np.flatnonzero(changed))


KERNELS = {
    "push_vertices": push_vertices,
    "push_listed": push_listed,
    "push_pieces": push_pieces,
    "cut_degrees": cut_degrees,
    "push_shadows": push_shadows,
    "scan_updated": scan_updated,
}


class FakeManaged:
    """Unified memory of a fake GPU: a copy in its memory."""

    made = []  # noqa: RUF012 - a list of all that have been made

    def __init__(self, driver, array, free, threads):
        self.driver, self.nbytes, self.told = driver, array.nbytes, []
        assert array.nbytes <= free
        self.allocation = driver.mem_alloc(max(array.nbytes, 1))
        self.address = int(self.allocation)
        driver.memcpy_htod(self.address, array.view(np.uint8))
        FakeManaged.made.append(self)

    def advise(self, hint):
        self.told.append(hint)

    def prefetch(self, first, last):
        assert 0 <= first <= last <= self.nbytes
        self.told.append((first, last))

    def close(self):
        self.allocation.free()
