"""Binding a vertex program to a graph: types become concrete dtypes, and parameters become one record of numbers."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError, ParameterError, ProgramError
from ..graph import Graph, VertexIds
from ..graph.place import Place
from .dtypes import concrete, dtype_of, holds, real_type, scalars, structure
from .elsewhere import Elsewhere, numbers_elsewhere
from .fields import NUMBERS, PerVertex, VertexId, hints, means
from .known import Known, known
from .methods import call_method
from .monoids import max as maximum
from .monoids import min as minimum
from .orientation import check_gathers
from .vertex_data import Made, vertex_data
from .vertex_program import VertexProgram

Array = npt.NDArray[Any]
DType = np.dtype[Any]

VERTEX_NAMES = ("source", "target", "root", "vertex")
"""Names of parameters that can hardly mean anything but a vertex."""


@dataclass(eq=False)
class BoundProgram:
    """A vertex program with all that an executor needs to compile it and run it on one graph.

    Attributes
    ----------
    program : VertexProgram
    value, accumulator : dtype
        Types of a vertex's value and of the sum of contributions: a scalar, or a structure of scalars.
    total : dtype or None
        Type of what `aggregate` returns; None if the program does not define it.
    real : dtype or None
        The program's float type, which is the widest in `value` and `accumulator`; None for a program on integers.
    edge : dtype or None
        Type of the graph's edge values; None if it has none.
    reports : dtype
        Type of the reported values.
    vertex_fields : tuple of str
        Names of the `PerVertex` parameters that functions ask for.
    parameters : ndarray of a structure, shape (1,)
        The numeric parameters and the identity of `sum`: what compiled functions see as `self`.
    vertex_data : ndarray of a structure, shape (n,), or None
        The values of the `PerVertex` parameters; but those that are `elsewhere` have no values yet.
    undirected : bool
        Every edge of the graph goes both ways.
    known : Known
        What is known about the program's class.
    original : BoundProgram or None
        The program as it was bound, if a run stores its values in another form: in fewer bits (`program.narrow`), or
        with their parents (`program.carry`).
    carries : bool
        That form has parents.
    columns : tuple of BoundProgram
        The programs that run as one, if there are several: a value is a row with a column for each (`program.columns`).
    pushes_rows : bool
        The run may push rows: one processor works alone, and the columns are relaxations.
    place : Place or None
        If the graph is a part: what the undivided graph knows of its vertices (`program.part`).
    elsewhere : dict of str to Elsewhere
        The `PerVertex` parameters that only a device has. `fetched` copies them to `vertex_data`.
    accumulator_out : dtype or None
        Type of the sum of what `gather_out` returns; None if the program does not define it.
    arguments : dict of str to tuple of str
        The functions that the program defines, and the names of the arguments each asks for.
    """

    program: VertexProgram
    value: DType
    accumulator: DType
    total: DType | None
    real: DType | None
    edge: DType | None
    reports: DType
    vertex_fields: tuple[str, ...]
    parameters: Array
    vertex_data: Array | None
    undirected: bool
    known: Known
    original: BoundProgram | None = None
    carries: bool = False
    columns: tuple[BoundProgram, ...] = ()
    pushes_rows: bool = False
    place: Place | None = None
    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict)
    accumulator_out: DType | None = None
    arguments: dict[str, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self.arguments = self.known.arguments

    @property
    def name(self) -> str:
        return type(self.program).__name__

    @property
    def number(self) -> DType:
        """The program's number type, in which functions get edge values and counts: `real`, or else int64."""
        return self.real or np.dtype(np.int64)

    @cached_property
    def key(self) -> str:
        """A hash of all that the compiled code depends on: the functions, what they refer to, and all types."""
        data = None if self.vertex_data is None else self.vertex_data.dtype
        numbers = self.value, self.accumulator, self.accumulator_out, self.total, self.real, self.edge, self.reports
        rows = len(self.columns), self.pushes_rows
        return self.known.key(*numbers, self.parameters.dtype, data, self.is_narrowed, self.carries, *rows)

    @cached_property
    def is_relaxation(self) -> bool:
        """Whether a value is the idempotent sum of all contributions so far, in any order and any number of times.

        Then only active vertices have something new to contribute, and they may push it along their out-edges with
        atomic operations on one word; on a word for each column, where a run may push rows.
        """
        if self.columns:
            return self.pushes_rows
        own = {"apply", "activate", "prepare", "aggregate"} & set(self.arguments)
        single = not self.value.names and self.value == self.accumulator
        return self.program.sum.idempotent and single and not own and not self.reads_dst

    @property
    def columns_relax(self) -> bool:
        """Whether the program has columns, and these are relaxations."""
        return bool(self.columns) and self.columns[0].is_relaxation

    @property
    def pushes_deltas(self) -> bool:
        """Whether active vertices may push what their changes add to the sums of their out-neighbours.

        They may if the program defines `delta`, a gather visits all in-edges of a vertex (no `done`), and no iteration
        has to update the values of all vertices (no `aggregate`, no `prepare`).
        """
        own = {"done", "aggregate", "prepare"} & set(self.arguments)
        return "delta" in self.arguments and not own

    @property
    def copies_sources(self) -> bool:
        """Whether a vertex's final value is the sum of the first values of all vertices that have a path to it.

        The sum includes its own first value. All this holds if the program is a relaxation over integers whose `gather`
        returns its source's value as it is, and that defines neither `done` nor `priority`.
        """
        own = {"done", "priority"} & set(self.arguments)
        return self.known.gathers_src and self.is_relaxation and self.value.kind in "iu" and not own

    @property
    def sums_components(self) -> bool:
        """Whether a value is the sum over the vertex's connected component, so that it can be found by union-find."""
        return self.undirected and self.copies_sources

    @property
    def updates_all_vertices(self) -> bool:
        """Whether every iteration updates all vertices, because any of them may depend on the total."""
        return self.total is not None

    @property
    def repeats_itself(self) -> bool:
        """Whether every iteration does the same work, all of it in its pull: it updates all vertices, and there is no
        `prepare`. False where values are rows, because columns end at different times."""
        return self.updates_all_vertices and not self.columns and "prepare" not in self.arguments

    @property
    def edge_value_bytes(self) -> int:
        """Bytes of an edge value; 0 if the program reads none."""
        return self.edge.itemsize if self.reads_edge_values and self.edge is not None else 0

    @property
    def reads_dst(self) -> bool:
        """Whether `gather` asks for the value of the edge's destination."""
        return "dst" in self.arguments["gather"]

    @property
    def reads_edge_values(self) -> bool:
        """Whether `gather` asks for edge values and the graph has some."""
        return self.edge is not None and "edge" in self.arguments["gather"]

    @property
    def tiles(self) -> bool:
        """Whether edges may be gathered tile by tile, and not destination by destination.

        They may not if `gather` reads the destination's value, or the program defines `done` or `prepare`; nor if a
        value is a row of columns, which fills a cache line by itself.
        """
        return not ({"done", "prepare"} & set(self.arguments) or self.reads_dst or self.columns)

    @property
    def ends_late(self) -> bool:
        """Whether a pull's gather ends, where `done` holds, after several active in-neighbours: a value is bits, of
        which each may bring some. If one is enough, a pull visits few edges as soon as many vertices are active."""
        return "done" in self.arguments and self.program.sum.is_bitwise

    @property
    def spreads_one_value(self) -> bool:
        """Whether all active vertices of a superstep have the same value, as in a BFS, if all of the superstep before
        had: `gather` depends on the source's value alone, and a value that changes becomes the contribution. Floats are
        left out, because equal ones may differ in the sign of zero."""
        is_choice = self.program.sum is minimum or self.program.sum is maximum
        is_whole = self.value.kind in "iu" and not self.columns
        return self.is_relaxation and is_choice and is_whole and self.arguments["gather"] == ("src",)

    @property
    def is_monotone(self) -> bool:
        """Whether pushes in any order lead to the same values."""
        return self.is_relaxation and self.program.monotone

    @property
    def is_order_independent(self) -> bool:
        """Whether updates in any order, by pushes or pulls, lead to the same values; then runs may update in place, by
        `priority`. A pull that ends where `done` holds takes the superstep's values for final."""
        return self.is_monotone and "done" not in self.arguments

    @property
    def reports_values(self) -> bool:
        """Whether the reported values are the stored ones as they are."""
        return "result" not in self.arguments and not self.is_narrowed

    @property
    def is_narrowed(self) -> bool:
        """Whether values are stored in fewer bits than functions see."""
        return self.original is not None and not self.carries

    @property
    def finds_parents(self) -> bool:
        """Whether parents must be found for `result`: the in-neighbours that gave vertices their values."""
        return "parent" in self.arguments.get("result", ()) and not self.carries

    @property
    def functions(self) -> dict[str, types.FunctionType]:
        """The functions that the program defines, by name, with its own `sum` if it has one."""
        return self.known.functions

    def fetched(self) -> BoundProgram:
        """The same, after what only a device has of the parameters has been copied to `vertex_data`."""
        for name, numbers in self.elsewhere.items():
            assert self.vertex_data is not None
            self.vertex_data[name] = numbers.fetch()
        return self.changed(elsewhere={}) if self.elsewhere else self

    def changed(self, **fields: Any) -> BoundProgram:
        """A copy with other values of these `fields`, in a third of the time that `dataclasses.replace` takes."""
        made = object.__new__(BoundProgram)
        made.__dict__.update(self.__dict__, **fields)
        for name in ("key", "is_relaxation"):  # which follow from the fields
            made.__dict__.pop(name, None)
        return made

    def identity(self) -> Any:
        """The accumulator's identity: a number, or a tuple in the order of the fields."""
        if self.columns:
            parts = [column.identity() for column in self.columns]
            return tuple(item for part in parts for item in (part if isinstance(part, tuple) else (part,)))
        monoid = self.program.sum
        if not self.accumulator.names:
            return monoid.identity_of(self.accumulator)
        if isinstance(monoid.identity, tuple):
            return monoid.identity
        return tuple(monoid.identity_of(self.accumulator[name]) for name in self.accumulator.names)


