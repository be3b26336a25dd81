"""A program on a part of a graph: its functions see the ids, sizes and degrees of the undivided graph.

Kernels pass on what the part's own graph has: its numbers of vertices, its in-degrees. Around the program's functions,
these are exchanged for those of the undivided graph, which are fields of the program's own records. The parameters have
the number of vertices, `N`, and the address of an array with the number that each vertex has there, `NUMBERS`. The data
of a vertex has its number and its in-degree, as far as a function asks for them. Out-degrees come from
`GraphArrays.degree_offsets`. Mirrors, which a GPU may update beside own vertices, add nothing to totals: the parameters
have the range of the own vertices, from `FIRST` up to `LAST`. So no kernel knows of parts.
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..graph import Graph
from ..graph.ids import VertexIds
from ..graph.place import Place
from ..native import u32_at
from .bind import BoundProgram, bind_as_is, parameters
from .define import define
from .fields import PerVertex, VertexId, hints
from .methods import call_method
from .signatures import offered
from .vertex_data import vertex_column
from .vertex_program import VertexProgram

N, NUMBERS, FIRST, LAST = "undivided_n", "undivided_numbers", "part_first", "part_last"
"""Fields of the parameters."""
OF_VERTEX = {"id": ("undivided_id", np.uint32), "in_degree": ("undivided_in_degree", np.int64)}
"""Fields of a vertex's data, and their types, by the argument for which they stand."""
BY_ARRAY = ("src_id", "parent")
"""The arguments that are numbers of vertices whose data is not at hand; a parent of -1 stands for none."""


@dataclass(frozen=True)
class Undivided:
    """What binding needs to know of the undivided graph; its ids are the numbers of the vertices there.

    A `PerVertex` parameter has a number for each of `n` vertices, those of the part.
    """

    n: int
    directed: bool
    edge_dtype: np.dtype[Any] | None
    ids: VertexIds


def bind_on_part(program: VertexProgram, graph: Graph) -> BoundProgram:
    """Bind `program` to the `graph` of a part. Vertices in its parameters are given by number (`by_numbers`), and
    `PerVertex` parameters are those of the part's vertices (`of_vertices`).

    Raises
    ------
    ProgramError, ParameterError, GraphError
        As `bind` does.
    """
    place = graph._arrays.place
    assert place is not None
    whole: Any = Undivided(len(place.numbers), place.directed, graph.edge_dtype, VertexIds(place.n))
    annotations = hints(type(program))
    bound = bind_as_is(program, annotations, whole)
    own = parameters(bound, whole.ids, annotations)
    asked = {name for names in bound.arguments.values() for name in names}
    return replace(
        bound, parameters=parameters_on(own, place), vertex_data=data_on(bound, place, asked), undirected=False,
        place=place,
    )  # fmt: skip


def parameters_on(own: Any, place: Place) -> Any:
    """The program's `own` parameters, with the fields that stand for the undivided graph."""
    assert place.numbers.flags.c_contiguous
    first, last = place.own
    more = {N: place.n, NUMBERS: place.numbers.ctypes.data, FIRST: first, LAST: last}
    return with_fields(own, {name: np.array([value], np.int64) for name, value in more.items()})


def data_on(bound: BoundProgram, place: Place, asked: set[str]) -> Any:
    """The data of the part's vertices, with what functions ask of the undivided graph; None if there is nothing."""
    columns = {"id": place.numbers, "in_degree": place.in_degrees}
    more = {field: columns[name].astype(kind) for name, (field, kind) in OF_VERTEX.items() if name in asked}
    return with_fields(bound.vertex_data, more) if more else bound.vertex_data


def with_fields(record: Any, more: dict[str, Any]) -> Any:
    """An array of structures with more fields than `record`, which may be None."""
    own = {} if record is None else {name: record[name] for name in record.dtype.names}
    columns = own | more
    kinds = [(name, column.dtype) for name, column in columns.items()]
    made = np.zeros(len(next(iter(columns.values()))), np.dtype(kinds, align=True))
    for name, column in columns.items():
        made[name] = column
    return made


