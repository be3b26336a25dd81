"""What a GPU's memory keeps of a graph from one run to the next: offsets, ranks and resident pages.

A graph has one `DeviceGraph`, among its derived arrays; it is freed when the graph is, when they are released, and when
another graph needs the memory (the least recently used one goes first). One run at a time uses it. A run that finds it
in use makes another for itself, which is freed at its end. Answers that stay on the device (`answers.DeviceAnswer`) go
in their turn, too.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import threading
import weakref
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

from ...errors import DeviceMemoryError
from ...graph.adjacency import Adjacency
from ...graph.arrays import GraphArrays
from ...program import BoundProgram
from .device import Device, failing
from .handles import Handles
from .kept_lists import KeptLists
from .launch import Launcher
from .mapped import MappedEdges
from .memory import DeviceMemory
from .memory_plan import wanted_bytes
from .order import Ordering
from .packing import measured
from .pinned import Pinned
from .ranks import Ranks
from .settings import Settings

log = logging.getLogger("garaph_py")

Array = npt.NDArray[Any]

NAME = "memory of GPU"
"""Name of a `DeviceGraph` among a graph's derived arrays; the identity of its `Device` follows."""

MISSING = object()
"""The contents of an allocation that holds nothing of use."""
MOST_KINDS = 64
"""Kinds of runs whose needs a graph remembers; the oldest is forgotten first."""

_lock = threading.Lock()
_recent: list[weakref.ref[Kept]] = []  # those that may be found again, the least recently used first


class Kept(Protocol):
    """What a device's memory keeps until another run needs the memory.

    Attributes
    ----------
    device : Device
    handles : Handles
        Its streams and events.
    held : int
        Bytes of the device's memory.
    is_in_use : bool
        A run uses it, so that it cannot be freed now.
    """

    device: Device
    handles: Handles

    @property
    def held(self) -> int: ...

    @property
    def is_in_use(self) -> bool: ...

    def give_up(self) -> None:
        """Free the memory, unless a run has just begun to use it. The device's context must be current."""


class Kind(NamedTuple):
    """What determines what a run needs of a graph, if its other options are the usual ones.

    Attributes
    ----------
    program : str
        The name of the program's class.
    with_values : bool
        It reads edge values.
    gpus : int
        GPUs that share the graph.
    memory : int or None
        Bytes of each GPU's memory that it may use, if the user has bounded them.
    """

    program: str
    with_values: bool
    gpus: int = 1
    memory: int | None = None


class Needs(NamedTuple):
    """What a run that has ended needed of a graph in a device's memory.

    Attributes
    ----------
    edge_bytes : float
        Mean bytes of an edge, with its value if the run reads it.
    contents : dict of str to (object, int)
        What allocations held, and their bytes, by their names.
    """

    edge_bytes: float
    contents: dict[str, tuple[Hashable, int]]

    @property
    def nbytes(self) -> int:
        """Bytes of all."""
        return sum(nbytes for _, nbytes in self.contents.values())


class KeptBytes(NamedTuple):
    """Bytes of a graph in a device's memory at the end of a run.

    Attributes
    ----------
    kept : int
        Those that stay for later runs.
    needed : int
        Those of them that the run needs. The others are of runs that need something else.
    found : int
        Those that the run needs, and that were there when it began.
    """

    kept: int = 0
    needed: int = 0
    found: int = 0


