"""A vertex program meets a graph: its types become concrete, its parameters numbers."""

from __future__ import annotations

import dataclasses
import typing
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError, ParameterError, ProgramError
from ..graph import Graph, VertexIds
from .monoids import Monoid
from .signatures import check_functions
from .vertex_program import PerVertex, VertexId, VertexProgram

Array = npt.NDArray[Any]
DType = np.dtype[Any]

ALLOWED = tuple(map(np.dtype, (np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64)))


@dataclass(frozen=True)
class BoundProgram:
    """A program with everything a processor needs to compile and run it on graphs of one kind.

    Attributes
    ----------
    program : VertexProgram
    value, accumulator : dtype
        A scalar, or a structure of scalars.
    total : dtype or None
    real : dtype or None
        The program's float type; None for a program on integers.
    edge : dtype or None
        Type of the graph's edge values.
    reports : dtype
        Of the reported values.
    parameters : ndarray of a structure, shape (1,)
        What the functions see as `self`.
    vertex_data : ndarray of a structure, shape (n,), or None
        `PerVertex` parameters.
    arguments : dict of str to tuple of str
        What each function the program defines asks for.
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
    arguments: dict[str, tuple[str, ...]]

    @property
    def name(self) -> str:
        return type(self.program).__name__

    @property
    def monoids(self) -> tuple[Monoid, ...]:
        """One monoid a field of the accumulator, or the program's own for all of them together."""
        return (self.program.sum,) * (len(self.accumulator.names or "x"))

    def identity(self) -> Any:
        """The accumulator's identity: a number, or a tuple in the order of the fields."""
        monoid = self.program.sum
        if not self.accumulator.names:
            return self.accumulator.type(monoid.identity_of(self.accumulator))
        if isinstance(monoid.identity, tuple):
            return monoid.identity
        return tuple(monoid.identity_of(self.accumulator[name]) for name in self.accumulator.names)


def bind(program: VertexProgram, graph: Graph) -> BoundProgram:
    """Check `program` and make it concrete for `graph`.

    Raises
    ------
    ProgramError
        If a function's signature or a type is not allowed.
    ParameterError, GraphError
        If a parameter is unusable, a vertex is not in the graph, or the graph lacks what the program gathers over.
    """
    kind = type(program)
    vertex_fields = tuple(name for name, hint in hints(kind).items() if hint == PerVertex)
    arguments = check_functions(kind, vertex_fields)
    if program.gathers not in ("in", "both"):
        raise ProgramError(f'{kind.__name__}.gathers is {program.gathers!r}; allowed are "in" and "both"')
    if program.gathers == "both" and graph.directed:
        raise GraphError(
            f"{kind.__name__} gathers over both directions, but the graph is directed; run it on "
            "graph.symmetrized(), or add --symmetrize to `garaph run` or `garaph import`"
        )
    if not isinstance(getattr(kind, "sum", None), Monoid):
        raise ProgramError(f"{kind.__name__}.sum must be a unified operation (garaph_py.add, min, ...) or a Monoid")
    edge = graph.edge_dtype
    value = dtype_of(program, "value", edge)
    accumulator = dtype_of(program, "accumulator", edge) if program.accumulator is not None else value
    real = real_type(value, accumulator)
    if real is None and edge is not None and edge.kind == "f" and "edge" in arguments["gather"]:
        raise GraphError(f"{kind.__name__} works on integers here, but the graph's edge values are {edge}")
    total = concrete(kind, "total", program.total or float, real) if "aggregate" in arguments else None
    reports = concrete(kind, "reports", program.reports, real) if program.reports is not None else value
    bound = BoundProgram(
        program, value, accumulator, total, real, edge, reports, vertex_fields,
        np.zeros(1), vertex_data(program, vertex_fields, graph, real), arguments,
    )  # fmt: skip
    check_identity(bound)
    program.check_graph(graph)
    return dataclasses.replace(bound, parameters=parameters(bound, graph.ids))


def hints(kind: type[VertexProgram]) -> dict[str, Any]:
    """Annotations of the program's parameters, by name."""
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    resolved = typing.get_type_hints(kind, include_extras=True)
    return {name: resolved[name] for name in names}


def dtype_of(program: VertexProgram, name: str, edge: DType | None) -> DType:
    spec = getattr(program, name)
    if spec is None:
        raise ProgramError(f"{type(program).__name__}.{name} is not set; give a dtype, e.g. numpy.float32")
    return concrete(type(program), name, spec(edge) if callable(spec) and not isinstance(spec, type) else spec, None)


