"""Runs a vertex program in plain Python, without a compiler, and reports the first number that goes wrong.

The run is synchronous, and every iteration updates all vertices. Functions get NumPy numbers of the types that compiled
code computes with: integers of 32 bits have 64 bits there too, until a function returns them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from operator import ne
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..errors import GaraphError, NumberError, ProgramError
from ..executor.modes import PULL
from ..graph import Graph
from ..native.references import rebuild
from ..output.history import History
from ..output.stats import Stats
from ..pages.passes import listed
from ..program import BoundProgram, monoids
from ..program.check import missing_parameter
from ..program.converged import has_converged
from ..program.directions import BothBound
from ..program.dtypes import holds, record_class, scalars
from ..program.fields import NUMBERS
from ..program.functions import partial_dtype
from .options import OFF, RunOptions

Array = npt.NDArray[Any]
DType = np.dtype[Any]

TESTS = (math.isnan, math.isinf)
"""What numbers are wrong, unless an initial value or the identity of `sum` is so too."""
MAKES_VALUES = ("gather", "gather_out", "sum", "sum_out", "apply", "prepare", "delta")
"""The functions whose results make new values."""
OUR_FILES = (__file__, monoids.__file__)
"""Our files in the traceback of a user's function, which messages do not name."""


def interpret(
    bound: BoundProgram, graph: Graph, options: RunOptions, on_event: events.Listener, both: BothBound | None = None
) -> tuple[Array, Stats]:
    """Run to the end; return the reported values and the statistics. `both` is for a program over both directions.

    Raises
    ------
    NumberError
        If a number overflows, is divided by 0, becomes NaN, or does not fit its type. The message names the function,
        the vertex or the edge, the iteration, and the arguments.
    ProgramError
        If a function fails in another way, or returns something other than the program states.
    """
    began, done = time.perf_counter(), list[events.Iteration]()
    run = Interpreter(bound, graph, () if options.check == OFF else TESTS, both)
    while run.active and not run.has_converged(len(done)):
        if len(done) == options.iterations:
            return run.report(), Stats(History(done), False, time.perf_counter() - began, 1, encoding=graph.encoding)
        started, active, f = time.perf_counter(), len(run.active), run.active_edges / max(graph.m, 1)
        edges = run.iterate(len(done))
        seconds, start = time.perf_counter() - started, started - began
        done.append(events.Iteration(len(done), PULL, f, active, edges, 1, 0, seconds, started=start, why="debug"))
        on_event(done[-1])
    return run.report(), Stats(History(done), True, time.perf_counter() - began, 1, encoding=graph.encoding)


WIDER = {
    "int32": "use np.int64", "uint32": "use np.int64", "float32": "use np.float64",
    "int64": "use np.float64, or smaller numbers",
}  # fmt: skip
"""What to do about a number that does not fit a type, by the type's name."""


class Edges:
    """The in-edges of a graph, over which one of a program's functions gathers.

    Parameters
    ----------
    bound : BoundProgram
        The program, or what it is in this direction.
    graph : Graph
    names : tuple of str
        What the functions that gather and sum are called in `functions_of`.

    Attributes
    ----------
    own : object
        What the function that gathers gets as `self`.
    sources, values : list, ndarray
        Of each edge.
    offsets : ndarray
        The first edge of each vertex.
    """

    def __init__(self, bound: BoundProgram, graph: Graph, names: tuple[str, str]) -> None:
        record = bound.parameters[0]
        self.gather, self.sum = names
        self.own = SimpleNamespace(**{name: seen(record[name]) for name in record.dtype.names})
        self.accumulator, self.identity = bound.accumulator, fit(bound.identity(), bound.accumulator)
        reads = bound.edge is not None and "edge" in bound.arguments[self.gather]
        chunks = list(listed(graph, reads))
        self.sources = [source for chunk in chunks for source in chunk.sources.tolist()]
        valued = [chunk.values.astype(bound.number) for chunk in chunks if chunk.values is not None]
        self.values = np.concatenate(valued) if valued else np.ones(graph.m, bound.number)
        self.offsets = graph._arrays.in_edges.offsets