class DeviceGraph:
    """Device memory of one graph, and of the run that uses it.

    Attributes
    ----------
    handles : Handles
        The streams and events of the run.
    gathers : dict of str to str
        Which gather was measured to be faster, by program (`Gather`).
    memory : DeviceMemory
        All allocations. `give_back` frees those that the run has made for itself.
    pinned : Pinned
        The arrays that the graph's edges are copied from.
    lists : KeptLists
        Edge lists of runs that only push.
    needs : dict of Kind to Needs
        What the last run of each kind needed; that of the latest one is last.
    far_runs : int
        Runs whose pushes read raw out-edges in host memory, while all in-edges were in the device's.
    ordering : Ordering
        What is known about the graph's hub order.
    """

    def __init__(self, device: Device) -> None:
        self.ordering = Ordering()
        self.device, self.memory, self.pinned = device, DeviceMemory(device, 0), Pinned()
        self._measured: tuple[Array, float] | None = None
        self._too_little = -1  # the largest budget that was not enough to measure
        self._contents: dict[str, Hashable] = {}
        self._ranks: Ranks | None = None
        self._mapped: dict[tuple[str, str, bool], MappedEdges | None] = {}
        self.lists, self.handles = KeptLists(), Handles(device.driver)
        self.gathers: dict[str, str] = {}
        self.needs: dict[Kind, Needs] = {}
        self._kind: Kind | None = None  # of the run that uses it, and how wide its edges are
        self._edge_bytes = 0.0
        self._needed: dict[str, tuple[Hashable, int]] = {}
        self._found, self._made = set[str](), set[str]()  # names of what was there, and of what the run has made
        self.far_runs = 0
        self._in_use, self._is_found = threading.Lock(), False
        weakref.finalize(self, free, device, self.memory, self.pinned, self.lists, self.handles).atexit = False

    @classmethod
    def of(cls, arrays: GraphArrays, device: Device) -> DeviceGraph:
        """The graph's device memory on `device`, made if there is none yet."""
        return arrays.derived.get(name_on(device), lambda: cls(device), lambda _: 0)

    @classmethod
    def existing(cls, arrays: GraphArrays, device: Device) -> DeviceGraph | None:
        """The graph's device memory on `device`; None if there is none yet."""
        return cls.of(arrays, device) if name_on(device) in arrays.derived else None

    @classmethod
    def take(cls, arrays: GraphArrays, device: Device) -> DeviceGraph:
        """The graph's device memory on `device`, for one run, which must call `give_back`."""
        found = cls.of(arrays, device)
        if not found._in_use.acquire(blocking=False):
            found = cls(device)
            found._in_use.acquire()
            return found
        found._is_found, found._kind, found._needed = True, None, {}
        found._found, found._made = set(), set()
        found.handles.begin()
        remember(found)
        return found

    def begin(self) -> None:
        """Note that a run begins, or begins again, to place and to find what it needs."""
        self._kind, self._needed = None, {}

    def has_begun(self, kind: Kind, edge_bytes: float) -> None:
        """Note that a run of this kind has placed all that it needs to begin, with so many bytes for an edge."""
        self._kind, self._edge_bytes = kind, edge_bytes

    def give_back(self, is_whole: bool) -> KeptBytes:
        """End the run's use: free what it has made for itself, or everything unless the graph's part `is_whole`.

        The device's context must be current.
        """
        try:
            if not (is_whole and self._is_found):
                self.clear()
                return KeptBytes()
            self.memory.retain(self._contents)
            needs = Needs(self._edge_bytes, self._needed)
            if self._kind is not None:
                self._remember(self._kind, needs)
            found = sum(nbytes for name, (_, nbytes) in needs.contents.items() if name in self._found)
            return KeptBytes(self.memory.used, needs.nbytes, found)
        finally:
            self._in_use.release()

    def _remember(self, kind: Kind, needs: Needs) -> None:
        """Note what a run needed that has ended."""
        self.needs.pop(kind, None)
        self.needs[kind] = needs
        for oldest in list(self.needs)[:-MOST_KINDS]:
            del self.needs[oldest]

    @property
    def held(self) -> int:
        """Bytes of the device's memory that the graph keeps, those of unified memory as if all were there."""
        return self.memory.held + self.lists.nbytes

    @property
    def is_in_use(self) -> bool:
        """Whether a run uses it."""
        return self._in_use.locked()

    def give_up(self) -> None:
        """Free everything unless a run uses it. The device's context must be current."""
        if self._in_use.acquire(blocking=False):
            try:
                self.clear()
            finally:
                self._in_use.release()

    def clear(self) -> None:
        """Free everything. The device's context must be current."""
        self._contents.clear()
        self._mapped.clear()
        self.lists.close()
        self.needs, self._needed = {}, {}
        self._found, self._made = set(), set()
        self._measured, self._ranks, self._too_little = None, None, -1
        self.ordering = Ordering()
        self.handles.close()
        try:
            self.memory.close()
        finally:
            self.pinned.close()

    def ranks(self, arrays: GraphArrays, threads: int | None) -> Ranks:
        """The ranks of the graph's destinations. A graph whose memory is bounded does not keep them."""
        if self._ranks is not None:
            return self._ranks
        ranks = Ranks.of(arrays.in_edges.offsets, threads, keeps_words=not arrays.on_disk)
        if arrays.memory is None:
            self._ranks = ranks
        return ranks

    def mapped(self, name: str, edges: Adjacency, reads_values: bool) -> MappedEdges | None:
        """The graph's `edges` of this name in host memory, mapped once; None if they cannot be (`MappedEdges.of`).

        The device's context must be current.
        """
        key = name, edges.encoding, reads_values
        if key not in self._mapped:
            self._mapped[key] = MappedEdges.of(edges, reads_values, self.pinned)
        return self._mapped[key]

    def measure(self, arrays: GraphArrays, launcher: Launcher, budget: int) -> tuple[Array, float]:
        """The records that the graph's sources would have if packed, computed once, and the seconds that this took.

        Raises
        ------
        DeviceMemoryError
            If the computation needs more than `budget` bytes of device memory, or did in an earlier run that had no
            less; only the first such run frees what the graph keeps.
        """
        if self._measured is not None:
            return self._measured
        if budget <= self._too_little:
            raise DeviceMemoryError(f"to measure packed edges takes more than {budget:,} bytes; see gpu_memory")
        with self.device, failing(self.device.driver):
            self.retain({})
        try:
            self._measured = measured(arrays, launcher, self.device, budget, self.pinned)
        except DeviceMemoryError:
            self._too_little = budget
            raise
        return self._measured

    def make_room(self, wanted: Mapping[str, Hashable], used: int, budget: int) -> None:
        """Free memory that this graph, and then other graphs, keep and the run does not need.

        The run plans to have `used` bytes of its `budget`, with the allocations that hold what is `wanted`.
        """
        others = self.retain(wanted, budget - used)
        self.memory.trim(max(budget - self.memory.used, 0))
        make_room(self.device, self, budget - used - others)
        self.memory.budget = budget

    def has_room(self, nbytes: int) -> bool:
        """Whether the run may take so many bytes more of its budget, beside what others keep. Frees spare allocations
        if it must."""
        room = self.memory.budget - kept_bytes(self.device, self) - nbytes
        self.memory.trim(max(room - self.memory.used, 0))
        return self.memory.held <= room

    def retain(self, wanted: Mapping[str, Hashable], room: int = 0) -> int:
        """Free all allocations except those that hold what is `wanted`, and other parts of the graph within `room`.

        Returns the bytes of these other parts.
        """
        others = 0
        for name, what in list(self._contents.items()):
            size = self.memory.size(name)
            if name not in wanted and others + size <= room:
                others += size
            elif wanted.get(name) != what:
                del self._contents[name]
        self.memory.retain(self._contents)
        return others

    def place(self, name: str, nbytes: int, what: Hashable) -> tuple[int, bool]:
        """The address of the allocation `name`, and whether it holds `what` already; if not, it holds zeros."""
        if self.holds(name, what) and self.memory.size(name) == max(nbytes, 16):
            self._needed[name] = what, self.memory.size(name)
            if name not in self._made:
                self._found.add(name)
            return self.memory.at(name), True
        self._contents.pop(name, None)
        return self.memory.allocate(name, nbytes), False

    def holds(self, name: str, what: Hashable) -> bool:
        """Whether the allocation `name` holds `what`."""
        return self._contents.get(name, MISSING) == what

    def keep(self, name: str, what: Hashable) -> None:
        """Note that the allocation `name` holds `what`, and keep it for later runs."""
        self._contents[name] = what
        self._needed[name] = what, self.memory.size(name)
        if name not in self._found:
            self._made.add(name)

    def bytes_there(self, needs: Needs) -> int:
        """How many of the bytes that a run needs the memory has."""
        return sum(nbytes for name, (what, nbytes) in needs.contents.items() if self.holds(name, what))


