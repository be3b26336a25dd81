"""A program that gathers over both directions apart, as programs over one direction each, whose runs take turns.

The runs hand over numbers for each vertex: the fields of its value, those of its sum over out-edges, and its
`PerVertex` parameters. All are of the program's number type, as parameters are, so that what one run reports is the
vertex data of the next one as it is, on the host and on a GPU. `runtime/directions.py` carries out the runs.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import ProgramError
from ..graph import Graph
from .bind import BoundProgram, bind_any, check_identity, parameters
from .check import check_types
from .define import define
from .dtypes import record_class, scalars
from .fields import hints
from .known import Known
from .monoids import Monoid
from .orientation import turned
from .signatures import ACC_OUT, GATHER_OUT, own_sum
from .vertex_program import VertexProgram

DType = np.dtype[Any]
Functions = dict[str, tuple[tuple[str, ...], Any]]
"""Functions by name, with the arguments that each asks for."""

HELD, SUMMED = "held", "summed"
"""The first parts of the names under which runs hand over values, and sums over out-edges."""
LATER = ("apply", "aggregate", "result")
"""The functions that may ask for `PerVertex` parameters after the first values have been made."""


@dataclass(frozen=True)
class BothBound:
    """A program with `gather_out`, bound to a graph.

    Attributes
    ----------
    whole : BoundProgram
        As its author wrote it; no executor runs it.
    out : BoundProgram
        Its sum over out-edges: the functions `gather_out` and `sum`, and the types that belong to them.
    graph, turned : Graph
        The graph, and that with every edge turned round.
    """

    whole: BoundProgram
    out: BoundProgram
    graph: Graph
    turned: Graph


@dataclass(frozen=True)
class Directions:
    """The programs whose runs take turns. The types of their vertex data say what each is handed.

    Attributes
    ----------
    first : BoundProgram
        Makes the first values, frontier and total. It does no iteration.
    sums : BoundProgram
        Sums over out-edges: it runs over the graph with every edge turned round.
    rest : BoundProgram
        Sums over in-edges, and does all else of an iteration.
    last : BoundProgram
        Reports the values. It does no iteration.
    """

    first: BoundProgram
    sums: BoundProgram
    rest: BoundProgram
    last: BoundProgram


def bind_directions(program: VertexProgram, graph: Graph, compiled: bool = True) -> BothBound:
    """Bind a program with `gather_out`.

    Raises
    ------
    ProgramError, ParameterError, GraphError
        As `bind` does, or if a number cannot be handed over as it is.
    """
    whole = bind_any(program, graph, compiled, fetches=not compiled)
    assert whole.accumulator_out is not None
    kind, asked = type(whole.program), whole.arguments[GATHER_OUT]
    summing: Monoid = whole.program.sum_out or whole.program.sum
    functions = {GATHER_OUT: whole.functions[GATHER_OUT]} | own_sum(kind, summing)
    other = turned(graph, valued="edge" in asked)
    summed = copy.copy(whole.program)
    object.__setattr__(summed, "sum", summing)  # `dataclasses.replace` would call `__post_init__` again
    out = replace(
        whole, program=summed, accumulator=whole.accumulator_out, total=None, edge=other.edge_dtype,
        vertex_fields=(), vertex_data=None, elsewhere={}, known=Known((), summing, {GATHER_OUT: asked}, functions, []),
    )  # fmt: skip
    check_identity(out)
    out = replace(out, parameters=parameters(out, graph.ids, hints(kind)))
    check_handed(whole, out)
    return BothBound(whole, out, graph, other)


def check_handed(whole: BoundProgram, out: BoundProgram) -> None:
    """Raise `ProgramError` if the program's number type does not hold all integers of values and sums."""
    number = whole.number
    for what, dtype in (("value", whole.value), ("accumulator_out", out.accumulator)):
        for item in scalars(dtype):
            if number.kind == "f" != item.kind and not (number.itemsize == 8 and item.itemsize == 4):
                raise ProgramError(
                    f"{whole.name}.{what} has integers of type {item}, which {number}, the program's float type, does "
                    "not hold; a program with gather_out may have numpy.int32 and numpy.uint32 beside numpy.float64"
                )