def by_numbers(program: VertexProgram, graph: Graph) -> VertexProgram:
    """`program` as it is bound to the parts of `graph`: after `for_graph`, with vertices given by their numbers.

    `graph` is the undivided one. A `PerVertex` parameter becomes an array with a number for each vertex, or one number;
    if no function asks for it, it becomes its default or None.

    Raises
    ------
    ProgramError, ParameterError, GraphError
        As `bind` does.
    """
    program = call_method(program, "for_graph", graph)
    annotations = hints(type(program))
    asked_for = bind_as_is(program, annotations, graph).vertex_fields
    call_method(program, "check_graph", graph)
    made = copy.copy(program)  # `dataclasses.replace` cannot set a field with init=False, such as `for_graph` makes
    for each in dataclasses.fields(program):  # type: ignore[arg-type]
        hint, value = annotations.get(each.name), getattr(program, each.name)
        if hint == VertexId:
            object.__setattr__(made, each.name, graph.ids.index(value))
        elif hint == PerVertex and each.name not in asked_for:
            object.__setattr__(made, each.name, None if each.default is dataclasses.MISSING else each.default)
        elif hint == PerVertex:
            column = vertex_column(value, each.default, graph, each.name)
            object.__setattr__(made, each.name, column if column.shape else column.item())
    return made


def columns_of(program: VertexProgram) -> dict[str, Any]:
    """The `PerVertex` parameters that have a number for each vertex, by name, of a program that `by_numbers` has
    made."""
    names = [name for name, hint in hints(type(program)).items() if hint == PerVertex]
    return {name: column for name in names if isinstance(column := getattr(program, name), np.ndarray)}


def with_columns(program: VertexProgram, columns: dict[str, Any]) -> VertexProgram:
    """The program with other `PerVertex` parameters."""
    made = copy.copy(program)
    for name, column in columns.items():
        object.__setattr__(made, name, column)
    return made


def of_vertices(program: VertexProgram, numbers: Any) -> VertexProgram:
    """The program with the `PerVertex` parameters of the vertices that have these `numbers`."""
    return with_columns(program, {name: column[numbers] for name, column in columns_of(program).items()})


def reads_numbers(bound: BoundProgram) -> bool:
    """Whether functions of a program on a part read the array at `NUMBERS`."""
    return any(item in asked for asked in bound.arguments.values() for item in BY_ARRAY)


def functions_on_part(bound: BoundProgram, plain: Any) -> Any:
    """The functions of `bound`, which is on a part; the functions `plain` see the undivided graph alone."""
    real = bound.number.type
    number = define("def number(numbers, v): return u32_at(numbers, v) if v >= 0 else whole(-1)", u32_at=u32_at,
                    whole=np.int64)  # fmt: skip
    names = {"count": real, "whole": np.int64, "number": number}
    instead = {"n": f"count(self.{N})"} | {item: f"number(self.{NUMBERS}, {item})" for item in BY_ARRAY}
    has = (None if bound.vertex_data is None else bound.vertex_data.dtype.names) or ()
    for name, (field, _) in OF_VERTEX.items():
        if field in has:
            instead[name] = f"{'whole' if name == 'id' else 'count'}(data.{field})"
    made = {}
    for function in bound.arguments:
        asked = bound.arguments[function]
        if set(asked) & set(instead):
            passed = ", ".join(instead.get(item, item) if item in asked else item for item in offered(function))
            head = f"def {function}({', '.join(offered(function))})"
            made[function] = define(f"{head}: return function({passed})", function=getattr(plain, function), **names)
    found = replace(plain, **made)
    return replace(found, aggregate=of_own(found)) if "aggregate" in bound.arguments else found


def of_own(plain: Any) -> Any:
    """The function `aggregate` of the functions `plain`, which is 0 for mirrors."""
    given = ", ".join(offered("aggregate"))
    condition = f"self.{FIRST} <= id and id < self.{LAST}"
    return define(
        f"def aggregate({given}): return function({given}) if {condition} else nothing()",
        function=plain.aggregate, nothing=plain.no_total,
    )  # fmt: skip
