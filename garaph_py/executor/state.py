"""The state of a run: vertex values, frontiers, and which memories hold the newest values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph.vertex_set import VertexSet
from ..pages.layout import Page
from ..program.elsewhere import Elsewhere
from .modes import PULL

Array = npt.NDArray[Any]
Values = Array | Elsewhere
"""A reported value for each vertex: on the host, or in a device's memory."""

HOST = "host"
"""The host's memory, as `Holders` names it. A device is named by its executor."""
OnPage = Callable[[Page, Array, Array], None]
"""``on_page(page, values, active)`` is told of each page that an asynchronous run has processed: the new values of its
vertices, and the words of a bitmap of those that have changed. Several threads may call it."""


class Holders:
    """Which memories hold the newest vertex values: the host's, a device's, or several.

    An executor that computes new values calls `wrote`; an executor that copies them to another memory calls `copied`.
    Values are copied on demand only: they stay where they were computed until another memory needs them.
    """

    def __init__(self) -> None:
        self._newest = {HOST}

    def wrote(self, *memories: str) -> None:
        """Record that these memories hold new values, and that the values in all others are out of date."""
        self._newest = set(memories)

    def copied(self, memory: str) -> None:
        """Record that the newest values have been copied to this memory too."""
        self._newest.add(memory)

    def has(self, memory: str) -> bool:
        """Whether this memory holds the newest values."""
        return memory in self._newest

    def is_alone(self, memory: str) -> bool:
        """Whether no other memory holds the newest values."""
        return self._newest == {memory}


SETS = ("frontier", "next_frontier", "notified", "pending")
"""The sets of vertices in a `State`."""
PARTS = ("values", "next_values", *SETS)
"""The parts of a `State` that only a device may have."""


