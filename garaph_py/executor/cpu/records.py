"""Kernels of the CPU: compiled functions that read their arguments by name, from one record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import Any

from ...graph.arrays import GraphArrays
from ...native import ArgumentTable, Kernel
from ...native.kernel import Addresses
from ...program import BoundProgram
from ...program.define import define
from ...program.dtypes import record_class
from ..arguments import arguments
from ..state import State
from .edges import Reader
from .functions import Functions

NUMBERS = {"i64": "i64", "u32": "u32", "u8": "u8", "Bits": "u64"}
"""How the signature of a kernel writes the types that do not depend on the program."""
STATE = {
    "values": "values", "next_values": "next_values", "total": "total", "thresholds": "thresholds",
    "frontier": "frontier.bits", "frontier_blocks": "frontier.blocks",
    "next_frontier": "next_frontier.bits", "next_frontier_blocks": "next_frontier.blocks",
    "notified": "notified.bits", "notified_blocks": "notified.blocks",
    "pending": "pending.bits", "pending_blocks": "pending.blocks",
}  # fmt: skip
"""Arguments that are read from the `State`, and where it has them."""
CONSTANTS = ("n", "in_offsets", "out_offsets", "degree_offsets", "parameters", "vertex_data")
"""Arguments that are the same in every launch of a run; see `constants_of`."""

ACCESS = {
    "Value": "value", "Accumulator": "accumulator", "VertexData": "data", "Parameters": "parameters", "Total": "total",
    "Partial": "partial", "Report": "report", "Edge": "edge_values",
}  # fmt: skip
"""For each type of the program, the member of `Functions` by which kernels reach an array of it."""


class RecordKernel(Kernel):
    """A kernel whose function takes a record: a named tuple of numbers and arrays.

    Parameters
    ----------
    name : str
        The kernel's name, for messages and traces.
    function : callable
        ``function(record)``, or ``function(edges, record)`` if there is a `reader`. Parameters and total are read from
        memory beforehand: ``record.parameters`` is the program's ``self``.
    names : iterable of str
        The kernel's arguments, by their names in `..arguments`.
    functions : Functions, optional
        The program's functions, if the kernel belongs to a program.
    reader : Reader, optional
        Reads the kernel's edges; the reader's own arguments come first.

    Attributes
    ----------
    constants, of_state : callable
        ``constants(values)`` and ``of_state(state)`` are its `CONSTANTS`, and its arguments from the `State`, in order.
    usual : list of int
        The places of these among the arguments.
    places : dict of str to int
        The places of all others.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., int],
        names: Iterable[str],
        functions: Functions | None = None,
        reader: Reader | None = None,
    ) -> None:
        self.names = tuple(names)
        edges = [f"edges_{k}" for k in range(len(reader.signature.split()))] if reader else []
        signature, read = list(reader.signature.split() if reader else ()), []
        known: dict[str, Any] = {}
        for item in arguments(self.names):
            base = item.type.removeprefix("const ").removesuffix("*")
            if base in NUMBERS:
                signature.append(NUMBERS[base] + "*" * item.type.endswith("*"))
                read.append(item.name)
                continue
            access = getattr(functions, ACCESS[base])
            signature.append(access.pointer)
            known[f"view_{item.name}"] = access.view
            array = f"view_{item.name}({item.name})"
            if item.name in ("parameters", "total"):
                known[f"load_{item.name}"] = access.load
                array = f"load_{item.name}({array}, 0)"
            read.append(array)
        passed = (f"({', '.join(edges)}), " if reader else "") + f"Arguments({', '.join(read)})"
        entry = define(
            f"def {name}({', '.join([*edges, *self.names])}): return function({passed})",
            function=function, Arguments=record_class(self.names), **known,
        )  # fmt: skip
        super().__init__(" ".join(signature), entry, functions is not None and bool(functions.columns))
        self.edges = len(edges)
        places = {name: place for place, name in enumerate(self.names, self.edges)}
        constants, of_state = ([name for name in self.names if name in known] for known in (CONSTANTS, STATE))
        self.constants = all_of(itemgetter, *constants)
        self.of_state = all_of(attrgetter, *(STATE[name] for name in of_state))
        self.usual = [places.pop(name) for name in (*constants, *of_state)]
        self.places = places


class RecordTable(ArgumentTable):
    """The arguments of `calls` calls of one kernel, filled by name and kept for the next launch.

    Parameters
    ----------
    kernel : RecordKernel
    calls : int
    """

    kernel: RecordKernel

    def __init__(self, kernel: RecordKernel, calls: int) -> None:
        super().__init__(kernel, calls)
        self._names: tuple[str, ...] | None = None  # of the other arguments in the last launch
        self._places: list[int] = []  # of all arguments but the reader's then

    def put_named(
        self, constants: Mapping[str, Any], state: State | None, edges: tuple[Any, ...], others: Mapping[str, Any],
        known: Addresses,
    ) -> None:  # fmt: skip
        """Set the run's `CONSTANTS`, the arguments from the state, the reader's arguments, and all others by name;
        `known` keeps the addresses of arrays for all tables of a run."""
        kernel, names = self.kernel, tuple(others)
        if names != self._names:
            if len(names) != len(kernel.places):
                raise TypeError(f"{kernel.name} takes {sorted(kernel.places)}, not {sorted(names)}")
            self._names, self._places = names, [*kernel.usual, *map(kernel.places.__getitem__, names)]
        if edges:  # buffers of pages come and go, so nobody keeps their addresses
            self.put_all(range(len(edges)), edges)
        self.put_all(self._places, [*kernel.constants(constants), *kernel.of_state(state), *others.values()], known)


def constants_of(bound: BoundProgram, arrays: GraphArrays) -> dict[str, Any]:
    """The `CONSTANTS` of a run."""
    into, out = arrays.in_edges.offsets, arrays.out_edges.offsets
    return dict(zip(CONSTANTS, (
        arrays.n, into, out, arrays.degree_offsets, bound.parameters, bound.vertex_data,
    ), strict=True))  # fmt: skip


def all_of(getter: Callable[..., Callable[[Any], Any]], *items: str) -> Callable[[Any], tuple[Any, ...]]:
    """A function that gets all these `items` of an object, with `operator.attrgetter` or `itemgetter`."""
    if len(items) > 1:
        return getter(*items)
    single = [getter(item) for item in items]
    return lambda source: tuple(get(source) for get in single)