def directions(both: BothBound) -> Directions:
    """The programs that take turns.

    Raises
    ------
    ProgramError
        If a function of the author's cannot be compiled.
    """
    one = both.whole.known
    arguments = {name: asked for name, asked in one.arguments.items() if name != GATHER_OUT}
    functions = {name: function for name, function in one.functions.items() if name != GATHER_OUT}
    check_types(replace(both.whole, known=Known((), one.sum, arguments, functions, [])))
    check_types(both.out)
    made = Maker(both)
    return Directions(made.first(), made.sums(), made.rest(), made.last())


class Maker:
    """Makes the programs: the author's functions, and functions around them that take and hand over numbers."""

    def __init__(self, both: BothBound) -> None:
        self._whole, self._out, number = both.whole, both.out, both.whole.number
        own, later = both.whole.vertex_fields, {name for each in LATER for name in both.whole.arguments.get(each, ())}
        self._kept = [name for name in own if name in later]
        self._held = names_of(HELD, self._whole.value, own)
        self._summed = names_of(SUMMED, self._out.accumulator, own)
        self._before = np.dtype([(name, number) for name in (*self._kept, *self._held)])
        self._after = np.dtype([*self._before.descr, *((name, number) for name in self._summed)])
        self._start: Functions = {"init": defined("init", self._held, *rebuilt(self._whole.value, self._held))}
        self._stay: Functions = {"apply": defined("apply", ["old"], "old", {})}

    def first(self) -> BoundProgram:
        own = self._whole
        made = self._handing_over(self._of_author("init", "gather", "frontier", "aggregate") | self._stay)
        return replace(made, vertex_fields=own.vertex_fields, vertex_data=own.vertex_data, elsewhere=own.elsewhere)

    def last(self) -> BoundProgram:
        made = with_functions(self._whole, self._of_author("gather", "result") | self._stay | self._start, self._before)
        return replace(made, total=None)

    def rest(self) -> BoundProgram:
        asked, function = self._whole.arguments["apply"], self._whole.functions["apply"]
        summed, names = rebuilt(self._out.accumulator, self._summed)
        given = [name for item in asked for name in (self._summed if item == ACC_OUT else [item])]
        text = call({ACC_OUT: summed}, asked)
        apply: Functions = {"apply": defined("apply", given, text, names | {"function": function})}
        functions = self._of_author("gather", "activate", "aggregate") | self._start | apply
        return self._handing_over(functions, self._after)

    def sums(self) -> BoundProgram:
        asked, out = self._out.arguments[GATHER_OUT], self._out
        names = {"function": out.functions[GATHER_OUT]}
        copied: Functions = {"apply": defined("apply", ["acc"], "acc", {})}
        value, parts = out.accumulator, fields_of("value", out.accumulator)
        if not {"edge", "dst"} & {*asked}:  # what a vertex contributes depends on it alone, and is its value here
            src, more = rebuilt(self._whole.value, self._held)
            given = [*self._held, *(["id"] if "src_id" in asked else [])]
            functions = copied | {
                "init": defined("init", given, call({"src": src, "src_id": "id"}, asked), names | more),
                "gather": defined("gather", ["src"], "src", {}),
            }
        elif self._whole.value == out.accumulator:
            functions = copied | self._start | {"gather": (asked, out.functions[GATHER_OUT])}
        else:
            value, parts = self._side_by_side(), [f"value.{name}" for name in self._summed]
            functions = self._beside_sums(asked, names)
        handed = [*self._kept, *self._held]
        functions["result"] = defined("result", [*handed, "value"], listed([*handed, *parts]), {})
        return replace(with_functions(out, functions, self._before), value=value, reports=self._after)

    def _side_by_side(self) -> DType:
        """The type of an author's value and of a sum over out-edges together."""
        kinds = [*scalars(self._whole.value), *scalars(self._out.accumulator)]
        return np.dtype(list(zip([*self._held, *self._summed], kinds, strict=True)), align=True)

    def _beside_sums(self, asked: tuple[str, ...], names: dict[str, Any]) -> Functions:
        """Functions whose values have the author's value and the sum."""
        own = {item: rebuilt(self._whole.value, [f"{item}.{name}" for name in self._held]) for item in ("src", "dst")}
        texts, more = {item: text for item, (text, _) in own.items()}, own["src"][1]
        kept = [f"old.{name}" for name in self._held]
        return {
            "init": defined("init", self._held, listed([*self._held, *("0" for _ in self._summed)]), {}),
            "gather": defined("gather", asked, call(texts, asked), names | more),
            "apply": defined("apply", ["old", "acc"], listed([*kept, *fields_of("acc", self._out.accumulator)]), {}),
        }

    def _of_author(self, *names: str) -> Functions:
        """The author's functions of these names."""
        arguments, functions = self._whole.arguments, self._whole.functions
        return {name: (arguments[name], functions[name]) for name in names if name in arguments}

    def _handing_over(self, functions: Functions, data: DType | None = None) -> BoundProgram:
        """A program with these functions that reports what it hands over."""
        value = self._whole.value
        if not self._kept and all(kind == self._before[0] for kind in scalars(value)):
            return replace(with_functions(self._whole, functions, data), reports=value)  # the values as they are
        text = listed([*self._kept, *fields_of("value", value)])
        made = with_functions(
            self._whole, functions | {"result": defined("result", [*self._kept, "value"], text, {})}, data
        )
        return replace(made, reports=self._before)


