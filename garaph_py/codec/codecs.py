"""The codecs of edge arrays: how each one encodes and decodes. A new codec is one more entry here.

The code that is compiled for a codec has tables of its own, keyed by the same names: ``READERS`` of
executor/cpu/edges.py, ``LAYOUTS`` of executor/gpu/edges.py, ``READERS`` of storage/reader.py (arrays on disk), and
``STORED`` of storage/encode.py (blocks to write).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..native.threads import ThreadPool
from .arrays import PACKED, RAW, EdgeArray, RawArray
from .pack import pack, unpack

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Codec:
    """How a codec encodes and decodes.

    Attributes
    ----------
    encode : callable
        ``encode(array, kind, pool, offsets)`` is the numpy array as an `EdgeArray`, or None if the codec cannot hold
        its elements.
    decode : callable
        ``decode(array, kind, pool, offsets, start)`` is the numpy array again.
    """

    encode: Callable[[Array, str, ThreadPool, Array | None], EdgeArray | None]
    decode: Callable[[Any, str, ThreadPool | None, Array | None, int], Array]


def wrap(array: Array, kind: str, pool: ThreadPool, offsets: Array | None) -> EdgeArray:
    """The encoder of `RAW`."""
    return RawArray(array)


def unwrap(array: RawArray, kind: str, pool: ThreadPool | None, offsets: Array | None, start: int) -> Array:
    """The decoder of `RAW`: nothing is copied."""
    return array.data


CODECS = {RAW: Codec(wrap, unwrap), PACKED: Codec(pack, unpack)}
ENCODINGS = tuple(CODECS)


def edge_array(array: Array | EdgeArray) -> EdgeArray:
    """`array` as an `EdgeArray`: a numpy array becomes a raw one, without a copy."""
    return RawArray(array) if isinstance(array, np.ndarray) else array


def encoded(array: Array, codec: str, kind: str, pool: ThreadPool, offsets: Array | None = None) -> EdgeArray:
    """`array` in a codec, or raw where this codec cannot hold its elements.

    Parameters
    ----------
    array : ndarray
    codec : {"raw", "packed"}
    kind : {"lists", "ascending", "numbers"}
        What the elements are: see `codec.format.LISTS`.
    pool : ThreadPool
    offsets : ndarray of int64, optional
        For ``"lists"``: where each list begins, and where the last one ends.
    """
    found = CODECS[codec].encode(array, kind, pool, offsets)
    return RawArray(array) if found is None else found


def in_memory(array: EdgeArray) -> EdgeArray:
    """`array`, which must not be on disk.

    Raises
    ------
    GraphError
        If it is.
    """
    if array.on_disk:
        raise GraphError(
            "the graph's edges stay on disk, and this takes all of them in memory; open it with more memory (memory, "
            "--memory), or do without"
        )
    return array


def decoded(
    array: EdgeArray, kind: str, pool: ThreadPool | None = None, offsets: Array | None = None, start: int = 0
) -> Array:
    """The elements of `array` as a numpy array; of a raw one without a copy.

    Parameters
    ----------
    array : EdgeArray
    kind : {"lists", "ascending", "numbers"}
    pool : ThreadPool, optional
        By default the codec starts threads of its own, if it needs some.
    offsets : ndarray of int64, optional
        For ``"lists"``: as for `encoded`.
    start : int
        If `array` is a slice of a longer one, to which `offsets` belong: the number of its first element there.

    Raises
    ------
    GraphError
        If the array is on disk, or there is not enough memory.
    """
    return CODECS[array.codec].decode(in_memory(array), kind, pool, offsets, start)


def decoded_slice(
    array: EdgeArray, kind: str, first: int, last: int, pool: ThreadPool, offsets: Array | None = None
) -> Array:
    """Elements [first, last) of an array in memory, or up to its end, as a numpy array; both multiples of `unit`."""
    return decoded(array.slice(first, last), kind, pool, offsets, first)