class Interpreter:
    """One program on one graph.

    Parameters
    ----------
    bound : BoundProgram
    graph : Graph
    tests : tuple of callable
        The `TESTS` that functions' results must not pass, unless an initial value or the identity of `sum` does.
    both : BothBound, optional
        The program over both directions that it is.

    Attributes
    ----------
    values : list
        The vertices' values: NumPy numbers, or named tuples of them.
    active : set of int
        The active vertices.
    """

    def __init__(
        self, bound: BoundProgram, graph: Graph, tests: tuple[Callable[[Any], bool], ...], both: BothBound | None = None
    ) -> None:
        self.bound, self.graph = bound, graph
        self._number, self._partial = bound.number.type, partial_dtype(bound.total)
        self._functions = functions_of(bound)
        self._in = Edges(bound, graph, ("gather", "sum"))
        self._out = None if both is None else Edges(both.out, both.turned, ("gather_out", "sum_out"))
        if both is not None:
            self._functions["sum_out"] = functions_of(both.out)["sum"]
        self._vertex, self._source, self._iteration = 0, -1, -1  # what is being done, for messages; -1: none
        self._wrong: list[Callable[[Any], bool]] = []
        self.values = self._first = [self._call("init", bound.value, **vertex) for vertex in self._vertices()]
        identities = [edges.identity for edges in (self._in, self._out) if edges is not None]
        meant = [part for value in (*identities, *self.values) for part in parts_of(value)]
        self._wrong = [test for test in tests if not any(map(test, meant))]
        values, has_frontier = self.values, "frontier" in bound.arguments
        self.active = {
            v
            for v, vertex in enumerate(self._vertices())
            if not has_frontier or self._call("frontier", None, value=values[v], **vertex)
        }
        self._before: list[Any] | None = None  # the values before the last iteration, for `delta`
        self._total = self._no_total()
        for value, vertex in zip(values, self._vertices(), strict=True):
            self._aggregate(value, value, vertex)

    @property
    def active_edges(self) -> int:
        """The number of out-edges of the active vertices."""
        return int(self.graph.out_degrees[list(self.active)].sum())

    @property
    def total(self) -> Array | None:
        """The total, as other runs have it: shape (1,)."""
        total = self.bound.total
        return None if total is None else np.array([self._total], self._partial).astype(total)

    def has_converged(self, iterations: int) -> bool:
        """Whether the program's `converged` ends the run after so many iterations."""
        return iterations > 0 and has_converged(self.bound.program, self.total, self.graph.n)

    def iterate(self, number: int) -> int:
        """Do one iteration; return the number of edges that were gathered from."""
        bound, edges, new, active, values = self.bound, 0, list[Any](), set[int](), self.values
        self._iteration = number
        if "prepare" in bound.arguments:
            self.values = [
                self._call("prepare", bound.value, value=values[v], active=v in self.active, **vertex)
                for v, vertex in enumerate(self._vertices())
            ]
        total = None if bound.total is None or self.total is None else fit(self.total[0].item(), bound.total)
        self._total = self._no_total()
        for vertex in self._vertices():
            old = self.values[self._vertex]
            acc, count = self._gather(self._in, old)
            acc_out, more = (None, 0) if self._out is None else self._gather(self._out, old)
            if "apply" in bound.arguments:
                value = self._call("apply", bound.value, old=old, acc=acc, acc_out=acc_out, total=total, **vertex)
            else:
                value = self._call("sum", bound.value, left=old, right=acc)
            self._aggregate(value, old, vertex)
            if "activate" in bound.arguments:
                is_active = self._call("activate", None, new=value, old=old)
            else:
                is_active = any(map(ne, parts_of(value), parts_of(old)))
            if is_active:
                active.add(self._vertex)
            new.append(value)
            edges += count + more
        self._before, self.values, self.active = self.values, new, active
        return edges

    def report(self) -> Array:
        """The reported values."""
        if "result" not in self.bound.arguments:
            return np.array(self.values, self.bound.value)
        values = zip(self.values, self._vertices(), strict=True)
        found = [
            self._call("result", self.bound.reports, value=value, parent=np.int64(self._parent()), **vertex)
            for value, vertex in values
        ]
        return np.array(found, self.bound.reports)

    def _vertices(self) -> Iterator[dict[str, Any]]:
        """Go through the vertices: the arguments that describe each of them."""
        graph, data, names = self.graph, self.bound.vertex_data, self.bound.vertex_fields
        for v in range(graph.n):
            self._vertex = v
            degrees = {"in_degree": graph.in_degrees[v], "out_degree": graph.out_degrees[v], "n": graph.n}
            given = {name: self._number(count) for name, count in degrees.items()}
            yield given | {"id": np.int64(v)} | ({} if data is None else {name: data[v][name] for name in names})

    def _gather(self, edges: Edges, old: Any) -> tuple[Any, int]:
        """The sum of the contributions of the vertex's `edges`, and the number of edges that were looked at."""
        bound, acc = self.bound, edges.identity
        first, last = int(edges.offsets[self._vertex]), int(edges.offsets[self._vertex + 1])
        for e in range(first, last):
            if "done" in bound.arguments and self._call("done", None, acc=acc, old=old):
                return acc, e - first
            self._source = edges.sources[e]
            src, id, value = self.values[self._source], np.int64(self._source), edges.values[e]
            one = self._call(edges.gather, edges.accumulator, edges.own, src=src, edge=value, dst=old, src_id=id)
            if "delta" in bound.arguments and self._before is not None and self._source in self.active:
                self._check_delta(one, new=src, old=self._before[self._source], edge=value, src_id=id)
            acc = self._call(edges.sum, edges.accumulator, left=acc, right=one)
            self._source = -1
        return acc, last - first

    def _check_delta(self, gathered: Any, new: Any, old: Any, **given: Any) -> None:
        """Raise `ProgramError` if `delta` is not the difference of what `gather` returns for the two values."""
        dtype = self.bound.accumulator
        before = self._call("gather", dtype, src=old, **given)
        found = self._call("delta", dtype, new=new, old=old, **given)
        rounding = math.sqrt(np.finfo(dtype).eps) if dtype.kind == "f" else 0
        if not abs(found - (gathered - before)) <= rounding * max(abs(gathered), abs(before)):
            raise ProgramError(
                f"{self.bound.name}.delta returned {text(found)}, but gather's results differ by "
                f"{text(gathered - before)}; {self._where()}{listing({'new': new, 'old': old})}"
            )

    def _parent(self) -> int:
        """The in-neighbour that gave the vertex its value; -1 if there is none, or nobody asks for it."""
        bound, own, edges = self.bound, self.values[self._vertex], self._in
        if not bound.finds_parents or own == self._first[self._vertex]:
            return -1
        for e in range(int(edges.offsets[self._vertex]), int(edges.offsets[self._vertex + 1])):
            self._source = source = edges.sources[e]
            src, id = self.values[source], np.int64(source)
            one = self._call("gather", bound.accumulator, src=src, edge=edges.values[e], dst=own, src_id=id)
            self._source = -1
            if one == own:
                return int(source)
        return -1

    def _no_total(self) -> Any:
        return fit((0,) * len(self._partial.names) if self._partial.names else 0, self._partial)

    def _aggregate(self, new: Any, old: Any, vertex: dict[str, Any]) -> None:
        """Add the vertex's part of the total."""
        if self.bound.total is not None:
            part = self._call("aggregate", self._partial, new=new, old=old, **vertex)
            self._total = self._call("total", self._partial, left=self._total, right=part)

    def _call(self, name: str, returns: DType | None, own: Any = None, /, **given: Any) -> Any:
        """Call a function of the program with those of the `given` arguments that it asks for; convert the result.

        `own` is what it gets as `self`, if that is not what most functions get.
        """
        own = own or self._in.own
        arguments = {key: given[key] for key in self.bound.arguments.get(name, ("left", "right"))}
        try:
            with np.errstate(over="raise", divide="raise", invalid="ignore"):
                found = self._functions[name](own, **arguments)
                found = truth(found) if returns is None else fit(found, returns)
                self._check(name, found)
        except Exception as error:
            kind = NumberError if isinstance(error, (ArithmeticError, ValueError)) else ProgramError
            is_plain = isinstance(error, (GaraphError, FloatingPointError))
            problem = str(error) if is_plain else f"{type(error).__name__}: {error}"
            if isinstance(error, AttributeError) and error.obj is own and error.name:
                problem = missing_parameter(self.bound, error.name)
            place = f"{self.bound.name}.{name}{location(error, self.bound.functions.get(name))}"
            raise kind(f"{place}: {problem}; {self._where()}{listing(arguments)}") from error
        return found

    def _check(self, name: str, found: Any) -> None:
        """Raise `NumberError` if a number that a function has returned is not finite and cannot be meant."""
        # A total may be infinite or NaN if the values may: their differences are.
        is_checked = name in MAKES_VALUES or (name == "aggregate" and len(self._wrong) == len(TESTS))
        if is_checked and any(any(map(test, parts_of(found))) for test in self._wrong):
            raise NumberError(f"returned {text(found)}")

    def _where(self) -> str:
        """The vertex or edge that is being processed, and the iteration, for messages."""
        ids = self.graph.ids.take(np.array([max(self._source, 0), self._vertex]))
        place = f"at vertex {ids[1]}" if self._source < 0 else f"at the edge {ids[0]} -> {ids[1]}"
        return place + (" before the first iteration" if self._iteration < 0 else f" in iteration {self._iteration}")