def concrete(kind: type[VertexProgram], name: str, spec: Any, real: DType | None) -> DType:
    """A dtype specification as a scalar dtype or an aligned structure."""

    def scalar(item: Any) -> DType:
        if item is float and real is not None:
            return real
        try:
            dtype = np.dtype(np.int64 if item == VertexId else item)
        except TypeError:
            dtype = np.dtype(object)
        if dtype not in ALLOWED:
            raise ProgramError(
                f"{kind.__name__}.{name} has type {item!r}; allowed are {', '.join(d.name for d in ALLOWED)}, or a "
                "dict of a few names to them"
            )
        return dtype

    if not isinstance(spec, Mapping):
        return scalar(spec)
    if not spec or not all(isinstance(key, str) and key.isidentifier() for key in spec):
        raise ProgramError(f"{kind.__name__}.{name} needs field names that are identifiers, not {list(spec)}")
    return np.dtype([(key, scalar(item)) for key, item in spec.items()], align=True)


def scalars(dtype: DType) -> list[DType]:
    """The scalar types in a scalar dtype or structure."""
    return [dtype[name] for name in dtype.names] if dtype.names else [dtype]


def real_type(*dtypes: DType) -> DType | None:
    floats = [item for dtype in dtypes for item in scalars(dtype) if item.kind == "f"]
    return max(floats, key=lambda item: item.itemsize) if floats else None


def check_identity(bound: BoundProgram) -> None:
    try:
        identity = bound.identity()
        whole = np.zeros(1, bound.accumulator)
        whole[0] = identity
    except (TypeError, ValueError, OverflowError) as error:
        raise ProgramError(
            f"{bound.name}.sum has identity {bound.program.sum.identity!r}, which is not a value of the accumulator "
            f"{bound.accumulator}: {error}"
        ) from None


def parameters(bound: BoundProgram, ids: VertexIds) -> Array:
    """The numeric parameters and ``identity``, as one record: what compiled functions see as `self`."""
    program, real = bound.program, bound.real or np.dtype(np.float64)
    columns: list[tuple[str, DType, Any]] = []
    for name, hint in hints(type(program)).items():
        value = getattr(program, name)
        if hint == VertexId:
            columns.append((name, np.dtype(np.int64), ids.index(value)))
        elif hint == PerVertex:
            continue
        elif isinstance(value, (bool, np.bool_)):
            columns.append((name, np.dtype(np.int64), int(value)))
        elif isinstance(value, (int, np.integer)) and hint is not float:
            columns.append((name, np.dtype(np.int64), checked_int(program, name, int(value))))
        elif isinstance(value, (int, float, np.number)):
            columns.append((name, real, float(value)))
    dtype = bound.accumulator
    identity = bound.identity()
    if dtype.names:
        columns += [(f"identity_{name}", dtype[name], part) for name, part in zip(dtype.names, identity, strict=True)]
    else:
        columns.append(("identity", dtype, identity))
    record = np.zeros(1, np.dtype([(name, kind) for name, kind, _ in columns], align=True))
    for name, _, value in columns:
        record[name] = value
    return record


def checked_int(program: VertexProgram, name: str, value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise ParameterError(f"{type(program).__name__}({name}={value}): integers must fit 64 bits")
    return value


def vertex_data(program: VertexProgram, names: tuple[str, ...], graph: Graph, real: DType | None) -> Array | None:
    """`PerVertex` parameters as one array of structures."""
    if not names:
        return None
    dtype = real or np.dtype(np.int64)
    data = np.zeros(graph.n, np.dtype([(name, dtype) for name in names]))
    defaults = {field.name: field.default for field in dataclasses.fields(program)}  # type: ignore[arg-type]
    for name in names:
        given, elsewhere = getattr(program, name), defaults[name]
        where = f"{type(program).__name__}({name}=...)"
        try:
            if isinstance(given, Mapping):
                if not isinstance(elsewhere, (int, float)):
                    raise ParameterError(f"{where}: a mapping needs a default for the other vertices; give an array")
                column = np.full(graph.n, elsewhere, dtype)
                for vertex, number in given.items():
                    column[graph.ids.index(vertex)] = number
            else:
                column = np.asarray(given, dtype)
        except (TypeError, ValueError) as error:
            if isinstance(error, (ParameterError, GraphError)):
                raise
            raise ParameterError(f"{where}: {error}; give a mapping, an array or a number") from None
        if column.shape not in ((), (graph.n,)):
            raise ParameterError(f"{where} has shape {column.shape}, but the graph has {graph.n} vertices")
        data[name] = column
    return data


@cache
def record_class(names: tuple[str, ...]) -> Any:
    """The named tuple through which functions see a structure with these fields: one class for one set of names."""
    return namedtuple("Record", names)  # type: ignore[misc]
