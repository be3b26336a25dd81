"""A vertex program meets a graph: its types become concrete, its parameters numbers."""

from __future__ import annotations

import dataclasses
import keyword
import sys
import threading
import types
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GaraphError, GraphError, ParameterError, ProgramError
from ..graph import Graph, VertexIds
from ..native.references import fingerprint
from .signatures import check_functions, function_of_sum
from .vertex_program import PerVertex, VertexId, VertexProgram

Array = npt.NDArray[Any]
DType = np.dtype[Any]

NUMBERS = (int, float, np.bool_, np.integer, np.floating)
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

    @cached_property
    def key(self) -> str:
        """A hash of all that its compiled code depends on: the functions, whatever they refer to, and types."""
        kinds = [self.value, self.accumulator, self.total, self.real, self.edge, self.reports, self.parameters.dtype]
        data = None if self.vertex_data is None else self.vertex_data.dtype
        return fingerprint(self.functions, self.program.sum.name, self.arguments, kinds, data)

    @property
    def is_relaxation(self) -> bool:
        """Whether a value is the idempotent sum of all that was ever contributed, whoever brought it and when.

        Then only active vertices have anything to contribute, and may push it along their out-edges by atomic
        operations on one word.
        """
        own = {"apply", "activate", "prepare", "aggregate"} & set(self.arguments)
        single = not self.value.names and self.value == self.accumulator
        return self.program.sum.idempotent and single and not own and not self.reads_dst

    @property
    def updates_all_vertices(self) -> bool:
        """Whether every vertex is updated in every iteration: all of them may depend on the total."""
        return self.total is not None

    @property
    def reads_dst(self) -> bool:
        """Whether `gather` asks for the value of the edge's destination."""
        return "dst" in self.arguments["gather"]

    @property
    def reads_edge_values(self) -> bool:
        """Whether `gather` asks for values that the graph has."""
        return self.edge is not None and "edge" in self.arguments["gather"]

    @property
    def tiles(self) -> bool:
        """Whether contributions may come in any order of destinations: none asks for its own, none ends early."""
        return not ({"done", "prepare"} & set(self.arguments) or self.reads_dst)

    @property
    def is_order_independent(self) -> bool:
        """Whether every order of updates ends in the same values, and no order is needed to end a gather early."""
        return self.is_relaxation and self.program.monotone and "done" not in self.arguments

    @property
    def functions(self) -> dict[str, types.FunctionType]:
        """The functions the program defines, by name; among them a `sum` of its own."""
        kind, monoid = type(self.program), self.program.sum
        own = {} if monoid.is_named else {"sum": function_of_sum(kind, monoid)}
        return {name: getattr(kind, name) for name in self.arguments} | own

    def identity(self) -> Any:
        """The accumulator's identity: a number, or a tuple in the order of the fields."""
        monoid = self.program.sum
        if not self.accumulator.names:
            return monoid.identity_of(self.accumulator)
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
    edge = graph.edge_dtype
    value = dtype_of(program, "value", edge)
    accumulator = dtype_of(program, "accumulator", edge) if program.accumulator is not None else value
    real = real_type(value, accumulator)
    if real is None and edge is not None and edge.kind == "f" and "edge" in arguments["gather"]:
        raise GraphError(f"{kind.__name__} works on integers here, but the graph's edge values are {edge}")
    total = concrete(kind, "total", program.total or float, real) if "aggregate" in arguments else None
    vertex: Any = np.int32 if graph.n < 1 << 31 else np.int64  # as narrow as may be: results are fresh memory
    reports = concrete(kind, "reports", program.reports, real, vertex) if program.reports is not None else value
    bound = BoundProgram(
        program, value, accumulator, total, real, edge, reports, vertex_fields,
        np.zeros(1), vertex_data(program, vertex_fields, graph, real), arguments,
    )  # fmt: skip
    check_identity(bound)
    check_apply(bound)
    program.check_graph(graph)
    return dataclasses.replace(bound, parameters=parameters(bound, graph.ids))


def hints(kind: type[VertexProgram]) -> dict[str, Any]:
    """Annotations of the program's parameters, by name.

    One that names what only its surroundings know, as in a class defined in a function, is known by its last name.
    """
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        scope = vars(sys.modules[base.__module__]) if base.__module__ in sys.modules else {}
        for name, hint in vars(base).get("__annotations__", {}).items():
            if isinstance(hint, str):
                try:
                    found[name] = eval(hint, dict(scope))
                except Exception:
                    found[name] = {"VertexId": VertexId, "PerVertex": PerVertex}.get(hint.rpartition(".")[2], Any)
            else:
                found[name] = hint
    return {field.name: found[field.name] for field in dataclasses.fields(kind)}  # type: ignore[arg-type]