def functions_of(bound: BoundProgram) -> dict[str, Callable[..., Any]]:
    """The functions of `bound` in plain Python, all with `self`; `sum` and `total` add two values."""
    names = {"int": whole} if bound.real is None else {"int": whole, "float": bound.real.type}
    own: dict[str, Any] = {name: rebuild(function, more_globals=names) for name, function in bound.functions.items()}
    monoid = own.pop("sum", None)
    each = bound.program.sum.function
    return own | {
        "sum": fieldwise(each) if monoid is None else lambda self, left, right: monoid(left, right),
        "total": fieldwise(lambda left, right: left + right),
    }


def fieldwise(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """A function of `self` and two values that combines numbers, or each field of named tuples, with `operation`."""

    def combined(self: Any, left: Any, right: Any) -> Any:
        return tuple(map(operation, left, right)) if isinstance(left, tuple) else operation(left, right)

    return combined


def whole(number: Any) -> np.int64:
    """``int(number)`` with 64 bits, as in compiled code."""
    return np.int64(int(number))


def seen(number: Any) -> Any:
    """A number as functions see it: an integer of 32 bits has 64."""
    return np.int64(number) if number.dtype in (np.int32, np.uint32) else number


def fit(found: Any, dtype: DType) -> Any:
    """What a function has returned, as a number of `dtype` or a named tuple of such numbers, as functions see it.

    Raises
    ------
    ProgramError
        If it is something else.
    NumberError
        If a number is out of the range of its type, or not whole where it must be.
    """
    names = dtype.names or ("",)
    parts = tuple(found) if dtype.names and isinstance(found, tuple) else (found,)
    if len(parts) != len(names) or not all(isinstance(part, NUMBERS) for part in parts):
        allowed = f"a tuple ({', '.join(names)})" if dtype.names else dtype
        raise ProgramError(f"returned {text(found)}; allowed is {allowed}")
    for name, part, item in zip(names, parts, scalars(dtype), strict=True):
        if not holds(item, part):
            which = f"whose {name}" if name else "which"
            advice = "use np.float64" if part % 1 else WIDER.get(item.name, "use smaller numbers")
            raise NumberError(f"returned {text(found)}, {which} does not fit {item}; {advice}")
    numbers = [seen(item.type(part)) for part, item in zip(parts, scalars(dtype), strict=True)]
    return record_class(dtype.names)(*numbers) if dtype.names else numbers[0]


def truth(found: Any) -> bool:
    """A truth value that a function has returned."""
    if not isinstance(found, NUMBERS):
        raise ProgramError(f"returned {text(found)}; allowed is a truth value")
    return bool(found)


def parts_of(value: Any) -> tuple[Any, ...]:
    """The fields of a named tuple, or the number itself."""
    return value if isinstance(value, tuple) else (value,)


def text(value: Any) -> str:
    """A value for messages."""
    if isinstance(value, tuple):
        names = getattr(value, "_fields", ())
        parts = [f"{name}={text(part)}" for name, part in zip(names, value, strict=True)] if names else map(text, value)
        return f"({', '.join(parts)})"
    return str(value) if isinstance(value, np.generic) else repr(value)


def listing(arguments: dict[str, Any]) -> str:
    """The arguments of a call, for messages."""
    return " with " * bool(arguments) + ", ".join(f"{name}={text(value)}" for name, value in arguments.items())


def location(error: BaseException, function: FunctionType | None) -> str:
    """Where `error` came up in the user's code, or else where `function` is: `` (file, line 3)``, for messages."""
    code = function and function.__code__
    place = code and (code.co_filename, code.co_firstlineno)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename not in OUR_FILES:
            place = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return f" ({place[0]}, line {place[1]})" if place else ""