def bind(
    program: VertexProgram, graph: Graph, compiled: bool = True, made: Made | None = None, fetches: bool = True
) -> BoundProgram:
    """Check `program` and bind it to `graph`. Its functions may contain anything unless they are to be `compiled`.

    Programs that are bound with the same `made` share what `vertex_data` makes of the same objects. Unless `fetches`,
    what only a device has of the parameters stays there (`BoundProgram.elsewhere`).

    Raises
    ------
    ProgramError
        If a function's signature or a type is not allowed.
    ParameterError
        If a parameter cannot be used.
    GraphError
        If a vertex is not in the graph, or the program cannot run on this graph.
    """
    bound = bind_any(program, graph, compiled, made, fetches)
    if bound.accumulator_out is not None:
        raise ProgramError(
            f"{bound.name} gathers over both directions apart (gather_out), for which run and run_many start several "
            "runs on this machine; here, take a program for each direction"
        )
    return bound


def bind_any(
    program: VertexProgram, graph: Graph, compiled: bool = True, made: Made | None = None, fetches: bool = True
) -> BoundProgram:
    """Like `bind`, but the program may have `gather_out`, which no executor knows (`program.directions`)."""
    given, program = program, call_method(program, "for_graph", graph)
    if not isinstance(program, VertexProgram):
        raise ProgramError(
            f"{type(given).__name__}.for_graph returns {program!r}; return a VertexProgram, such as self"
        )
    annotations = hints(type(program))
    bound = bind_as_is(program, annotations, graph, compiled, made, fetches)
    call_method(program, "check_graph", graph)
    bound.parameters = parameters(bound, graph.ids, annotations)
    return bound