def kind_of_run(bound: BoundProgram, gpus: int, memory: int | None) -> Kind:
    """The kind of the program's runs on so many GPUs, which share the graph, with so much memory of each."""
    program = type(bound.program)
    return Kind(f"{program.__module__}.{program.__qualname__}", bound.reads_edge_values, gpus, memory)


def name_on(device: Device) -> str:
    """The name of a graph's `DeviceGraph` on `device` among its derived arrays."""
    return f"{NAME} {id(device)}"


def is_in_use(arrays: GraphArrays, device: Device) -> bool:
    """Whether a run uses what the graph keeps in the device's memory."""
    kept = DeviceGraph.existing(arrays, device)
    return kept is not None and kept.is_in_use


def drop(arrays: GraphArrays, device: Device) -> None:
    """Free what the graph keeps in the device's memory, once no run uses it."""
    kept = DeviceGraph.existing(arrays, device)
    if kept is None:
        return
    arrays.derived.release(name_on(device))
    with contextlib.suppress(Exception), device:
        kept.give_up()  # if a run uses it, the end of that run frees it


def remember(kept: Kept) -> None:
    """Note that something which the device's memory keeps has been used now."""
    with _lock:
        _recent[:] = [other for other in _recent if other() not in (kept, None)]
        _recent.append(weakref.ref(kept))