def with_functions(bound: BoundProgram, functions: Functions, data: DType | None) -> BoundProgram:
    """The program with these functions instead of its own, and with vertex data of this type."""
    summing = bound.program.sum
    own = {name: function for name, (_, function) in functions.items()} | own_sum(type(bound.program), summing)
    arguments = {name: asked for name, (asked, _) in functions.items()}
    return replace(
        bound, accumulator_out=None, vertex_fields=() if data is None else data.names or (), elsewhere={},
        vertex_data=None if data is None else np.empty(0, data), known=Known((), summing, arguments, own, []),
    )  # fmt: skip


def names_of(first: str, dtype: DType, others: Sequence[str]) -> list[str]:
    """Names for the fields of a value or a sum that no `PerVertex` parameter has."""
    while any(name.startswith(first) for name in others):
        first += "_"
    return [f"{first}_{name}" for name in dtype.names] if dtype.names else [first]


def rebuilt(dtype: DType, names: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The expression that makes a number or a named tuple of type `dtype` of its parts, and what it refers to."""
    casts = {f"cast{k}": kind.type for k, kind in enumerate(scalars(dtype))}
    text = ", ".join(f"{cast}({name})" for cast, name in zip(casts, names, strict=True))
    return (f"Record({text})", casts | {"Record": record_class(dtype.names)}) if dtype.names else (text, casts)


def fields_of(name: str, dtype: DType) -> list[str]:
    """The expressions of the numbers in the variable `name`, which is of type `dtype`."""
    return [f"{name}.{field}" for field in dtype.names] if dtype.names else [name]


def listed(parts: Sequence[str]) -> str:
    """The expression of a tuple."""
    return f"({', '.join(parts)},)"


def call(instead: dict[str, str], asked: Sequence[str]) -> str:
    """The call of a function that asks for these arguments, and gets expressions instead of some of them."""
    return f"function({', '.join(['self', *(instead.get(item, item) for item in asked)])})"


def defined(name: str, asked: Sequence[str], text: str, names: dict[str, Any]) -> tuple[tuple[str, ...], Any]:
    """A function of a program that returns what an expression says, and what it asks for."""
    return tuple(asked), define(f"def {name}({', '.join(['self', *asked])}): return {text}", **names)
