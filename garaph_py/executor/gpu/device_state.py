"""The state of a run in a device's memory: how it is copied to and from the host, and what the device says about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DeviceMemoryError
from ...graph.vertex_set import BLOCK, WORD, VertexSet
from ...pages.layout import Page
from ...program import BoundProgram
from ...program.narrow import ValuesTooWide
from ..state import Copy, State, Values
from .answers import DeviceAnswer
from .device import Device, failing
from .device_graph import DeviceGraph
from .handles import NON_BLOCKING
from .interface import float_fields, not_finite_fields
from .launch import Launcher
from .memory_plan import REPORT_VERTICES
from .numbering import Numbering
from .pinned import Pinned
from .pinned_pool import Answer, PinnedPool
from .run_arrays import RunArrays
from .settings import Settings
from .staging import CopyBack, StagedReturn

Array = npt.NDArray[Any]

COLLECTED = {"values": "collected", "frontier": "collected_bits"}
"""Where the kernel `collect` writes an array of the run by the user's numbers."""
LaunchPart = Callable[[int, int, Any], None]
"""``launch(first, last, stream)`` launches kernels for the vertices [first, last)."""
LaunchInto = Callable[[int, int, int, Any], None]
"""``launch(first, last, place, stream)`` launches kernels that write what belongs to these vertices to an address."""


@dataclass
class StateCopy:
    """A copy of a state on the host, which the device may still be writing.

    Attributes
    ----------
    values : ndarray, shape (n,)
    bits : ndarray of uint64
        The frontier.
    written : pycuda.driver.Event
        Recorded after the copy.
    device : Device
    """

    values: Array
    bits: Array
    written: Any
    device: Device

    @property
    def is_complete(self) -> bool:
        """Whether everything is on the host."""
        with self.device, failing(self.device.driver):
            return bool(self.written.query())


