"""The concrete types that a program's types stand for: dtypes of numbers and of structures of them."""

from __future__ import annotations

import keyword
import threading
from collections import namedtuple
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import ProgramError
from .fields import NUMBERS, VertexId, means
from .monoids import largest, smallest
from .vertex_program import VertexProgram

DType = np.dtype[Any]

ALLOWED = tuple(map(np.dtype, (np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64)))


def dtype_of(program: VertexProgram, name: str, edge: DType | None) -> DType:
    """The dtype that the program's attribute `name`, ``"value"`` or ``"accumulator"``, stands for."""
    kind, spec = type(program), getattr(program, name)
    if spec is None:
        raise ProgramError(f"{kind.__name__}.{name} is not set; give a dtype, e.g. numpy.float32")
    if callable(spec) and not isinstance(spec, type):
        try:
            spec = spec(edge)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise ProgramError(f"{kind.__name__}.{name}(edge={edge}) failed: {problem}") from error
    return concrete(kind, name, spec, None)


def concrete(kind: type[VertexProgram], name: str, spec: Any, real: DType | None, vertex: Any = np.int64) -> DType:
    """The scalar dtype or aligned structure that a type `spec` stands for.

    Parameters
    ----------
    kind, name
        The program, and which of its attributes `spec` is: for messages.
    real : dtype or None
        The dtype that ``float`` stands for.
    vertex : dtype
        The dtype that `VertexId` stands for.
    """
    if isinstance(spec, type) or not isinstance(spec, Mapping):
        return scalar(kind, name, spec, real, vertex)
    if not are_field_names(tuple(spec)):
        raise ProgramError(
            f"{kind.__name__}.{name} has fields {list(spec)}; a field's name is an identifier without a leading "
            "underscore"
        )
    return structure(tuple((key, scalar(kind, name, item, real, vertex)) for key, item in spec.items()))


def scalar(kind: type[VertexProgram], name: str, item: Any, real: DType | None, vertex: Any) -> DType:
    """The dtype that the type `item` of a number stands for; the others as for `concrete`."""
    try:
        dtype = allowed(item, real, vertex)
    except TypeError:  # what has no hash is no type
        dtype = None
    if dtype is None:
        raise ProgramError(
            f"{kind.__name__}.{name} has type {item!r}; allowed are {', '.join(d.name for d in ALLOWED)}, or a "
            "dict of a few names to them"
        )
    return dtype


@lru_cache(256)
def allowed(item: Any, real: DType | None, vertex: Any) -> DType | None:
    """The dtype that `item` stands for, kept, because each run asks for the same few; None if it is not allowed."""
    if item is float and real is not None:
        return real
    try:
        dtype: DType = np.dtype(vertex if means(item, VertexId) else item)
    except (TypeError, ValueError):
        return None
    return dtype if item is not None and dtype in ALLOWED else None


@lru_cache(256)
def structure(fields: tuple[tuple[str, DType], ...]) -> DType:
    """The aligned structure with these fields. NumPy takes microseconds to make one, and to hash it the first time."""
    return np.dtype(list(fields), align=True)


@lru_cache(256)
def are_field_names(names: tuple[Any, ...]) -> bool:
    """Whether `names` may name the fields of a structure: there is one, and each may."""
    return bool(names) and all(map(is_field_name, names))


def is_field_name(name: Any) -> bool:
    """Whether `name` may name a field: an identifier that is no keyword and has no leading underscore."""
    return isinstance(name, str) and name.isidentifier() and not (keyword.iskeyword(name) or name.startswith("_"))


def scalars(dtype: DType) -> list[DType]:
    """The scalar types in a scalar dtype or structure."""
    return [dtype[name] for name in dtype.names] if dtype.names else [dtype]


@lru_cache(256)
def real_type(*dtypes: DType) -> DType | None:
    """The widest float type in `dtypes`; None if they have none."""
    floats = [item for dtype in dtypes for item in scalars(dtype) if item.kind == "f"]
    return max(floats, key=lambda item: item.itemsize) if floats else None


def holds(dtype: DType, value: Any) -> bool:
    """Whether `value` is a number in the range of the scalar `dtype`; a float may be rounded, an integer not."""
    if not isinstance(value, NUMBERS):
        return False
    value = value.item() if isinstance(value, np.generic) else value
    size: Any = abs(value)
    if dtype.kind == "f":
        return bool(value != value or size == np.inf or size <= float(np.finfo(dtype).max))
    return bool(smallest(dtype) <= value <= largest(dtype) and int(value) == value)


_records: dict[tuple[str, ...], Any] = {}
"""The classes that `record_class` has made, by their fields."""
_making_records = threading.Lock()


def record_class(names: tuple[str, ...]) -> Any:
    """The named tuple with these fields, as which functions see a structure. The same names give the same class."""
    with _making_records:
        if names not in _records:
            _records[names] = namedtuple("Record", names)
        return _records[names]
