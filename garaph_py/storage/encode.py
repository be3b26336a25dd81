"""A graph as the arrays of the format, and these as blocks, raw or packed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.blocks import KIND_OF, cut
from ..codec.format import RUN, Packed
from ..codec.pack import pack, unpack
from ..graph.build import reversed_values
from ..graph.graph import RAW, Edges, Graph, PackedAdjacency
from ..graph.ids import IntegerIds, StringIds
from ..native.threads import ThreadPool
from .blocks import PACKED_1, RAW_1
from .keep import blocks_of_whole_runs

Array = npt.NDArray[Any]


def arrays_of(graph: Graph, pool: ThreadPool) -> dict[str, Array | Packed]:
    """The arrays that make up `graph`, by their names in the format; of a directed one, the values of its out-edges are
    made for this, if it has none."""
    into, values = edge_arrays(graph.in_edges)
    arrays: dict[str, Array | Packed] = {"in_offsets": graph.in_edges.offsets, "in_sources": into}
    if values is not None:
        arrays["in_values"] = values
    if graph.directed:
        out, out_values = edge_arrays(graph.out_edges)
        arrays |= {"out_offsets": graph.out_edges.offsets, "out_targets": out}
        if values is not None:
            made = reversed_values(graph.in_edges, graph.out_edges.offsets, pool) if out_values is None else out_values
            arrays["out_values"] = made
    if isinstance(graph.ids, StringIds):
        arrays |= string_arrays(graph.ids.arrow)
    elif isinstance(graph.ids, IntegerIds):
        ids = graph.ids.array()
        arrays["ids"] = ids.astype(np.uint64 if ids.dtype.kind == "u" else np.int64, copy=False)
    return arrays


def edge_arrays(edges: Edges) -> tuple[Array | Packed, Array | Packed | None]:
    """Neighbours and values, packed where they are in memory."""
    if isinstance(edges, PackedAdjacency):
        return edges.packed, edges.packed_values
    return edges.neighbours, edges.values


def raw_bytes(array: Array | Packed) -> int:
    return array.length * array.dtype.itemsize if isinstance(array, Packed) else array.nbytes


def string_arrays(strings: Any) -> dict[str, Array]:
    """Offsets from 0 and UTF-8 bytes of an Arrow large_string array, which may be a slice of a longer one."""
    if not len(strings):
        return {"id_offsets": np.zeros(1, np.int64), "id_bytes": np.zeros(0, np.uint8)}
    _, offsets_buffer, text_buffer = strings.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    text = np.frombuffer(text_buffer or b"", np.uint8)[first:last]
    return {"id_offsets": offsets - first if first else offsets, "id_bytes": text}


def ready(name: str, array: Array | Packed, encoding: str, offsets: Array | None, pool: ThreadPool) -> Array | Packed:
    """`array` packed if it can be and its blocks are to be."""
    if encoding == RAW or name not in KIND_OF or isinstance(array, Packed):
        return array
    packed = pack(array, KIND_OF[name], pool, offsets)
    return array if packed is None else packed


def blocks_of(
    name: str, array: Array | Packed, encoding: str, block_bytes: int, offsets: Array | None, pool: ThreadPool
) -> tuple[tuple[str, int], Iterable[Array]]:
    """The blocks of `array`, and their encoding: packed arrays can have either."""
    if not isinstance(array, Packed):
        return RAW_1, raw_blocks(array, block_bytes)
    if encoding == RAW:
        return RAW_1, unpacked_blocks(array, KIND_OF[name], block_bytes, offsets, pool)
    return PACKED_1, cut(array, block_bytes // array.dtype.itemsize, offsets)


def raw_blocks(array: Array, block_bytes: int) -> Iterator[Array]:
    raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).view(np.uint8)
    return (raw[start : start + block_bytes] for start in range(0, len(raw), block_bytes))


def unpacked_blocks(
    packed: Packed, kind: str, block_bytes: int, offsets: Array | None, pool: ThreadPool
) -> Iterator[Array]:
    """Raw blocks, unpacked a chunk at a time."""
    itemsize = packed.dtype.itemsize
    runs = blocks_of_whole_runs(block_bytes, itemsize) * block_bytes // (RUN * itemsize)
    for first in range(0, len(packed.records), runs):
        yield from raw_blocks(unpack(packed.runs(first, first + runs), kind, pool, offsets, first * RUN), block_bytes)
