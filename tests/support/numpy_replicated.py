"""The twin of gather_replicated.cu, for the programs `Hops`, `Quiet` and `Lengths` of `numpy_gpu`."""

import numpy as np

FAR = np.iinfo(np.int64).max


def initialize_sums(driver, context, page):
    """Nothing: the twin adds up the pieces of a shard where it finds them."""


def gather_replicated(driver, context, page):
    """Shard by shard: the smallest contribution to each destination, then the new values."""
    at, n = driver.array, int(context["n"])
    begins = at(context["in_begins"], np.uint32, n + 1).astype(np.int64)
    items = at(page["items"], driver.layouts.item, int(page["blocks"]))
    for first in np.unique(items["first_vertex"]):
        pieces = items[items["first_vertex"] == first]
        assert (pieces["pieces"] == len(pieces)).all()
        acc = np.full(int(pieces["ranks"][0]), FAR)
        for item in pieces:
            count, skipped = int(item["last_edge"] - item["first_edge"]), int(item["first_edge"] - page["base_edge"])
            ranks = ranks_of(driver, page, begins, item)
            said = at(context["values"], np.int64, n)[at(page["sources"], np.uint32, count, skipped)]
            lengths = at(page["edge_values"], np.int32, count, skipped) if page["edge_values"] else 1
            np.minimum.at(acc, ranks, np.where(said == FAR, FAR, said + lengths * (said != FAR)))
        apply(driver, context, page, begins, pieces[0], acc)


def ranks_of(driver, page, begins, item):
    """The ranks in the shard of an item's destinations: by their 16-bit offsets, or by where destinations begin."""
    edges = np.arange(int(item["first_edge"]), int(item["last_edge"]))
    if page["shard_offsets"]:
        skipped = int(item["first_edge"] - page["base_edge"])
        return driver.array(page["shard_offsets"], np.uint16, len(edges), skipped).astype(np.int64)
    starts = begins[:-1][np.diff(begins) > 0]
    return np.searchsorted(starts, edges, side="right") - 1 - int(item["first_rank"])


def apply(driver, context, page, begins, item, acc):
    at, (first, last) = driver.array, (int(item["first_vertex"]), int(item["last_vertex"]))
    old = at(context["values"], np.int64, last - first, first)
    new, has_edges = old.copy(), np.diff(begins[first : last + 1]) > 0
    new[has_edges] = np.minimum(new[has_edges], acc)
    active = new != old
    out = np.diff(at(context["out_begins"], np.uint32, last - first + 1, first).astype(np.int64))
    at(context["next_values"], np.int64, last - first, first)[:] = new
    bits = at(context["next_frontier"], np.uint8, -(-int(context["n"]) // 8))
    np.bitwise_or.at(bits, (first + np.flatnonzero(active)) // 8, 1 << (first + np.flatnonzero(active)) % 8)
    tally = at(page["tally"], driver.layouts.tally, 1)
    for name, more in (("active", active), ("active_edges", out[active]), ("partial", active)):
        tally[name] = tally[name] + more.sum().astype(tally[name].dtype)


KERNELS = {"initialize_sums": initialize_sums, "gather_replicated": gather_replicated}
