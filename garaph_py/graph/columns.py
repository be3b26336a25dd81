"""Columns of vertex ids as users give them: each becomes an array of integers, or an Arrow array of strings."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError

Array = npt.NDArray[Any]

INTEGERS = (int, np.integer, np.bool_)
"""The types of an element that is an integer; NumPy's are not subclasses of Python's."""
INT64 = np.iinfo(np.int64)
WANTED = "give a 1-d column of integers or strings, not of both"


def id_columns(**columns: Any) -> list[Any]:
    """Columns of ids, all as NumPy arrays of integers or all as Arrow arrays of strings; the keywords name them.

    An integer and a string never become the same id, and nothing else becomes a string.

    Raises
    ------
    GraphError
        If an element is neither an integer of 64 bits nor a string, or if both occur. The message names it.
    """
    found = {name: id_column(name, column) for name, column in columns.items()}
    filled = {name: isinstance(column, np.ndarray) for name, column in found.items() if len(column)}
    if len(set(filled.values())) > 1:
        kinds = " but ".join(f"{name} holds {'integers' if whole else 'strings'}" for name, whole in filled.items())
        raise GraphError(f"{kinds}, and an integer and a string are never the same vertex; convert one of the columns")
    if all(filled.values()):
        return [column if len(column) else np.zeros(0, np.int64) for column in found.values()]
    import pyarrow as pa

    return [column if len(column) else pa.nulls(0, pa.large_string()) for column in found.values()]


def id_column(name: str, column: Any) -> Any:
    """One of the columns of `id_columns`."""
    if type(column).__module__.partition(".")[0] == "pyarrow":  # so that Arrow need not be imported
        return arrow_column(name, column)
    if isinstance(column, (list, tuple)):  # NumPy would make strings or floats of mixed elements
        return listed_column(name, list(column))
    if (dtype := getattr(column, "dtype", None)) is not None and not isinstance(dtype, np.dtype):
        import pyarrow as pa  # strings, categories and numbers of pandas or Polars, which NumPy would make objects

        with contextlib.suppress(pa.ArrowException, TypeError):
            streamed = hasattr(column, "__arrow_c_stream__")
            return arrow_column(name, pa.chunked_array(column) if streamed else pa.array(column))
    array = np.asarray(column)
    if not array.ndim:
        raise GraphError(f"{name} is not a column, but {type(column).__name__}; {WANTED}")
    if array.ndim == 1 and array.dtype.kind in "iu":
        return array
    if array.ndim != 1 or (array.dtype.kind not in "bOUT" and array.size):
        problem, advice = f"{name} is {array.ndim}-d {array.dtype}", WANTED
        if array.ndim == 1 and array.dtype.kind == "f":
            problem += ", which a column with missing values becomes"
            advice = "drop these rows, and call astype('int64') if all others are whole"
        raise GraphError(f"{problem}; {advice}")
    return array.astype(np.int64) if array.dtype.kind == "b" else listed_column(name, array.tolist())


def arrow_column(name: str, column: Any) -> Any:
    """A column that is an Arrow array, chunked or not."""
    import pyarrow as pa

    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        raise GraphError(f"{name} is not a column, but {type(column).__name__}; {WANTED}")
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = pa.large_string() if is_string(kind.value_type) else kind.value_type
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        column = pa.chunked_array([each.dictionary.cast(kind).take(each.indices) for each in chunks], kind)
    if column.null_count:
        raise missing(name, column.is_null().to_pylist().index(True), None)
    if pa.types.is_integer(kind):
        return numbers_of(column)
    if not is_string(kind):
        raise GraphError(f"{name} is an Arrow array of {kind}; {WANTED}")
    return column


def is_string(kind: Any) -> bool:
    """Whether a type of Arrow is one of its types of strings."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def encoded(column: Any) -> Any:
    """An Arrow array of strings, chunked or not, as dictionaries: each chunk holds its different strings once."""
    import pyarrow as pa

    kind = pa.dictionary(pa.int32(), pa.large_string())
    chunks = getattr(column, "chunks", [column])
    coded = [chunk if chunk.type == kind else chunk.cast(kind.value_type).dictionary_encode() for chunk in chunks]
    return pa.chunked_array(coded, kind)


def numbers_of(column: Any) -> Array:
    """An Arrow array of numbers, chunked or not, without nulls, as a NumPy array; it may be read-only.

    Arrow's own ``to_numpy`` imports pandas, which takes half a second and 50 MiB.
    """
    chunks = getattr(column, "chunks", [column])
    arrays = [np.from_dlpack(chunk) for chunk in chunks]
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.zeros(0, column.type.to_pandas_dtype())


def listed_column(name: str, items: list[Any]) -> Any:
    """A column whose elements are Python objects of any type."""
    kinds = set(map(type, items))
    if not all(issubclass(kind, INTEGERS) for kind in kinds) and not all(issubclass(kind, str) for kind in kinds):
        raise odd_element(name, items)
    if kinds and issubclass(kinds.pop(), str):
        import pyarrow as pa

        try:
            return pa.array(items, pa.large_string())
        except UnicodeEncodeError as error:
            raise GraphError(
                f"{name} holds {error.object!r:.40}, which is not valid Unicode; decode it otherwise"
            ) from None
    low, high = int(min(items, default=0)), int(max(items, default=0))
    if INT64.min <= low and high <= INT64.max:
        return np.array(items, np.int64)
    if low >= 0 and high < 1 << 64:
        return np.array(items, np.uint64)
    if INT64.min <= low and high < 1 << 64:
        raise mixed_signs(low, high)
    place = next(i for i, item in enumerate(items) if not INT64.min <= item < 1 << 64)
    bits = int(items[place]).bit_length() + (items[place] < 0)
    raise GraphError(f"{name}[{place}] is an integer of {bits} bits, more than 64; give all ids as strings")


def odd_element(name: str, items: list[Any]) -> GraphError:
    """The error for the first of `items` that is no id, or not of the kind of the first."""
    first = str if isinstance(items[0], str) else INTEGERS
    place = next(i for i, item in enumerate(items) if not isinstance(item, first))
    item = items[place]
    if item is None or type(item).__name__ in ("NAType", "NaTType") or (isinstance(item, float) and item != item):
        return missing(name, place, item)
    beside = f", but {name}[0] is {items[0]!r:.40}" if place else ""
    return GraphError(f"{name}[{place}] is {item!r:.40} ({type(item).__name__}){beside}; {WANTED}")


def missing(name: str, place: int, item: Any) -> GraphError:
    return GraphError(f"{name}[{place}] is missing ({item}); every edge needs a source and a target: drop such rows")


def mixed_signs(low: int, high: int) -> GraphError:
    return GraphError(f"ids run from {low} to {high}: no 64-bit integer type holds both; give them as strings")
