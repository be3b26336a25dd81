"""`Runner`: carries out the plan of a run; if no GPU can be used, or the GPU fails, it falls back to the CPU."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy.typing as npt

from .. import events
from ..checkpoint.saver import Saver
from ..dispatch.loop import Loop
from ..errors import DeviceError, DeviceMemoryError, GraphError, PolicyError, ProgramError
from ..executor.cpu import CpuExecutor
from ..executor.gpu import device as gpu_device
from ..executor.gpu.device import Device
from ..executor.gpu.device_graph import KeptBytes
from ..executor.gpu.executor import GpuExecutor
from ..executor.gpu.memory_plan import shortage
from ..executor.gpu.multi_gpu import MultiGpuExecutor
from ..executor.hybrid import HybridExecutor
from ..executor.modes import COMPONENTS, CPU
from ..executor.protocol import Executor
from ..executor.state import OnPage, State, Values
from ..graph import Graph
from ..native.compiling import compile_seconds, notice, work_clock
from ..native.threads import ThreadPool
from ..output.record import Record
from ..output.stats import Stats
from ..pages.provider import SourceFactory
from ..program import BoundProgram
from ..program.check import check_types
from ..system import interrupts
from ..system.watchdog import Heartbeat, Watchdog
from .finite import FiniteCheck
from .options import HYBRID
from .plan import RunPlan
from .safety import INTERVAL, SHARE, SafetyCopies

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")

OTHER_ENGINE = "or use engine='auto' (--engine auto)"
"""Advice if there is no GPU and the engine runs on GPUs only."""


class Watch(Protocol):
    """Looks at the state after each iteration, so that no executor does several at once."""

    def begin(self, executor: Executor, state: State, pool: ThreadPool) -> None:
        """Before the first iteration, on an executor that is open; again if the run begins again on another one. It may
        change the initial state."""

    def after(self, executor: Executor, state: State, iterations: int, pool: ThreadPool) -> None:
        """At the end of each iteration."""

    def end(self, pool: ThreadPool) -> Array:
        """After the last iteration, while the executor is open: what the run reports instead of the values."""


@dataclass
class Opened:
    """The resources of a run that are open while it iterates.

    Attributes
    ----------
    pool : ThreadPool
    sources : SourceFactory
    watchdog : Watchdog
    record : Record
    saver : Saver or None
        Makes the run's checkpoints; None if it keeps none.
    watch : Watch or None
    """

    pool: ThreadPool
    sources: SourceFactory
    watchdog: Watchdog
    record: Record
    saver: Saver | None
    watch: Watch | None = None


@dataclass(frozen=True)
class OnGpu:
    """An executor that has been opened on GPUs.

    Attributes
    ----------
    executor : Executor
    gpus : list of GpuExecutor
        Of each GPU: the same executor, or the parts of it that work on the GPUs.
    devices : list of Device
    several : MultiGpuExecutor or None
        The part of it that has several GPUs, if there are several.
    """

    executor: Executor
    gpus: list[GpuExecutor]
    devices: list[Device]
    several: MultiGpuExecutor | None

    @property
    def name(self) -> str:
        """The GPUs' names."""
        names = [device.name for device in self.devices]
        return f"{len(names)} x {names[0]}" if len(names) > 1 == len(set(names)) else ", ".join(names)

    @property
    def kept_bytes(self) -> KeptBytes:
        """Bytes of the graph that the GPUs keep, once their executors are closed."""
        return KeptBytes(*map(sum, zip(*(gpu.kept_bytes for gpu in self.gpus), strict=True)))

    def left(self) -> tuple[int, ...]:
        """After a failure, the numbers of the GPUs that still work."""
        if self.several is None or not (lost := self.several.lost()):
            return ()
        return tuple(device.number for device in self.devices if device.number not in lost)


