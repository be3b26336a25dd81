"""The undirected graph of a directed one: each vertex gets the union of its in-edges and its out-edges.

Edges are equal if they have the same ends and the same value, bit for bit. The union is one of multisets: of k equal
edges in one direction and l in the other, max(k, l) remain. It is the merge of two sorted lists that C++ calls
``std::set_union``; edges are sorted by the other endpoint and, if they are parallel, by the bits of their values.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import Kernel
from ..native.threads import ThreadPool, even_cuts
from .adjacency import Adjacency
from .transpose import reversed_values

Array = npt.NDArray[Any]


def make_union(has_values: bool):
    # wide: compiled code takes its arrays one by one
    def union(ones, one_values, i, one_stop, twos, two_values, j, two_stop, fill, out, out_values, at):
        """Merge ``ones[i:one_stop]`` and ``twos[j:two_stop]`` until one of them ends; return where all three are then.

        Without `fill` it only counts.
        """
        while i < one_stop and j < two_stop:
            one, two = ones[i], twos[j]
            is_one, is_two = one <= two, two <= one
            if has_values and one == two:
                is_one, is_two = one_values[i] <= two_values[j], two_values[j] <= one_values[i]
            if fill:
                out[at] = one if is_one else two
                if has_values:
                    out_values[at] = one_values[i] if is_one else two_values[j]
            at += 1
            if is_one:
                i += 1
            if is_two:
                j += 1
        return i, j, at

    return union


def make_union_lists(has_values: bool):
    union = make_union(has_values)

    # wide: compiled code takes its arrays one by one
    def union_lists(
        in_offsets, sources, in_values, out_offsets, targets, out_values, first, last, fill, offsets, others, values
    ):  # fmt: skip
        """Write the union of the two lists of every vertex of [first, last) from its offset on.

        Without `fill` it writes the lengths of the lists, each at the place of the offset that follows.
        """
        for vertex in range(first, last):
            in_stop, out_stop = in_offsets[vertex + 1], out_offsets[vertex + 1]
            i, j, at = union(
                sources, in_values, in_offsets[vertex], in_stop, targets, out_values, out_offsets[vertex], out_stop,
                fill, others, values, offsets[vertex] if fill else 0,
            )  # fmt: skip
            if not fill:
                offsets[vertex + 1] = at + in_stop - i + out_stop - j
                continue
            for k in range(i, in_stop):
                others[at] = sources[k]
                if has_values:
                    values[at] = in_values[k]
                at += 1
            for k in range(j, out_stop):
                others[at] = targets[k]
                if has_values:
                    values[at] = out_values[k]
                at += 1
        return 0

    return union_lists


@cache
def union_kernel(width: int) -> Kernel:
    """`make_union_lists` for edge values of `width` bytes (0: none)."""
    value = f"u{8 * width or 32}*"
    side = f"i64* u32* {value}"
    return Kernel(f"{side} {side} i64 i64 bool {side}", make_union_lists(bool(width)))


def symmetrized(into: Adjacency, out: Adjacency, pool: ThreadPool) -> Adjacency:
    """The union of the in-edges and the out-edges of each vertex; `out` needs no values."""
    n, width = len(into.offsets) - 1, 0 if into.value_dtype is None else into.value_dtype.itemsize
    sources, targets, in_values, out_values = into.neighbours, out.neighbours, into.values, None
    if in_values is not None:
        in_values = ascending_in_runs(into.offsets, sources, in_values)
        out_values = reversed_values(Adjacency(into.offsets, sources, in_values), out.offsets, pool)
    bits = [None if values is None else values.view(f"u{width}") for values in (in_values, out_values)]
    lists = into.offsets, sources, bits[0], out.offsets, targets, bits[1]
    most = into.offsets + out.offsets
    cuts = even_cuts(most, pool.parts(most[-1])).tolist()
    del most
    offsets, kernel = np.zeros(n + 1, np.int64), union_kernel(width)
    pool.run(kernel, [(*lists, *part, False, offsets, None, None) for part in pairwise(cuts)])
    np.cumsum(offsets, out=offsets)
    others = np.empty(int(offsets[-1]), np.uint32)
    values = None if in_values is None else np.empty(len(others), in_values.dtype)
    filled = None if values is None else values.view(f"u{width}")
    pool.run(kernel, [(*lists, *part, True, offsets, others, filled) for part in pairwise(cuts)])
    return Adjacency(offsets, others, values)


def ascending_in_runs(offsets: Array, others: Array, values: Array) -> Array:
    """`values`, sorted by their bits within each run of parallel edges."""
    parallel = np.zeros(len(others) + 1, np.bool_)  # whether an edge is parallel to the one before; a last False
    parallel[1:-1] = others[1:] == others[:-1]
    parallel[offsets] = False
    edges = np.flatnonzero(parallel[:-1] | parallel[1:])
    if not len(edges):
        return values
    runs = np.cumsum(~parallel[edges])
    values = values.copy()
    bits = values.view(f"u{values.dtype.itemsize}")
    bits[edges] = bits[edges][np.lexsort((bits[edges], runs))]
    return values
