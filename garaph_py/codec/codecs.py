"""The codecs of edge arrays: how each one encodes and decodes. A new codec is one more entry here.

Other modules have tables of their own, keyed by the same names: ``READERS`` in executor/cpu/edges.py, ``LAYOUTS`` in
executor/gpu/edges.py, ``READERS`` in storage/readers.py (arrays on disk), and ``STORED`` in storage/encode.py (blocks
to write).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..native.threads import ThreadPool
from .arrays import PACKED, RAW, EdgeArray, RawArray
from .format import Packed
from .pack import pack, unpack

Array = npt.NDArray[Any]


class Limits(NamedTuple):
    """No element of an array is less than `least` or more than `most`; both are NaN if any element is NaN.

    `least` is an element. `most` is one too if the array is raw; a packed array would have to be decoded to find it.
    """

    least: Any
    most: Any


@dataclass(frozen=True)
class Codec:
    """The encoder and the decoder of a codec.

    Attributes
    ----------
    encode : callable
        ``encode(array, kind, pool, offsets)`` encodes a NumPy array as an `EdgeArray`. It returns None if the codec
        cannot hold the elements.
    decode : callable
        ``decode(array, kind, pool, offsets, start)`` returns the NumPy array.
    limits : callable
        ``limits(array)`` returns the `Limits` of an array of kind ``"numbers"`` that is in memory and not empty.
    """

    encode: Callable[[Array, str, ThreadPool, Array | None], EdgeArray | None]
    decode: Callable[[Any, str, ThreadPool | None, Array | None, int], Array]
    limits: Callable[[Any], Limits]


def wrap(array: Array, kind: str, pool: ThreadPool, offsets: Array | None) -> EdgeArray:
    """The encoder of `RAW`."""
    return RawArray(array)


def unwrap(array: RawArray, kind: str, pool: ThreadPool | None, offsets: Array | None, start: int) -> Array:
    """The decoder of `RAW`: nothing is copied."""
    return array.data


def raw_limits(array: RawArray) -> Limits:
    """The limits of raw elements."""
    return Limits(array.data.min(), array.data.max())


def packed_limits(array: Packed) -> Limits:
    """The limits of packed elements."""
    return limits_of_records(array.records, array.dtype)


def limits_of_records(records: Array, dtype: np.dtype[Any]) -> Limits:
    """The limits of packed elements, by their records: an element is its run's base plus at most so many bits."""
    bases, bits = records["base"], int(records["widths"].max())
    most = min(int(bases.max()) + 2**bits - 1, np.iinfo(dtype).max)
    return Limits(dtype.type(bases.min()), dtype.type(most))


CODECS = {RAW: Codec(wrap, unwrap, raw_limits), PACKED: Codec(pack, unpack, packed_limits)}
ENCODINGS = tuple(CODECS)
PIECE = 1 << 18
"""Edge values that a thread reads at a time to find their limits. They take one or two MiB, which fits a core's
second-level cache, and consist of whole blocks on disk, which take 1 MiB."""


def edge_array(array: Array | EdgeArray) -> EdgeArray:
    """`array` as an `EdgeArray`: a NumPy array becomes a raw one, without a copy."""
    return RawArray(array) if isinstance(array, np.ndarray) else array


def encoded(array: Array, codec: str, kind: str, pool: ThreadPool, offsets: Array | None = None) -> EdgeArray:
    """Encode `array` in a codec; it stays raw if the codec cannot hold its elements.

    Parameters
    ----------
    array : ndarray
    codec : {"raw", "packed"}
    kind : {"lists", "ascending", "numbers"}
        The kind of elements: see `codec.format.LISTS`.
    pool : ThreadPool
    offsets : ndarray of int64, optional
        For ``"lists"``: the element at which each list begins, and the end of the last list.
    """
    found = CODECS[codec].encode(array, kind, pool, offsets)
    return RawArray(array) if found is None else found


def in_memory(array: EdgeArray) -> EdgeArray:
    """Return `array` if it is in memory.

    Raises
    ------
    GraphError
        If it is on disk.
    """
    if array.on_disk:
        raise GraphError(
            "the graph's edges stay on disk, but this needs all of them in memory; open the graph with more memory "
            "(memory, --memory), or do without"
        )
    return array


def decoded(
    array: EdgeArray, kind: str, pool: ThreadPool | None = None, offsets: Array | None = None, start: int = 0
) -> Array:
    """The elements of `array` as a NumPy array; a raw array is not copied.

    Parameters
    ----------
    array : EdgeArray
    kind : {"lists", "ascending", "numbers"}
    pool : ThreadPool, optional
        By default the codec starts threads of its own, if it needs some.
    offsets : ndarray of int64, optional
        For ``"lists"``: as for `encoded`.
    start : int
        If `array` is a slice of a longer array, to which `offsets` belong: the index of its first element there.

    Raises
    ------
    GraphError
        If the array is on disk, or there is not enough memory.
    """
    return CODECS[array.codec].decode(in_memory(array), kind, pool, offsets, start)


def decoded_slice(
    array: EdgeArray, kind: str, first: int, last: int, pool: ThreadPool, offsets: Array | None = None
) -> Array:
    """Elements [first, last) of an array in memory, or up to its end, as a NumPy array.

    `first` and `last` must be multiples of `unit`.
    """
    return decoded(array.slice(first, last), kind, pool, offsets, first)


def limits_of(array: EdgeArray, pool: ThreadPool) -> Limits:
    """The limits of an array of edge values, which must not be empty.

    An array that is not in memory may have them as its attribute `limits`; any other is read once, in parallel.
    """
    known: Limits | None = getattr(array, "limits", None)
    if known is not None:
        return known
    pieces = [(first, min(first + PIECE, len(array))) for first in range(0, len(array), PIECE)]

    def piece_limits(first: int, last: int) -> Limits:
        return CODECS[array.codec].limits(array.slice(first, last))

    return merged(pool.run(piece_limits, pieces))


def merged(found: Sequence[Limits]) -> Limits:
    """The limits of several arrays together."""
    return Limits(np.array([one.least for one in found]).min(), np.array([one.most for one in found]).max())