def kept_bytes(device: Device, besides: DeviceGraph | None = None) -> int:
    """Bytes that graphs which no run uses, and answers, keep in the device's memory, `besides` this graph."""
    return sum(kept.held for kept in idle(device, besides))


def budget_of(settings: Settings, device: Device, kept: DeviceGraph) -> int:
    """Bytes of the device's memory that a run with these `settings` may use, on the graph that is `kept` there."""
    free = device.free_memory() + kept.held + kept_bytes(device, kept)
    wanted, had = wanted_bytes(settings.memory, settings.deterministic, free, device.memory)
    if wanted > had:
        other = "; with other pages, float totals may differ in their last bits" * settings.deterministic
        log.warning("the run wants %d bytes of GPU memory, but only %d are available%s", wanted, had, other)
    return had


def make_room(device: Device, besides: DeviceGraph, most: int) -> None:
    """Free the memory of graphs and answers, the least recently used first, until they keep at most `most` bytes.

    `besides` is the graph for which room is made. The device's context must be current.
    """
    for kept in idle(device, besides):
        if kept_bytes(device, besides) <= most:
            return
        kept.give_up()


def idle(device: Device, besides: DeviceGraph | None = None) -> list[Kept]:
    """The graphs on the device that no run uses, and the answers there, the least recently used first."""
    with _lock:
        every = [reference() for reference in _recent]
    return [
        kept for kept in every
        if kept is not None and kept is not besides and kept.device is device and not kept.is_in_use
    ]  # fmt: skip


@atexit.register
def destroy_handles() -> None:
    """Destroy the handles of all graphs and answers, while there is a context in which PyCUDA can do so."""
    for kept in filter(None, [reference() for reference in _recent]):
        with contextlib.suppress(Exception), kept.device:
            kept.handles.close()


def free(device: Device, memory: DeviceMemory, pinned: Pinned, lists: KeptLists, handles: Handles) -> None:
    """Free everything that is not used any more, also after the device has failed."""
    with contextlib.suppress(Exception), device:
        for part in memory, lists, pinned, handles:
            with contextlib.suppress(Exception):
                part.close()