def bind_as_is(
    program: VertexProgram, annotations: Mapping[str, Any], graph: Graph, compiled: bool = True,
    made: Made | None = None, fetches: bool = True,
) -> BoundProgram:  # fmt: skip
    """Bind `program` itself, without its numeric parameters; of `graph` only sizes, ids and types are read."""
    kind = type(program)
    vertex_fields = tuple(name for name, hint in annotations.items() if means(hint, PerVertex))
    found = known(program, vertex_fields, compiled)
    arguments = found.arguments
    vertex_fields = tuple(name for name in vertex_fields if name in found.asked_for)
    check_gathers(program)
    if program.gathers == "both" and graph.directed:
        call_method(program, "check_graph", graph)  # its error may say more
        raise GraphError(
            f"{kind.__name__} gathers over both directions, but the graph is directed; run it on "
            "graph.symmetrized(), or add --symmetrize to `garaph run` or `garaph import`"
        )
    edge = graph.edge_dtype
    value = dtype_of(program, "value", edge)
    accumulator = dtype_of(program, "accumulator", edge) if program.accumulator is not None else value
    out = dtype_of(program, "accumulator_out", edge) if program.accumulator_out is not None else accumulator
    real = real_type(value, accumulator, *([out] if "gather_out" in arguments else []))
    if real is None and edge is not None and edge.kind == "f" and "edge" in arguments["gather"]:
        raise GraphError(f"{kind.__name__} works on integers here, but the graph's edge values are {edge}")
    total = concrete(kind, "total", program.total or float, real) if "aggregate" in arguments else None
    vertex: Any = np.int32 if len(graph.ids) < 1 << 31 else np.int64  # the narrower type halves the memory of results
    reports = concrete(kind, "reports", program.reports, real, vertex) if program.reports is not None else value
    number = real or np.dtype(np.int64)
    parts = {} if fetches else {
        name: numbers_elsewhere(getattr(program, name), graph.ids, number) for name in vertex_fields
    }  # fmt: skip
    elsewhere = {name: part for name, part in parts.items() if part is not None}
    bound = BoundProgram(
        program, value, accumulator, total, real, edge, reports, vertex_fields, np.zeros(1),
        vertex_data(program, vertex_fields, graph, number, made, elsewhere), not graph.directed, found,
        elsewhere=elsewhere, accumulator_out=out if "gather_out" in arguments else None,
    )  # fmt: skip
    if (value, accumulator) not in found.fitting:
        check_identity(bound)
        check_apply(bound)
        check_delta(bound)
        check_parent(bound)
        found.fitting.add((value, accumulator))
    check_vertices(bound, graph.ids, annotations)
    return bound


