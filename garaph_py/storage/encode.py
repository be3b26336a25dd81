"""Turns a graph into the arrays of the format, and arrays into raw or packed blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.arrays import PACKED, RAW, EdgeArray
from ..codec.blocks import KIND_OF, cut
from ..codec.codecs import decoded, decoded_slice, edge_array, encoded, in_memory
from ..codec.format import Packed
from ..graph.graph import Graph
from ..graph.ids import IntegerIds, StringIds
from ..graph.transpose import reversed_values
from ..native.threads import ThreadPool
from .blocks import PACKED_1, RAW_1
from .keep import blocks_of_whole_runs

Array = npt.NDArray[Any]


def arrays_of(graph: Graph, pool: ThreadPool) -> dict[str, EdgeArray]:
    """The arrays that make up `graph`, by their names in the format.

    If a directed graph has values of in-edges only, this computes the values of out-edges.
    """
    into, out = graph._arrays.in_edges, graph._arrays.out_edges
    arrays: dict[str, EdgeArray | Array] = {"in_offsets": into.offsets, "in_sources": in_memory(into.neighbour_array)}
    if into.value_array is not None:
        arrays["in_values"] = in_memory(into.value_array)
    if graph.directed:
        arrays |= {"out_offsets": out.offsets, "out_targets": in_memory(out.neighbour_array)}
        if into.value_array is not None:
            made = reversed_values(into, out.offsets, pool) if out.value_array is None else in_memory(out.value_array)
            arrays["out_values"] = made
    if isinstance(graph.ids, StringIds):
        arrays |= string_arrays(graph.ids.arrow)
    elif isinstance(graph.ids, IntegerIds):
        ids = graph.ids.array()
        arrays["ids"] = ids.astype(np.uint64 if ids.dtype.kind == "u" else np.int64, copy=False)
    return {name: edge_array(array) for name, array in arrays.items()}


def raw_bytes(array: EdgeArray) -> int:
    return len(array) * array.dtype.itemsize


def string_arrays(strings: Any) -> dict[str, Array]:
    """Offsets from 0 and UTF-8 bytes of an Arrow large_string array, which may be a slice of a longer one."""
    if not len(strings):
        return {"id_offsets": np.zeros(1, np.int64), "id_bytes": np.zeros(0, np.uint8)}
    _, offsets_buffer, text_buffer = strings.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    text = np.frombuffer(text_buffer or b"", np.uint8)[first:last]
    return {"id_offsets": offsets - first if first else offsets, "id_bytes": text}


def ready(name: str, array: EdgeArray, codec: str, offsets: Array | None, pool: ThreadPool) -> EdgeArray:
    """Encode a raw `array` in the codec of its blocks. An array in another codec stays: `blocks_of` decodes it."""
    if array.codec != RAW or name not in KIND_OF:
        return array
    return encoded(decoded(array, KIND_OF[name]), codec, KIND_OF[name], pool, offsets)


def blocks_of(
    name: str, array: EdgeArray, codec: str, block_bytes: int, offsets: Array | None, pool: ThreadPool
) -> tuple[tuple[str, int], Iterable[Array]]:
    """The blocks of `array`, and their encoding. An array that could not be encoded is stored raw."""
    if array.codec not in (RAW, codec):
        return RAW_1, decoded_blocks(array, KIND_OF[name], block_bytes, offsets, pool)
    stored_as, cut_blocks = STORED[array.codec]
    return stored_as, cut_blocks(array, block_bytes, offsets)


def raw_blocks(array: Array, block_bytes: int) -> Iterator[Array]:
    raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).view(np.uint8)
    return (raw[start : start + block_bytes] for start in range(0, len(raw), block_bytes))


def packed_blocks(packed: Packed, block_bytes: int, offsets: Array | None) -> Iterator[Array]:
    return cut(packed, block_bytes // packed.dtype.itemsize, offsets)


STORED: dict[str, tuple[tuple[str, int], Callable[[Any, int, Array | None], Iterator[Array]]]] = {
    RAW: (RAW_1, lambda array, block_bytes, offsets: raw_blocks(array.data, block_bytes)),
    PACKED: (PACKED_1, packed_blocks),
}
"""By codec: the encoding of blocks, and ``blocks(array, block_bytes, offsets)``, which yields each block's bytes."""


def decoded_blocks(
    array: EdgeArray, kind: str, block_bytes: int, offsets: Array | None, pool: ThreadPool
) -> Iterator[Array]:
    """Raw blocks of an array in another codec, decoded a chunk at a time."""
    chunk = blocks_of_whole_runs(block_bytes, array.dtype.itemsize) * block_bytes // array.dtype.itemsize
    for first in range(0, len(array), chunk):
        yield from raw_blocks(decoded_slice(array, kind, first, first + chunk, pool, offsets), block_bytes)
