"""The functions of a program whose values are rows: each applies a column's function to all columns (`columns`).

They are made as text with an expression for each column, because compiled code sees a row as a named tuple.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .bind import BoundProgram
from .columns import SHARED, STOPPED
from .define import convert, define, fieldwise
from .dtypes import record_class, scalars
from .signatures import offered

DType = np.dtype[Any]

KINDS = dict.fromkeys(("src", "dst", "old", "new", "value"), "Value") | dict.fromkeys(("acc", "a", "b"), "Sum")
"""Of what type an argument is that is a row of values or of sums."""


def column_functions(bound: BoundProgram, plain: Any, partial: DType) -> Any:
    """The functions of `bound`, made from `plain`, the `Functions` of a column. `partial` is the type of `aggregate`'s
    partial sums."""
    rows = Rows(bound)
    plus = define("def plus(a, b): return a + b")
    return replace(
        plain,
        init=rows.function("init", plain.init, bound.value),
        gather=rows.function("gather", plain.gather, bound.accumulator),
        apply=rows.function("apply", plain.apply, bound.value, old="old" if bound.total is not None else None),
        activate=rows.any("activate", plain.activate),
        frontier=rows.any("frontier", plain.frontier),
        aggregate=plain.aggregate if bound.total is None else rows.aggregate(plain, partial),
        done=define(f"def done({', '.join(offered('done'))}): return False"),
        result=rows.function("result", plain.result, bound.reports),
        sum=rows.function("sum", plain.sum, bound.accumulator, ("a", "b")),
        identity=rows.function("identity", plain.identity, bound.accumulator, ("self",)),
        add_total=fieldwise("add_total", partial, [plus] * len(scalars(partial))),
        no_total=convert("def no_total():", partial, parts=["0"] * len(scalars(partial))),
        is_lost=define("def is_lost(value): return False"),
        of_source=None,
        send=None,
    )


class Rows:
    """Makes functions of rows from functions of one column."""

    def __init__(self, bound: BoundProgram) -> None:
        first = bound.columns[0]
        self._count, self._first = len(bound.columns), first
        self._types = {"Value": first.value, "Sum": first.accumulator, "Total": first.total}
        pairs = ((bound.value, first.value), (bound.accumulator, first.accumulator), (bound.reports, first.reports))
        self._returns_record = {row: bool(own.names) for row, own in pairs}
        self._fields = {"self": (first.parameters.dtype.names or (), bound.parameters.dtype.names or ())}
        if first.vertex_data is not None and bound.vertex_data is not None:
            self._fields["data"] = first.vertex_data.dtype.names or (), bound.vertex_data.dtype.names or ()
        self._records = {f"Record_{kind}": record_class(t.names) for kind, t in self._types.items() if t and t.names}
        self._records |= {f"Record_{name}": record_class(names) for name, (names, _) in self._fields.items()}

    def function(
        self, name: str, function: Any, returns: DType, arguments: tuple[str, ...] = (), old: str | None = None
    ) -> Any:
        """The function `name`, which returns a row of type `returns`. If `old` is the name of an argument, columns that
        have stopped keep that."""
        arguments = arguments or offered(name)
        lines, parts = [f"def {name}({', '.join(arguments)}):"], []
        for c in range(self._count):
            lines.append(f"    r{c} = {self._call('function', arguments, c)}")
            if old is not None:  # a choice without a branch, so that one instruction does it for several columns
                lines.append(f"    r{c} = {self._part(old, c)} if (total.{STOPPED} >> {c}) & 1 else r{c}")
            parts += self._parts(f"r{c}", len(scalars(returns)) // self._count, self._returns_record[returns])
        return convert("\n".join(lines), returns, parts, function=function, **self._records)

    def any(self, name: str, function: Any) -> Any:
        """The function `name`, which says whether that of any column holds."""
        arguments = offered(name)
        calls = " or ".join(self._call("function", arguments, c) for c in range(self._count))
        return define(f"def {name}({', '.join(arguments)}): return {calls}", function=function, **self._records)

    def aggregate(self, plain: Any, partial: DType) -> Any:
        """The function that returns the columns' own parts of the total, whether each has become active, and a 0 for
        `STOPPED`, which the loop sets."""
        arguments = offered("aggregate")
        lines, parts = [f"def aggregate({', '.join(arguments)}):"], []
        if self._first.total is not None:
            for c in range(self._count):
                lines.append(f"    r{c} = {self._call('own_total', arguments, c)}")
                parts += self._parts(f"r{c}", len(scalars(self._first.total)), bool(self._first.total.names))
        for c in range(self._count):  # Numba compiles no call with many arguments that contain a branch
            lines.append(f"    active{c} = 1 if {self._call('is_active', offered('activate'), c)} else 0")
            parts.append(f"active{c}")
        parts.append("0")
        called = {"own_total": plain.aggregate, "is_active": plain.activate}
        return convert("\n".join(lines), partial, parts, **called, **self._records)

    def _parts(self, item: str, count: int, is_record: bool) -> list[str]:
        return [f"{item}[{k}]" for k in range(count)] if is_record else [item]

    def _call(self, function: str, arguments: tuple[str, ...], column: int) -> str:
        return f"{function}({', '.join(self._part(item, column) for item in arguments)})"

    def _part(self, argument: str, column: int) -> str:
        """What a column's function gets for an argument of the row's function."""
        if argument in self._fields:
            own, names = self._fields[argument]
            found = (f"{SHARED}_{name}" if f"{SHARED}_{name}" in names else f"c{column}_{name}" for name in own)
            return f"Record_{argument}({', '.join(f'{argument}.{name}' for name in found)})"
        kind = "Total" if argument == "total" else KINDS.get(argument)
        if kind is None:
            return argument
        dtype = self._types[kind]
        if dtype is None:
            return "0"
        if not dtype.names:
            return f"{argument}[{column}]"
        width = len(dtype.names)
        items = ", ".join(f"{argument}[{k}]" for k in range(column * width, (column + 1) * width))
        return f"Record_{kind}({items})"