def dtype_of(program: VertexProgram, name: str, edge: DType | None) -> DType:
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
    """A dtype specification as a scalar dtype or an aligned structure; a `VertexId` is of type `vertex`."""

    def scalar(item: Any) -> DType:
        if item is float and real is not None:
            return real
        try:
            dtype: DType = np.dtype(vertex if item == VertexId else item)
        except (TypeError, ValueError):
            dtype = np.dtype(object)
        if item is None or dtype not in ALLOWED:
            raise ProgramError(
                f"{kind.__name__}.{name} has type {item!r}; allowed are {', '.join(d.name for d in ALLOWED)}, or a "
                "dict of a few names to them"
            )
        return dtype

    if not isinstance(spec, Mapping):
        return scalar(spec)
    if not spec or not all(map(is_field_name, spec)):
        raise ProgramError(
            f"{kind.__name__}.{name} has fields {list(spec)}; a field's name is an identifier without a leading "
            "underscore"
        )
    return np.dtype([(key, scalar(item)) for key, item in spec.items()], align=True)


def is_field_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and not (keyword.iskeyword(name) or name.startswith("_"))


def scalars(dtype: DType) -> list[DType]:
    """The scalar types in a scalar dtype or structure."""
    return [dtype[name] for name in dtype.names] if dtype.names else [dtype]


def real_type(*dtypes: DType) -> DType | None:
    floats = [item for dtype in dtypes for item in scalars(dtype) if item.kind == "f"]
    return max(floats, key=lambda item: item.itemsize) if floats else None


def check_identity(bound: BoundProgram) -> None:
    """Refuse an operation or an identity that the accumulator's type does not have."""
    monoid, dtype = bound.program.sum, bound.accumulator
    if monoid.is_named and monoid.name.startswith("bitwise") and any(item.kind == "f" for item in scalars(dtype)):
        raise ProgramError(f"{bound.name}.sum is {monoid.name}, which takes integers; the accumulator is {dtype}")
    identity = bound.identity()
    parts = identity if dtype.names else (identity,)
    if len(parts) != len(scalars(dtype)) or not all(map(holds, scalars(dtype), parts)):
        raise ProgramError(f"{bound.name}.sum has identity {identity!r}, which is no value of the accumulator {dtype}")


def check_apply(bound: BoundProgram) -> None:
    """Refuse to go without `apply` where old value and sum are of different kinds."""
    if "apply" not in bound.arguments and bound.value != bound.accumulator:
        raise ProgramError(
            f"{bound.name} has no apply(self, ...), but values are {bound.value} and sums {bound.accumulator}: say how "
            "they make a new value"
        )


def holds(dtype: DType, value: Any) -> bool:
    """Whether `value` is a number that a scalar `dtype` has, but for rounding to it."""
    if not isinstance(value, NUMBERS):
        return False
    value = value.item() if isinstance(value, np.generic) else value
    size: Any = abs(value)
    if dtype.kind == "f":
        return bool(value != value or size == np.inf or size <= float(np.finfo(dtype).max))
    return bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max and int(value) == value)


def parameters(bound: BoundProgram, ids: VertexIds) -> Array:
    """The numeric parameters and ``identity``, as one record: what compiled functions see as `self`."""
    program, real = bound.program, bound.real or np.dtype(np.float64)
    columns: list[tuple[str, DType, Any]] = []
    for name, hint in hints(type(program)).items():
        value = getattr(program, name)
        if hint == VertexId:
            columns.append((name, np.dtype(np.int64), ids.index(value)))
        elif hint != PerVertex and isinstance(value, NUMBERS):
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
    record = np.zeros(1, np.dtype([(name, kind) for name, kind, _ in columns], align=True))
    for name, _, value in columns:
        record[name] = value
    return record


def vertex_data(program: VertexProgram, names: tuple[str, ...], graph: Graph, real: DType | None) -> Array | None:
    """`PerVertex` parameters as one array of structures."""
    if not names:
        return None
    dtype = real or np.dtype(np.int64)
    data = np.zeros(graph.n, np.dtype([(name, dtype) for name in names]))
    defaults = {field.name: field.default for field in dataclasses.fields(program)}  # type: ignore[arg-type]
    for name in names:
        where = f"{type(program).__name__}({name}=...)"
        try:
            column = vertex_column(getattr(program, name), defaults[name], graph)
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, GaraphError):
                raise
            raise ParameterError(f"{where}: {error}; give a mapping, an array or a number") from None
        if column.shape not in ((), (graph.n,)):
            raise ParameterError(f"{where} has shape {column.shape}, but the graph has {graph.n} vertices")
        if column.dtype.kind not in "biuf" or (column.dtype.kind == "f" and dtype.kind == "i"):
            raise ParameterError(f"{where} has type {column.dtype}, but the program computes in {dtype}")
        data[name] = column
    return data


def vertex_column(given: Any, elsewhere: Any, graph: Graph) -> Array:
    """One number a vertex, or one for all; vertices that a mapping leaves out have `elsewhere`."""
    if not isinstance(given, Mapping):
        return np.asarray(given)
    if not isinstance(elsewhere, NUMBERS):
        raise ValueError("a mapping needs a default for the other vertices")
    column = np.full(graph.n, elsewhere, np.asarray([elsewhere, *given.values()]).dtype)
    for vertex, number in given.items():
        column[graph.ids.index(vertex)] = number
    return column


_records: dict[tuple[str, ...], Any] = {}
_making_records = threading.Lock()


def record_class(names: tuple[str, ...]) -> Any:
    """The named tuple through which functions see a structure with these fields: one class for one set of names."""
    with _making_records:
        if names not in _records:
            _records[names] = namedtuple("Record", names)
        return _records[names]