class OnHost:
    """A part of a `State` that only a device has, until it is read: then it is copied to the host. What the host has is
    an ordinary attribute, which Python finds first."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, state: State | None, owner: type) -> Any:
        if state is None or self._name not in state.elsewhere:
            raise AttributeError(self._name)
        copy, old = state.elsewhere[self._name]
        part = state.__dict__[self._name] = copy(state, old)
        del state.elsewhere[self._name]
        return part


Copy = Callable[["State", Any], Any]
"""``copy(state, old)`` returns a part of `state` on the host; it may write it to `old`, what the host had before."""
Scan = Callable[[], frozenset[tuple[str, str]]]
"""Returns which fields of the values have numbers that are not finite: pairs of a field's name (``""`` if the values
have none) and ``"nan"`` or ``"inf"``."""


@dataclass
class State:
    """The values and frontiers of one run.

    A device that works alone keeps values and frontiers in its own memory. The host copies them when it reads them: for
    its own turn, a checkpoint or the result. It makes its other sets when it needs them.

    Attributes
    ----------
    values : ndarray, shape (n,)
        Vertex values as gather sees them (GlobalVertices, Garaph section 3.1).
    next_values : ndarray, shape (n,)
        The array that new values are written to. In synchronous runs, a second array, which is committed at the end of
        the iteration, or `values` itself as long as no value that is read can change. In asynchronous runs, `values`
        itself, so that new values are visible at once.
    synchronous : bool
    frontier : VertexSet
        The active vertices: those that changed in the last iteration.
    next_frontier : VertexSet
        The vertices that change in this iteration.
    notified : VertexSet
        The vertices that a notify-pull iteration updates.
    pending : VertexSet
        Changed vertices whose bucket has not been opened yet; empty if the program has no priority.
    active_count, active_edges, changeable : int
        Number of vertices in `frontier`, the sum of their out-degrees, and how many of them may change again (`done`
        does not hold for them).
    total : ndarray, shape (1,), or None
        The program's aggregate over all vertices.
    has_sums : bool
        The executor that did the last iteration keeps the sum of each vertex over all its in-edges, so that the next
        iteration may push deltas. Set by this executor; another one that loads the state sets it to False.
    unfinished_edges : int or None
        An upper estimate of the edges that a pull would visit, for a program whose pulls end late
        (`BoundProgram.ends_late`): those that the last pull visited, without one for each vertex for which `done` came
        to hold; before one, all edges.
    thresholds : ndarray of the values' dtype, shape (2,)
        Priorities that bound the open bucket: vertices up to the first have been processed; vertices above the first
        and up to the second are in the bucket.
    holders : Holders
        Which memories hold the newest values.
    elsewhere : dict of str to (callable, object)
        The parts that only a device has, by attribute: how the host copies each, and what it had before. What is set
        meanwhile takes their place.
    scan : callable or None
        Looks for numbers that are not finite in the values, where a device has them; None if the host has to look.
    """

    synchronous: bool
    active_count: int
    active_edges: int
    changeable: int
    total: Array | None
    thresholds: Array
    values: Array
    next_values: Array
    frontier: VertexSet
    next_frontier: VertexSet
    notified: VertexSet
    pending: VertexSet
    holders: Holders = field(default_factory=Holders)
    elsewhere: dict[str, tuple[Copy, Any]] = field(init=False, default_factory=dict)
    scan: Scan | None = field(init=False, default=None)
    has_sums: bool = field(init=False, default=False)
    unfinished_edges: int | None = field(init=False, default=None)

    @classmethod
    def empty(
        cls, n: int, values: Array, next_values: Array, synchronous: bool, frontier: VertexSet, *others: VertexSet
    ) -> State:  # fmt: skip
        """A state of `n` vertices without active ones or a total. Its other sets, in the order of `SETS`, are empty."""
        other, notified, pending = others or (VertexSet.empty(n) for _ in range(3))
        return cls(
            synchronous, 0, 0, 0, None, np.zeros(2, values.dtype), values=values, next_values=next_values,
            frontier=frontier, next_frontier=other, notified=notified, pending=pending,
        )  # fmt: skip

    def leave_on(self, memory: str, scan: Scan, **copies: Copy) -> None:
        """Record that only a device's `memory` has the newest values and the parts that `copies` names."""
        self.holders.wrote(memory)
        self.scan = scan
        self.leave(**copies)

    def leave(self, **copies: Copy) -> None:
        """Record that the host lacks the parts that `copies` names, and how it copies each when it reads it."""
        for name, copy in copies.items():
            old = self.elsewhere[name][1] if name in self.elsewhere else None
            self.elsewhere[name] = copy, self.__dict__.pop(name, old)

    def to_host(self) -> None:
        """Copy everything to the host that only a device has."""
        for part in PARTS:
            getattr(self, part)

    def is_on_host(self, *parts: str) -> bool:
        """Whether the host has all these parts; reading them copies nothing then."""
        return self.__dict__.keys() >= {*parts}

    def swap_values(self) -> None:
        """Make the new values the current ones."""
        self._swap("values", "next_values")

    def advance(self, active: int, active_edges: int, changeable: int) -> None:
        """Make the next frontier the current one, and record its `active_count`, `active_edges` and `changeable`."""
        self._swap("frontier", "next_frontier")
        self.active_count, self.active_edges, self.changeable = active, active_edges, changeable

    def visited(self, mode: str, edges: int, active: int, changeable: int) -> None:
        """Reckon `unfinished_edges`, if they are known, after an iteration in `mode` that visited so many edges and
        made so many vertices `active`, of which `changeable` may change again."""
        if self.unfinished_edges is not None:
            before = edges if mode == PULL else self.unfinished_edges
            self.unfinished_edges = max(before - active + changeable, 0)

    def _swap(self, one: str, other: str) -> None:
        """Exchange two parts, wherever they are."""
        for parts in filter(None, (self.__dict__, self.elsewhere)):
            parts |= {to: parts.pop(name) for name, to in ((one, other), (other, one)) if name in parts}


for _name in PARTS:
    setattr(State, _name, OnHost(_name))
