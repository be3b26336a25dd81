"""A bound program's functions as the CPU's kernels call them, and access to arrays of the program's types."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ...native import prefetch_kept, struct_array
from ...native.kernel import kind_of
from ...program import BoundProgram
from ...program.define import define
from ...program.dtypes import record_class
from ...program.functions import Functions as PlainFunctions
from ...program.functions import functions as plain_functions
from ...program.functions import partial_dtype

DType = np.dtype[Any]


@dataclass(frozen=True)
class Access:
    """How kernels reach arrays of one dtype.

    Attributes
    ----------
    dtype : dtype or None
        None if the program does not have the array.
    pointer : str
        How a kernel's signature names a pointer to the dtype.
    view : callable
        ``view(pointer)`` makes an array from a pointer.
    load, store : callable
        ``load(array, i)`` reads an element as a number or named tuple; ``store(array, i, x)`` writes one.
    fetch : callable
        ``fetch(array, i)`` prefetches an element.
    """

    dtype: DType | None
    pointer: str
    view: Any
    load: Any
    store: Any
    fetch: Any = prefetch_kept


@dataclass(frozen=True)
class Functions(PlainFunctions):
    """The program's functions for kernels, and access to arrays.

    ``edge_at(values, i)`` reads an edge's value as the program sees it. `columns` has the functions of each column if
    values are rows.
    """

    edge_at: Any
    parameters: Access
    data: Access
    value: Access
    accumulator: Access
    total: Access
    partial: Access
    report: Access
    edge_values: Access
    columns: tuple[PlainFunctions, ...]


def access(dtype: DType) -> Access:
    pointer = kind_of(dtype)
    if not dtype.names:
        return Access(
            dtype,
            pointer,
            define("def view(pointer): return pointer"),
            define("def load(array, i): return array[i]"),
            define("def store(array, i, x): array[i] = x"),
        )
    record = record_class(dtype.names)
    fields = ", ".join(f"item.{name}" for name in dtype.names)
    stores = "\n".join(f"    array[i].{name} = x[{k}]" for k, name in enumerate(dtype.names))
    return Access(
        dtype,
        pointer,
        define("def view(pointer): return struct_array(pointer, dtype)", struct_array=struct_array, dtype=dtype),
        define(f"def load(array, i):\n    item = array[i]\n    return Record({fields})", Record=record),
        define(f"def store(array, i, x):\n{stores}"),
    )


def no_access() -> Access:
    """Access to an array that the program does not have: the pointer is null, and no kernel dereferences it."""
    return Access(
        None,
        "void*",
        define("def view(pointer): return pointer"),
        define("def load(array, i): return 0"),
        define("def store(array, i, x): return None"),
    )


def functions(bound: BoundProgram) -> Functions:
    """The functions of `bound`, ready for the kernels.

    Raises
    ------
    ProgramError
        If a function cannot be compiled, or does not have the property that the program declares.
    """
    plain = plain_functions(bound)
    reads = "values[i]" if bound.reads_edge_values else "0"
    if plain.send is None:
        send = "def send(self, source, edge, src_id): return gather(self, source, edge, source, src_id)"
        in_parts = {
            "send": define(send, gather=plain.gather),
            "of_source": define("def of_source(value): return value"),
        }
        plain = replace(plain, **in_parts)
    return Functions(
        **{field.name: getattr(plain, field.name) for field in fields(plain)},
        edge_at=define(f"def edge_at(values, i): return edge({reads})", edge=plain.edge),
        parameters=access(bound.parameters.dtype),
        data=no_access() if bound.vertex_data is None else access(bound.vertex_data.dtype),
        value=access(bound.value),
        accumulator=access(bound.accumulator),
        total=no_access() if bound.total is None else access(bound.total),
        partial=access(partial_dtype(bound.total)),
        report=access(bound.reports),
        edge_values=no_access() if bound.edge is None else access(bound.edge),
        columns=tuple(plain_functions(bound.columns[0]) for _ in bound.columns),
    )
