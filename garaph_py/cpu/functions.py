"""A bound program's functions behind fixed signatures: what each asks for by name is passed, results are converted.

The kernels of this package are written once against these; a function the program leaves out becomes one that the
compiler removes.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..native import struct_array
from ..native.kernel import kind_of
from ..program import BoundProgram
from ..program.bind import record_class, scalars
from ..program.check import check_types
from ..program.real import with_real
from ..program.signatures import ARGUMENTS, TAKES_VERTEX_DATA

DType = np.dtype[Any]


@dataclass(frozen=True)
class Functions:
    """Plain functions for `Kernel`: the program's own, and access to its arrays.

    ``view_*(pointer)`` makes an array of a pointer, ``load_*(array, i)`` reads an element as a number or named tuple,
    ``store_*(array, i, x)`` writes one.
    """

    init: Any
    gather: Any
    apply: Any
    activate: Any
    frontier: Any
    prepare: Any
    aggregate: Any
    done: Any
    priority: Any
    result: Any
    sum: Any
    identity: Any
    add_total: Any
    no_total: Any
    count: Any
    edge: Any
    parameters: Access
    data: Access
    value: Access
    accumulator: Access
    total: Access
    partial: Access
    report: Access


@dataclass(frozen=True)
class Access:
    """How kernels reach arrays of one dtype, and how their signatures name a pointer to it."""

    pointer: str
    view: Any
    load: Any
    store: Any


def define(source: str, **names: Any) -> Any:
    """The one function that `source` defines, with `names` as its globals."""
    namespace: dict[str, Any] = dict(names)
    exec(compile(source, f"<garaph_py.cpu.functions: {source.split('(')[0]}>", "exec"), namespace)
    return next(value for key, value in namespace.items() if key not in names and isinstance(value, types.FunctionType))


def access(dtype: DType) -> Access:
    pointer = kind_of(dtype)
    if not dtype.names:
        return Access(
            pointer,
            define("def view(pointer): return pointer"),
            define("def load(array, i): return array[i]"),
            define("def store(array, i, x): array[i] = x"),
        )
    record = record_class(dtype.names)
    fields = ", ".join(f"item.{name}" for name in dtype.names)
    stores = "\n".join(f"    array[i].{name} = x[{k}]" for k, name in enumerate(dtype.names))
    return Access(
        pointer,
        define("def view(pointer): return struct_array(pointer, dtype)", struct_array=struct_array, dtype=dtype),
        define(f"def load(array, i):\n    item = array[i]\n    return Record({fields})", Record=record),
        define(f"def store(array, i, x):\n{stores}"),
    )


def no_access() -> Access:
    """For arrays the program does not have: a null pointer nobody follows."""
    return Access(
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
        If one cannot be compiled, or not as the program promises.
    """
    check_types(bound)
    own = bound.functions
    data = no_access() if bound.vertex_data is None else access(bound.vertex_data.dtype)
    partial = partial_dtype(bound.total)

    add = sum_function(bound)

    def call(name: str, returns: DType | None = None, default: str | None = None) -> Any:
        offered = ("self", *ARGUMENTS[name], *(("data",) if name in TAKES_VERTEX_DATA else ()))
        head = f"def {name}({', '.join(offered)}):"
        if name not in bound.arguments:
            return define(f"{head} return {default}", sum=add)
        asked = ", ".join(["self", *(f"data.{a}" if a in bound.vertex_fields else a for a in bound.arguments[name])])
        function = with_real(own[name], bound.real)
        if returns is None:
            return define(f"{head} return True if function({asked}) else False", function=function)
        return convert(f"{head}\n    r = function({asked})", returns, function=function)

    names = bound.accumulator.names
    return Functions(
        init=call("init", bound.value),
        gather=call("gather", bound.accumulator),
        apply=call("apply", bound.value, default="sum(old, acc)"),
        activate=call("activate", default=differs(bound.value)),
        frontier=call("frontier", default="True"),
        prepare=call("prepare", bound.value, default="value"),
        aggregate=call("aggregate", partial, default="0"),
        done=call("done", default="False"),
        priority=call("priority", bound.value, default="value"),
        result=call("result", bound.reports, default="value"),
        sum=add,
        identity=define(
            f"def identity(self): return Record({', '.join(f'self.identity_{name}' for name in names)})",
            Record=record_class(names),
        )
        if names
        else define("def identity(self): return self.identity"),
        add_total=fieldwise("add_total", partial, [define("def plus(a, b): return a + b")] * len(scalars(partial))),
        no_total=convert("def no_total():", partial, parts=["0"] * len(scalars(partial))),
        count=define("def count(x): return cast(x)", cast=(bound.real or np.dtype(np.int64)).type),
        edge=edge_function(bound),
        parameters=access(bound.parameters.dtype),
        data=data,
        value=access(bound.value),
        accumulator=access(bound.accumulator),
        total=no_access() if bound.total is None else access(bound.total),
        partial=access(partial),
        report=access(bound.reports),
    )  # fmt: skip


def partial_dtype(total: DType | None) -> DType:
    """Partial sums of `aggregate` are kept in 64 bits, whatever the program's float type."""
    wide = {"f": np.float64, "i": np.int64, "u": np.int64}
    if total is None:
        return np.dtype(np.int64)
    if not total.names:
        return np.dtype(wide[total.kind])
    return np.dtype([(name, wide[total[name].kind]) for name in total.names])


def differs(dtype: DType) -> str:
    return " or ".join(f"new.{name} != old.{name}" for name in dtype.names) if dtype.names else "new != old"


def convert(body: str, dtype: DType, parts: list[str] | None = None, **names: Any) -> Any:
    """A function whose local ``r`` (or `parts`) is returned as a number or named tuple of `dtype`."""
    casts = {f"cast{k}": item.type for k, item in enumerate(scalars(dtype))}
    if not dtype.names:
        return define(f"{body}\n    return cast0({parts[0] if parts else 'r'})", **names, **casts)
    fields = ", ".join(f"cast{k}({parts[k] if parts else f'r[{k}]'})" for k in range(len(casts)))
    return define(f"{body}\n    return Record({fields})", **names, **casts, Record=record_class(dtype.names))


def fieldwise(name: str, dtype: DType, operations: list[Callable[..., Any]]) -> Any:
    named = {f"operation{k}": operation for k, operation in enumerate(operations)}
    sides = [(f"a[{k}]", f"b[{k}]") if dtype.names else ("a", "b") for k in range(len(operations))]
    parts = [f"operation{k}({left}, {right})" for k, (left, right) in enumerate(sides)]
    return convert(f"def {name}(a, b):", dtype, parts, **named)


def sum_function(bound: BoundProgram) -> Any:
    monoid = bound.program.sum
    if monoid.is_named:
        return fieldwise("sum", bound.accumulator, [monoid.function] * len(scalars(bound.accumulator)))
    function = with_real(bound.functions["sum"], bound.real)
    return convert("def sum(a, b):\n    r = function(a, b)", bound.accumulator, function=function)


def edge_function(bound: BoundProgram) -> Any:
    """The edge's value as the program sees it; 1 where the graph has none."""
    number = (bound.real or np.dtype(np.int64)).type
    if bound.edge is None:
        return define("def edge(values, i): return number(1)", number=number)
    if "edge" not in bound.arguments["gather"]:
        return define("def edge(values, i): return 0")
    return define("def edge(values, i): return number(values[i])", number=number)
