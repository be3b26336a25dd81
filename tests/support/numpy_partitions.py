"""The kernels of HyTGraph's partitions on the GPU of `numpy_gpu`; those that push are in `numpy_lists`."""

import numpy as np

from garaph_py.executor.gpu.header import PIECE
from garaph_py.executor.gpu.push_partitions import NOT_LISTED

from .numpy_deltas import applied
from .numpy_packed import array_of, offsets_of
from .numpy_push import bits_of, count


def partitions_of(driver, context):
    """The table of partitions, and the number of each vertex's."""
    table = array_of(driver, context, "partition_table", driver.layouts.partition, int(context["partition_count"]))
    vertices = np.arange(int(context["n"]))
    return table, np.searchsorted(table["first_vertex"], vertices, side="right") - 1


def active_of(driver, context):
    """The vertices of the frontier that have out-edges, and where their lists begin and end."""
    offsets = offsets_of(driver, context, "out_begins")
    active = np.flatnonzero(bits_of(driver, context, "frontier")[0] & (np.diff(offsets) > 0))
    return active, offsets[active], offsets[active + 1]


def pieces_of(context, begins, ends):
    cut = (ends - begins >= PIECE) & bool(context["splits"])
    return np.where(cut, (ends - 1) // PIECE - begins // PIECE + 1, 0)


def count_partitions(driver, context, page):
    active, begins, ends = active_of(driver, context)
    table, partition = partitions_of(driver, context)
    values = [array_of(driver, context, name, np.int64)[active] for name in ("values", "next_values")]
    change = np.abs(values[0] - values[1]) if context["kept_sums"] else np.ones(len(active))
    columns = {
        "active": np.ones(len(active), np.int64), "active_edges": ends - begins,
        "pieces": pieces_of(context, begins, ends), "change": change * (ends - begins),
    }  # fmt: skip
    width = 2 if context["list_values"] else 1
    for name, size in ("requests", 128), ("sectors", 32):
        columns[name] = width * ((ends * 4 - 1) // size - begins * 4 // size + 1)
    for name, numbers in columns.items():
        table[name] += np.bincount(partition[active], numbers, len(table)).astype(table[name].dtype)
    if context["in_turn"]:  # vertices without edges leave the frontier
        was, write = bits_of(driver, context, "frontier")
        write(np.isin(np.arange(len(was)), active))
        idle = np.setdiff1d(np.flatnonzero(was), active)
        settle(driver, context, idle)


def settle(driver, context, vertices):
    """The sums of targets include the values of these vertices."""
    values, included = (array_of(driver, context, name, np.int64) for name in ("values", "next_values"))
    included[vertices] = values[vertices]


def list_partitions(driver, context, page):
    active, begins, ends = active_of(driver, context)
    table, partition = partitions_of(driver, context)
    listed = table["to_queue"][partition] != NOT_LISTED
    queue = array_of(driver, context, "queue", np.uint32)
    copies = context["next_values"] != context["values"] and not context["kept_sums"]
    pieces = pieces_of(context, begins, ends)
    for v, many in zip(active[::-1].tolist(), pieces[::-1].tolist(), strict=True):  # any order will do
        row = table[partition[v]]
        if not listed[v]:
            continue
        at, to = int(row["to_queue"]), int(row["to_pieces"])
        row["to_queue"], row["to_pieces"] = at + 1, to + many
        queue[at] = v
        if copies:
            array_of(driver, context, "next_values", np.int64)[at] = array_of(driver, context, "values", np.int64)[v]
        driver.array(context["pieces"], driver.layouts.list_piece, many, to)[:] = [(at, k) for k in range(many)]
    if context["in_turn"]:
        move(driver, context, "frontier", listed)


def move(driver, context, name, chosen):
    """Move the `chosen` vertices of a bitmap to `taken`; return which they are."""
    was, write = bits_of(driver, context, name)
    taken, write_taken = bits_of(driver, context, "taken")
    write(was & ~chosen)
    write_taken(np.where(chosen, was, taken))
    return was & chosen


def take_frontier(driver, context, page):
    first, last = int(page["first_vertex"]), int(page["last_vertex"])
    inside = np.zeros(int(context["n"]), bool)
    inside[first:last] = True
    if context["updated"]:
        updated = array_of(driver, context, "updated", np.uint8)
        taken, write = bits_of(driver, context, "taken")
        write(np.where(inside, updated != 0, taken))
        found = inside & (updated != 0)
        updated[inside] = 0
    else:
        found = move(driver, context, "frontier" if context["in_turn"] else "next_frontier", inside)
    count(driver, context, page, np.flatnonzero(found))


def apply_in_turn(driver, context, page):
    n, first, last = int(context["n"]), int(page["first_vertex"]), int(page["last_vertex"])
    inside = np.zeros(n, bool)
    inside[first:last] = True
    taken, write_taken = bits_of(driver, context, "taken")
    notified, write_notified = bits_of(driver, context, "notified")
    settle(driver, context, np.flatnonzero(taken & inside))
    values, sums = array_of(driver, context, "values", np.int64), array_of(driver, context, "kept_sums", np.int64)
    new = np.where(notified, applied(context, values, sums), values)
    active, write = bits_of(driver, context, "frontier")
    write((active & ~(taken & inside)) | (new != values))
    values[:] = new
    write_taken(taken & ~inside)
    write_notified(np.zeros(n, bool))


KERNELS = {
    "count_partitions": count_partitions, "list_partitions": list_partitions, "take_frontier": take_frontier,
    "apply_in_turn": apply_in_turn,
}  # fmt: skip