class Runner:
    """One run on one executor; after a failure of the GPU, the CPU executor continues it.

    Parameters
    ----------
    bound : BoundProgram
    graph : Graph
    plan : RunPlan
    parts : Opened
    finite : FiniteCheck
    on_event : callable

    Attributes
    ----------
    kept_bytes : KeptBytes
        Bytes of the graph that GPUs keep after the run.
    note : str or None
        Why the GPU was not used, why it failed, or that its memory was short.
    """

    kept_bytes: KeptBytes
    note: str | None

    def __init__(
        self, bound: BoundProgram, graph: Graph, plan: RunPlan, parts: Opened, finite: FiniteCheck,
        on_event: events.Listener,
    ) -> None:  # fmt: skip
        self._bound, self._graph, self._plan, self._parts = bound, graph, plan, parts
        self._finite = finite
        self._on_event = notice if on_event is events.ignore else on_event
        self._heartbeat, self._compiler = Heartbeat("dispatcher", ("starting",)), Heartbeat("compiler")
        self._watch()
        self._compiled_before, self._compiling_since = compile_seconds(), 0
        check_types(bound, self._heard)
        policy = plan.schedule.policy
        how = policy.one_partition_per_thread, policy.every_edge
        self._cpu = CpuExecutor(bound, graph, parts.pool, self._heard, *how)
        if parts.saver is not None:
            parts.saver.guard, parts.saver.allows = finite.end, finite.allows
            self._cpu.on_page = self._on_page
        began = parts.record.began
        self._loop = Loop(bound, graph.n, graph.m, plan.schedule, began, on_event, self._heartbeat)
        self._converged, self._seconds, self._device, self._gpus = False, 0.0, CPU, plan.gpus
        self._placing: dict[str, float] = {}
        self._has_ended = False  # the iterations are complete
        self._state: State | None = None
        self._copies: SafetyCopies | None = None  # while the run is on a GPU
        self.kept_bytes, self.note = KeptBytes(), None

    @property
    def _on_page(self) -> OnPage | None:
        """The listener to the changes of each page: the saver, if it records them."""
        saver = self._parts.saver
        return saver.page if saver is not None and saver.wants_pages else None

    @property
    def stats(self) -> Stats:
        """Statistics of the run so far."""
        loop, pool = self._loop, self._parts.pool
        return Stats(
            loop.done, self._converged, self._seconds, pool.size, self._device, self.note, self._graph.encoding,
            loop.before, compile_seconds() - self._compiled_before, self._plan.why,
            self.kept_bytes.kept, self.kept_bytes.found, self._placing,
        )  # fmt: skip

    @property
    def has_lost_gpus(self) -> bool:
        """Whether a GPU that the plan names has failed, and others or the CPU went on."""
        return self._gpus != self._plan.gpus

    def run(self) -> Values:
        """Run to the end, and return the reported values.

        Raises
        ------
        DeviceError
            If the plan needs a GPU, and the run cannot begin on one.
        """
        try:
            while self._gpus:
                with contextlib.ExitStack() as stack:
                    begun = self._begin_on_gpu(stack)
                    values = None if begun is None else self._run_on_gpu(begun)
                if begun is None:
                    break
                if values is not None:
                    self.kept_bytes, self._placing = begun.kept_bytes, begun.gpus[0].placing
                    return values
            return self._run_on_cpu()
        finally:  # this object is in cycles, so its arrays would only go when the garbage collector runs
            self._cpu.close()
            self._state = self._copies = self._loop.after = None
            del self._cpu

    def _begin_on_gpu(self, stack: contextlib.ExitStack) -> OnGpu | None:
        """Open the plan's executor, which `stack` will close; None if the run has to fall back to the CPU."""
        try:
            devices = [gpu_device.find(number) for number in self._gpus]
            gpus = [self._gpu(device, stack) for device in devices]
            several = MultiGpuExecutor(self._graph, gpus, self._cpu) if len(gpus) > 1 else None
            if several is not None:
                stack.callback(several.close)
            executor: Executor = several or gpus[0]
            if self._plan.executor == HYBRID:
                executor = hybrid = HybridExecutor(self._graph, self._cpu, [several or gpus[0]])
                hybrid.on_page = self._on_page
            state = self._begin(executor, self._state)
            check_components(executor, self._plan, len(gpus))
            self._state = state  # from here on, values are in the executor's memory
        except (DeviceError, ProgramError, GraphError) as error:
            # GraphError: edges on disk need more memory if two processors read them.
            if self._plan.gpu.lists is not None and gpu_device.FALLBACK in str(error):  # which these engines refuse
                raise DeviceError(str(error).replace(gpu_device.FALLBACK, OTHER_ENGINE)) from error
            if self._plan.needs_gpu and self._gpus == self._plan.gpus:  # no GPU has been lost
                raise
            if not isinstance(error, gpu_device.NoDriverError):
                self._log(f"no GPU used: {error}")
            return None
        return OnGpu(executor, gpus, devices, several)

    def _gpu(self, device: Device, stack: contextlib.ExitStack) -> GpuExecutor:
        """An executor for one GPU, which `stack` will close."""
        gpu = GpuExecutor(self._bound, self._graph, device, self._plan.gpu, self._cpu, self._heard)
        stack.callback(gpu.close)
        gpu.spans, gpu.on_page = self._parts.record.spans, self._on_page
        return gpu

    def _run_on_gpu(self, begun: OnGpu) -> Values | None:
        """Run to the end on an open executor; return the reported values, or None if the GPU failed."""
        executor, state = begun.executor, self._state
        assert state is not None
        hybrid = executor if isinstance(executor, HybridExecutor) else None
        beats = [beat for gpu in begun.gpus for beat in gpu.streams.heartbeats]
        self._watch(*beats, *([] if hybrid is None else [hybrid.heartbeat]))
        self._device = begun.name
        # A graph whose memory is bounded leaves no room for copies.
        interval = INTERVAL if self._graph.memory is None else math.inf
        self._copies = SafetyCopies(self._graph.n * self._bound.value.itemsize, interval, SHARE)
        for short in filter(None, [shortage(gpu.residency) for gpu in begun.gpus]):
            self._log(short)
        try:
            self._iterate(executor, state)
            values = self._report(executor, state)
        except DeviceError as error:
            self._gpus = begun.left()
            rest = "the CPU" if not self._gpus else f"GPU {', '.join(map(str, self._gpus))}"
            self._log(f"{begun.name} failed after {len(self._loop.done)} iterations, {self._recover(rest)}: {error}")
            return None
        if hybrid is not None and hybrid.note is not None:  # the GPU failed, and the hybrid executor went on without it
            self.note, self._device = hybrid.note, CPU
        return values

    def _recover(self, rest: str) -> str:
        """Go back to the newest state that the host has, or to the beginning; say what the `rest` does, for a note."""
        state, loop, saver = self._state, self._loop, self._parts.saver
        assert state is not None
        assert self._copies is not None
        if saver is not None:
            saver.forget()
        watched = self._parts.watch is not None  # what it knows may be lost with the device
        if not watched and state.is_on_host("values", "frontier"):
            return f"{rest} goes on"
        iterations, self._has_ended = None if watched else self._copies.restore(state), False
        if iterations is None:
            self._state = None
            loop.done.keep(0)
            return f"{rest} begins again"
        loop.done.keep(iterations - loop.before)
        return f"{rest} goes on from iteration {iterations}"

    def _run_on_cpu(self) -> Values:
        """Run on the CPU, from the state that a failed GPU has left, if any; the CPU gets all memory for edges."""
        self._watch()
        self._device, self._copies, self._bound = CPU, None, self._bound.fetched()
        state = self._begin(self._cpu, self._state)
        if not self._has_ended:
            self._iterate(self._cpu, state)
        return self._report(self._cpu, state)

    def _begin(self, executor: Executor, left: State | None = None) -> State:
        """Open an executor; return the initial state, the one that a GPU has `left`, or that of the checkpoint."""
        saver, state = self._parts.saver, executor.open(self._plan, self._parts.sources, left)
        if left is None:
            self._finite.begin(state)
        if left is None and saver is not None:
            if (before := saver.restore(state, self._graph)) is not None:
                executor.load(state)
                self._loop.before = before
            saver.begin(state, self._loop.before)
        if self._parts.watch is not None:
            self._parts.watch.begin(executor, state, self._parts.pool)
        return state

    def _iterate(self, executor: Executor, state: State) -> None:
        copies = self._copies
        after: Any = self._after if copies is None else partial(self._after_on_gpu, copies)
        self._loop.after = partial(after, executor)
        started = work_clock()
        with contextlib.nullcontext() if self._parts.saver is None else interrupts.hold_first():
            try:
                self._converged = self._loop.run(executor, state)
            except PolicyError as error:
                raise PolicyError(f"{error}; {self._kept(state)}") from error.__cause__
            finally:
                self._seconds += work_clock() - started
            self._has_ended = True
        iterations = self._loop.before + len(self._loop.done)
        self._finite.end(state, iterations)
        if (saver := self._parts.saver) is not None:
            with self._parts.record.pause("checkpoint", changes(lambda: saver.saved)):
                saver.end(state, iterations)

    def _report(self, executor: Executor, state: State) -> Values:
        """The reported values, after the last iteration."""
        watch = self._parts.watch
        return executor.report(state) if watch is None else watch.end(self._parts.pool)

    def _kept(self, state: State) -> str:
        """Keep the state before an iteration that cannot begin; say how to go on from it."""
        iterations, saver = self._loop.before + len(self._loop.done), self._parts.saver
        if saver is None:
            return "with checkpoint=DIR, what has been done is kept"
        return saver.keep(state, iterations)

    def _after(self, executor: Executor, state: State, iterations: int) -> None:
        """At the end of an iteration, check the numbers, then make a checkpoint if one is due."""
        record = self._parts.record
        record.total(iterations - 1, state.total)
        self._finite.after(state, iterations)
        if self._parts.watch is not None:
            self._parts.watch.after(executor, state, iterations, self._parts.pool)
        if (saver := self._parts.saver) is not None:
            with record.pause("checkpoint", changes(lambda: saver.saved)):
                saver.after(state, iterations)

    def _after_on_gpu(self, copies: SafetyCopies, executor: Any, state: State, iterations: int) -> None:
        """At the end of an iteration on an executor that has a GPU."""
        self._after(executor, state, iterations)
        if len(self._gpus) > 1 and isinstance(executor, HybridExecutor) and executor.failure is not None:
            raise DeviceError(executor.failure)  # one of several GPUs is lost: begin again with the others
        copies.after(executor, state, iterations)

    def _watch(self, *more: Heartbeat) -> None:
        """Make the watchdog watch the dispatcher, the CPU's threads, the disks and `more`."""
        parts = self._parts
        parts.watchdog.parts = [self._heartbeat, parts.pool, self._compiler, *parts.sources.disks, *more]

    def _heard(self, event: events.Event) -> None:
        """Pass on an executor's event; tell the watchdog and the trace of functions that are compiled."""
        if isinstance(event, events.Step):
            ended, spans, now = event.done == event.total, self._parts.record.spans, time.perf_counter_ns()
            if event.done == 0:
                self._compiling_since = now
            if ended and spans is not None:
                spans.append(events.Span("compiler", event.name, self._compiling_since, now, {}))
            self._compiler.doing = ("idle",) if ended else (event.name, event.done, "of", event.total, event.unit)
        self._on_event(event)

    def _log(self, note: str) -> None:
        """Append a note for the result, and log it."""
        self.note = note if self.note is None else f"{self.note}; {note}"
        log.warning("%s", note)


def check_components(executor: Executor, plan: RunPlan, gpus: int) -> None:
    """Refuse to find components by union-find, as the user asks, on several GPUs that cannot exchange their trees.

    Raises
    ------
    DeviceMemoryError
    """
    if plan.schedule.mode == COMPONENTS and COMPONENTS not in executor.capabilities.modes:
        raise DeviceMemoryError(
            f"mode='components' on {gpus} GPUs needs memory on each for all edges of its part, and for trees; allow "
            "more with gpu_memory, use gpus=1, or leave mode out"
        )


def changes(value: Callable[[], int]) -> Callable[[], bool]:
    """A function that says whether ``value()`` has changed since this call."""
    now = value()
    return lambda: value() != now