def check_identity(bound: BoundProgram) -> None:
    """Raise `ProgramError` if the sum's operation or identity does not fit the accumulator's type."""
    monoid, dtype = bound.program.sum, bound.accumulator
    if monoid.is_bitwise and any(item.kind == "f" for item in scalars(dtype)):
        raise ProgramError(f"{bound.name}.sum is {monoid.name}, which takes integers; the accumulator is {dtype}")
    identity = bound.identity()
    parts = identity if dtype.names else (identity,)
    if len(parts) != len(scalars(dtype)) or not all(map(holds, scalars(dtype), parts)):
        raise ProgramError(f"{bound.name}.sum has identity {identity!r}, which is no value of the accumulator {dtype}")


def check_apply(bound: BoundProgram) -> None:
    """Raise `ProgramError` if there is no `apply`, although the value and the sum have different types."""
    if "apply" not in bound.arguments and bound.value != bound.accumulator:
        raise ProgramError(
            f"{bound.name} has no apply(self, ...), but values are {bound.value} and sums {bound.accumulator}: say how "
            "they make a new value"
        )


def check_delta(bound: BoundProgram) -> None:
    """Raise `ProgramError` if the program defines `delta`, but no atomic operation adds differences to its sums."""
    if "delta" in bound.arguments and (bound.accumulator.names or bound.accumulator.kind == "u"):
        raise ProgramError(
            f"{bound.name}.delta returns differences of sums; these must be one signed integer or float, but the "
            f"accumulator is {bound.accumulator}"
        )


def check_parent(bound: BoundProgram) -> None:
    """Raise `ProgramError` if `result` asks for a parent, and values do not come from single in-neighbours."""
    if bound.finds_parents and not bound.is_relaxation:
        raise ProgramError(
            f"{bound.name}.result asks for parent, which only relaxations have: programs with an idempotent sum, one "
            "number as the value, and without apply, activate, prepare, aggregate and dst"
        )


def check_vertices(bound: BoundProgram, ids: VertexIds, annotations: Mapping[str, Any]) -> None:
    """Refuse a number that means a vertex by its name, where compiled functions would take it as an internal id.

    A function that reads such a parameter and asks for an id compares them. That is right only if the user's ids are
    the internal ones.
    """
    suspects = [name for name, hint in annotations.items() if name in VERTEX_NAMES and (hint is int or hint is Any)]
    for name in suspects:
        readers = [
            function
            for key, function in bound.functions.items()
            if {"id", "src_id"} & set(bound.arguments.get(key, ())) and name in function.__code__.co_names
        ]
        if readers and not ids.are_internal:
            raise ParameterError(
                f"{bound.name}.{name} is annotated as a number, which {readers[0].__name__} compares with internal "
                f"ids, but the graph has others ({ids.describe()}); annotate it as a vertex: {name}: garaph_py.VertexId"
            )


def parameters(bound: BoundProgram, ids: VertexIds, annotations: Mapping[str, Any]) -> Array:
    """The numeric parameters and ``identity`` as one record, which compiled functions see as `self`."""
    program, real = bound.program, bound.real or np.dtype(np.float64)
    columns: list[tuple[str, DType, Any]] = []
    for name, hint in annotations.items():
        value = getattr(program, name)
        if means(hint, VertexId):
            columns.append((name, np.dtype(np.int64), ids.index(value)))
        elif isinstance(value, NUMBERS) and not means(hint, PerVertex):
            is_real = hint is float or (isinstance(value, (float, np.floating)) and hint not in (int, bool))
            dtype = real if is_real else np.dtype(np.int64)
            if not holds(dtype, value):
                raise ParameterError(f"{bound.name}({name}={value!r}): the number does not fit {dtype}")
            columns.append((name, dtype, value))
    summed, identity = bound.accumulator, bound.identity()
    if summed.names:
        columns += [(f"identity_{name}", summed[name], part) for name, part in zip(summed.names, identity, strict=True)]
    else:
        columns.append(("identity", summed, identity))
    kind = structure(tuple((name, kind) for name, kind, _ in columns))
    record = np.zeros(1, kind)  # the bytes between two fields too, as the record is also compared by its bytes
    record[0] = tuple(value for *_, value in columns)
    return record