class DeviceState:
    """The values and frontiers of a run on one device.

    Parameters
    ----------
    bound : BoundProgram
    numbering : Numbering
        The vertices as the device numbers them. On the host, they always have the user's numbers.
    arrays : RunArrays
    kept : DeviceGraph
    launcher : Launcher
    pool : PinnedPool or Pinned
        Makes the host's arrays.
    settings : Settings
        Says how many CPU threads copy answers, and whether the host gets them.

    Attributes
    ----------
    found : frozenset or None
        What `not_finite` returns for the values as they are; None if nobody has looked yet.
    """

    def __init__(
        self, bound: BoundProgram, numbering: Numbering, arrays: RunArrays, kept: DeviceGraph, launcher: Launcher,
        pool: PinnedPool | Pinned, settings: Settings,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._bound, self._n, self._arrays, self._kept = bound, numbering.arrays.n, arrays, kept
        self._numbering = numbering
        self._launcher, self._pool, self._device = launcher, pool, kept.device
        self._copying: tuple[Any, Any, Any] | None = None  # stream and events of `start_copy`
        self.found: frozenset[tuple[str, str]] | None = None

    def close(self) -> None:
        """Let go of the device's memory, even if a state refers to this object."""
        del self._numbering, self._arrays, self._kept, self._launcher, self._copying

    def made(self, synchronous: bool) -> State:
        """A state without anything on the host, for a run that begins on the device."""
        none = np.empty(0, self._bound.value)
        state = State.empty(0, none, none, synchronous, VertexSet.empty(0))
        state.leave(notified=self._new_set, pending=self._new_set)
        return state

    def leave(self, state: State, memory: str) -> None:
        """Record that only this device, whose `memory` has this name, has the state after an iteration."""
        self.found = None if float_fields(self._bound.value) else frozenset()
        state.leave_on(
            memory, self.not_finite, values=self._values,
            next_values=self._spare_values if state.synchronous else lambda state, _: state.values,
            next_frontier=self._frontier, frontier=self._empty_set,
        )  # fmt: skip

    def replace_in(self, state: State) -> None:
        """After another device has failed, have the host read from this one the values and the frontier that it
        lacks."""
        copies: dict[str, Copy] = {"values": self._values, "frontier": self._frontier}
        state.leave(**{name: copy for name, copy in copies.items() if not state.is_on_host(name)})

    def receive(self, pages: Iterable[Page], state: State, stream: Any) -> None:
        """Start to copy to the device, on `stream`, the new values of pages that another processor processed (section
        4.1)."""
        size, place, driver = state.next_values.itemsize, self._arrays.address("next_values"), self._device.driver
        with self._device, failing(driver):
            for page in pages:
                new = state.next_values[page.first_vertex : page.last_vertex].view(np.uint8)
                driver.memcpy_htod_async(place + page.first_vertex * size, new, stream)

    def refresh(self, state: State, values: bool) -> None:
        """Copy the host's state to the device: the frontier if `prepare` or the kernels for relaxations read it.

        If `values`, copy all vertex values too, because another processor has changed them.
        """
        changed = {"values": self._numbering.to_device(state.values, self._settings.threads)} if values else {}
        reads = "prepare" in self._bound.arguments or self._bound.is_relaxation
        if reads and state.is_on_host("frontier"):
            changed["frontier"] = self._numbering.bits_to_device(state.frontier.bits)
        if not changed:
            return
        with self._device, failing(self._device.driver):
            for name, array in changed.items():
                self._device.driver.memcpy_htod(self._arrays.address(name), array.view(np.uint8))

    def commit(self, copied: Sequence[Page], swaps: bool) -> None:
        """Make the new values the current ones: copy those of the pages `copied`, then swap the arrays if `swaps`.

        The device's context must be current.
        """
        arrays, size = self._arrays, self._bound.value.itemsize
        if arrays.are_values_divided:
            to, source = map(arrays.address, ("next_values", "values") if swaps else ("values", "next_values"))
            for page in copied:
                at = page.first_vertex * size
                self._device.driver.memcpy_dtod(to + at, source + at, page.vertices * size)
            if swaps:
                arrays.swap("values", "next_values")
        arrays.swap("frontier", "next_frontier")

    def _spare_values(self, _: State, old: Array) -> Array:
        return old if len(old) == self._n else self._pool_array(self._n, self._bound.value)

    def _values(self, state: State, old: Array) -> Array:
        array = self._spare_values(state, old)
        self._read("values", Answer(array))
        return array

    def _new_set(self, state: State, old: VertexSet) -> VertexSet:
        return VertexSet.empty(self._n)

    def _empty_set(self, _: State, old: VertexSet) -> VertexSet:
        """A set with arbitrary contents; the reader of the next frontier clears it first."""
        if len(old.blocks) == -(-self._n // BLOCK):
            return old
        bits = self._pool_array(-(-self._n // WORD), np.dtype(np.uint64))
        bits[:] = 0
        return VertexSet(bits, np.zeros(-(-self._n // BLOCK), np.uint8))

    def _frontier(self, state: State, old: VertexSet) -> VertexSet:
        frontier = self._empty_set(state, old)
        self._read("frontier", Answer(frontier.bits))
        frontier.loosen()
        return frontier

    def _pool_array(self, count: int, dtype: np.dtype[Any]) -> Array:
        with self._device, failing(self._device.driver):
            return self._pool.empty(count, dtype)

    def _read(self, name: str, to: Answer) -> None:
        """Copy the run's ``"values"`` or ``"frontier"`` to the host."""
        if self._numbering.order is not None:
            self.in_parts(to, self._kernel("collect", COLLECTED[name]), 1 if name == "values" else WORD)
        elif to.array.nbytes:
            with self._device, failing(self._device.driver):
                array, place = to.array.view(np.uint8), self._arrays.address(name)
                self._copying_to(to, self._copy_now, lambda copy: copy(array, place, None))

    def _copy_now(self, array: Array, place: int, _: Any) -> None:
        """Copy bytes to the host, and return when they are there (`CopyBack`)."""
        self._device.driver.memcpy_dtoh(array, place)

    def _copying_to(self, to: Answer, pinned: CopyBack, act: Callable[[CopyBack], None]) -> None:
        """Call ``act(copy)``, where `copy` copies to the array `to`: `pinned` if that is pinned. The device's context
        must be current."""
        if isinstance(self._pool, PinnedPool) and not to.is_pinned:
            StagedReturn(self._kept, self._pool, self._settings.threads).run(act)
        else:
            act(pinned)

    def not_finite(self) -> frozenset[tuple[str, str]]:
        """The fields of which some value is NaN or infinite (`executor.state.Scan`)."""
        if self.found is None:
            with self._device, failing(self._device.driver):
                task = self._arrays.task_of_range(0, self._n)
                task["page"]["not_finite"] = self.place_of_found()
                self._launcher.on_threads("find_not_finite", self._n, None, task)
                self.read_found()
        assert self.found is not None
        return self.found

    def place_of_found(self) -> int:
        """The address of the bits of fields that are not finite, which are 0 now."""
        return self._kept.memory.allocate("not finite", 8)

    def read_found(self) -> None:
        """Set `found` to what a kernel has written at `place_of_found`."""
        if float_fields(self._bound.value):
            bits = np.zeros(1, np.uint64)
            self._device.driver.memcpy_dtoh(bits.view(np.uint8), self._kept.memory.at("not finite"))
            self.found = not_finite_fields(self._bound.value, int(bits[0]))

    def start_copy(self) -> StateCopy:
        """Start to copy values and frontier to the host, beside the next iterations; the last copy must be complete.

        The device first copies both within its own memory. If that is too small, the copy is made at once.
        """
        driver, n, names = self._device.driver, self._n, ("values", "frontier")
        arrays = self._pool_array(n, self._bound.value), self._pool_array(-(-n // WORD), np.dtype(np.uint64))
        with self._device, failing(driver):
            if self._copying is None:
                handles = self._kept.handles
                self._copying = handles.stream(NON_BLOCKING), handles.event(), handles.event()
            stream, copied, written = self._copying
            try:
                places = [
                    self._kept.memory.allocate(f"copy of {name}", array.nbytes)
                    for name, array in zip(names, arrays, strict=True)
                ]
            except DeviceMemoryError:
                for name, array in zip(names, arrays, strict=True):
                    self._read(name, Answer(array))
                written.record()
                return StateCopy(*arrays, written, self._device)
            self._copy(dict(zip(names, places, strict=True)), [array.nbytes for array in arrays])
            copied.record()
            stream.wait_for_event(copied)
            for place, array in zip(places, arrays, strict=True):
                if array.nbytes:
                    driver.memcpy_dtoh_async(array.view(np.uint8), place, stream)
            written.record(stream)
        return StateCopy(*arrays, written, self._device)

    def _end_copy(self) -> None:
        """Free the memory of the last copy of the state on the device, once it is on the host: the plan reserves no
        memory for it."""
        if self._copying is not None:
            self._copying[0].synchronize()
        for name in COLLECTED:
            self._kept.memory.free(f"copy of {name}")

    def report(self, state: State, before: LaunchPart | None = None) -> Values:
        """The reported values of all vertices, shape (n,); `before` launches what is needed first.

        They are on the host, unless the settings leave them on the device, and there is room for them.
        """
        if self._bound.reports_values and state.is_on_host("values"):
            return state.values
        if not self._settings.fetch and (left := self._leave(before)) is not None:
            return left
        to = self.answer(self._bound.reports)
        if self._bound.reports_values:
            self._read("values", to)
        else:
            self.report_part(to, (0, self._n), before)
        return to.array

    def _leave(self, before: LaunchPart | None) -> DeviceAnswer | None:
        """The reported values in memory of their own on the device; None if there is no room."""
        driver, pool = self._device.driver, self._pool if isinstance(self._pool, PinnedPool) else None
        with self._device, failing(driver):
            self._end_copy()
            if self._settings.memory is not None and not self._kept.has_room(self._n * self._bound.reports.itemsize):
                return None
            try:
                answer = DeviceAnswer(self._device, self._n, self._bound.reports, pool)
            except driver.MemoryError:
                return None
            with answer.lent(self._device) as place:
                assert place is not None
                if self._bound.reports_values:
                    self._copy({"values": place}, [self._n * self._bound.value.itemsize])
                elif self._n:
                    self._kernel("report", "reported", before)(0, self._n, place, None)
                driver.Context.synchronize()
        self._check_narrowed()
        return answer

    def _check_narrowed(self) -> None:
        """Refuse reported values if one did not fit the bits in which it was stored."""
        if self._bound.is_narrowed and self._has_lost():
            raise ValuesTooWide

    def report_part(self, to: Answer, vertices: tuple[int, int], before: LaunchPart | None) -> None:
        """Compute the reported values of the `vertices` [first, last), in their place in an array of those of all."""
        self.in_parts(to, self._kernel("report", "reported", before), vertices=vertices)
        self._check_narrowed()

    def answer(self, dtype: np.dtype[Any]) -> Answer:
        """Room on the host for a number or a row of each vertex, shape (n,)."""
        with self._device, failing(self._device.driver):
            if isinstance(self._pool, PinnedPool):
                return self._pool.answer(self._n, dtype)
            return Answer(self._pool.empty(self._n, dtype))

    def _has_lost(self) -> bool:
        """Whether `report` has found a value that does not fit 32 bits."""
        lost = np.zeros(1, np.uint32)
        with self._device, failing(self._device.driver):
            self._device.driver.memcpy_dtoh(lost.view(np.uint8), self._arrays.address("lost"))
        return bool(lost[0])

    def reserve_parts(self, nbytes: int) -> None:
        """Have room on the device for what `in_parts` computes, if a vertex has `nbytes`."""
        self._kept.memory.allocate("reported", 2 * self._half * nbytes, clear=False)

    @property
    def _half(self) -> int:
        """Vertices that kernels compute an array for at a time."""
        return -(-min(self._n, REPORT_VERTICES) // (2 * WORD)) * WORD

    def _kernel(self, name: str, field: str, before: LaunchPart | None = None) -> LaunchInto:
        """Launch a kernel that writes to the argument `field` what belongs to the vertices of a page.

        ``before(first, last, stream)`` launches other kernels for these vertices first.
        """

        def launch(first: int, last: int, place: int, stream: Any) -> None:
            task = self._arrays.task_of_range(first, last)
            task["page"][field] = place
            if before is not None:
                before(first, last, stream)
            self._launcher.on_threads(name, last - first, stream, task)

        return launch

    def in_parts(self, to: Answer, launch: LaunchInto, each: int = 1, vertices: tuple[int, int] | None = None) -> None:
        """Have kernels compute an array part by part, and copy it to the host: all of it, or what belongs to the
        `vertices` [first, last).

        Each item of the array belongs to `each` vertices.
        """
        begin, end = vertices or (0, self._n)
        if begin == end:
            return
        half, size, array, driver = self._half, to.array.itemsize, to.array.view(np.uint8), self._device.driver
        nbytes = half // each * size
        with self._device, failing(driver):
            self._end_copy()
            place = self._kept.memory.allocate("reported", 2 * nbytes)
            # While one half of the buffer is copied, the kernel fills the other.
            halves = [(self._kept.handles.stream(), place + k * nbytes) for k in range(2)]

            def act(copy: CopyBack) -> None:
                for first in range(begin, end, half):
                    last, (stream, at) = min(first + half, end), halves[(first - begin) // half % 2]
                    launch(first, last, at, stream)
                    copy(array[first // each * size : -(-last // each) * size], at, stream)

            self._copying_to(to, driver.memcpy_dtoh_async, act)
            for stream, _ in halves:
                stream.synchronize()

    def _copy(self, places: dict[str, int], sizes: list[int]) -> None:
        """Copy ``"values"`` and ``"frontier"`` to other `places` on the device, by the user's numbers."""
        if self._numbering.order is not None:
            task = self._arrays.task_of_range(0, self._n)
            for name, place in places.items():
                task["page"][COLLECTED[name]] = place
            self._launcher.on_threads("collect", self._n, None, task)
            return
        for (name, place), nbytes in zip(places.items(), sizes, strict=True):
            if nbytes:
                self._device.driver.memcpy_dtod(place, self._arrays.address(name), nbytes)
