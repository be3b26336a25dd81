"""A bound program's functions behind fixed signatures: what each asks for by name is passed, results are converted.

The kernels of every processor are written once against these; a function the program leaves out becomes one that the
compiler removes.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bind import BoundProgram, record_class, scalars
from .check import check_types
from .real import with_real
from .signatures import ARGUMENTS, TAKES_VERTEX_DATA

DType = np.dtype[Any]


@dataclass(frozen=True)
class Functions:
    """Plain Python functions of numbers and named tuples, ready for a compiler.

    All take what they are offered in a fixed order (`offered`) and return a number or named tuple of the type that the
    program says. ``count(x)`` is a count or degree as the program sees it, ``edge(x)`` an edge's value.
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


def offered(name: str) -> tuple[str, ...]:
    """The arguments of the function `name`, in their fixed order; ``data`` is the vertex's `PerVertex` parameters."""
    return ("self", *ARGUMENTS[name], *(("data",) if name in TAKES_VERTEX_DATA else ()))


def define(source: str, **names: Any) -> Any:
    """The one function that `source` defines, with `names` as its globals."""
    namespace: dict[str, Any] = dict(names)
    exec(compile(source, f"<garaph_py.program.functions: {source.split('(')[0]}>", "exec"), namespace)
    return next(value for key, value in namespace.items() if key not in names and isinstance(value, types.FunctionType))


def functions(bound: BoundProgram) -> Functions:
    """The functions of `bound`, ready for the kernels.

    Raises
    ------
    ProgramError
        If one cannot be compiled, or not as the program promises.
    """
    check_types(bound)
    own = bound.functions
    partial = partial_dtype(bound.total)

    add = sum_function(bound)

    def call(name: str, returns: DType | None = None, default: str | None = None) -> Any:
        head = f"def {name}({', '.join(offered(name))}):"
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
    """An edge's stored value as the program sees it: 1 where the graph has none."""
    number = (bound.real or np.dtype(np.int64)).type
    if bound.edge is None:
        return define("def edge(x): return number(1)", number=number)
    if not bound.reads_edge_values:
        return define("def edge(x): return 0")
    return define("def edge(x): return number(x)", number=number)
