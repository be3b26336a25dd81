"""Executors of every kind over one program and graph, and the loop that runs them, without `garaph_py.run` around it.

GPUs are NumPy (tests/support/numpy_gpu.py). They know the programs `Hops` and `Quiet` alone.
"""

import contextlib
import time
from dataclasses import dataclass
from typing import NamedTuple

from garaph_py import events
from garaph_py.dispatch.loop import Loop
from garaph_py.dispatch.policy import POLICIES
from garaph_py.dispatch.scheduler import Schedule, Scheduler
from garaph_py.executor.cpu import CpuExecutor
from garaph_py.executor.gpu import device as gpu_device
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.multi_gpu import MultiGpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.executor.hybrid import HybridExecutor
from garaph_py.executor.memory import MemoryPlan
from garaph_py.executor.modes import CPU, GPU
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.provider import SourceFactory
from garaph_py.program import bind
from garaph_py.system.watchdog import Heartbeat
from tests.support.parts_executor import PartsExecutor, on_parts

PAGE_EDGES = 3000


class Kind(NamedTuple):
    """Whether a host takes part in the devices' iterations, and how many GPUs, and parts of a cluster, there are."""

    helps: bool = False
    gpus: int = 0
    parts: int = 0


KINDS = {
    "cpu": Kind(), "gpu": Kind(gpus=1), "two GPUs": Kind(gpus=2), "five GPUs": Kind(gpus=5),
    "hybrid": Kind(True, 1), "hybrid of two GPUs": Kind(True, 2), "hybrid of five GPUs": Kind(True, 5),
    "one part": Kind(parts=1), "three parts": Kind(parts=3), "three parts on GPUs": Kind(gpus=1, parts=3),
}  # fmt: skip
"""The executors, by name."""
IN_ANY_ORDER = [name for name, kind in KINDS.items() if not kind.parts]
"""Those that take pages in the order that a policy wants."""


@dataclass(frozen=True)
class Plan:
    """`OpenPlan`: what an executor is opened with."""

    synchronous: bool
    memory: MemoryPlan
    page_edges: int | None = PAGE_EDGES
    deltas: bool = False
    chains: bool = False


@dataclass
class Run:
    """One program over one graph on an executor that is not open yet.

    Attributes
    ----------
    drivers : list of FakeDriver
        Of each GPU.
    records : list of Iteration
        Of the iterations that were done.
    """

    bound: object
    graph: object
    executor: object
    sources: SourceFactory
    drivers: list
    records: list

    def open(self, synchronous, left=None):
        """The initial state, or the one that another executor has `left`."""
        memory = MemoryPlan(self.bound, self.graph, synchronous, pushes=True, is_tiled=False)
        return self.executor.open(Plan(synchronous, memory), self.sources, left)

    def iterate(self, state, iterations=None, policy=POLICIES["auto"], mode=None):
        """Go on until `iterations` are done in all, or to the end; whether it came to the end."""
        schedule = Schedule(policy, iterations, mode)
        loop = Loop(
            self.bound, self.graph.n, self.graph.m, schedule, time.perf_counter(), events.ignore, Heartbeat("test"),
            before=len(self.records),
        )  # fmt: skip
        ended = loop.run(self.executor, state)
        self.records += loop.done.records()
        return ended

    def decision(self, state, policy=POLICIES["auto"], mode=None):
        """What the scheduler decides for the next iteration."""
        schedule, can = Schedule(policy, mode=mode), self.executor.capabilities
        scheduler = Scheduler(schedule, self.graph.n, self.graph.m, self.bound, can)
        return scheduler.decide(scheduler.observe(state.active_count, state.active_edges))

    def result(self, synchronous, **how):
        """The reported values of a run from its beginning to its end."""
        state = self.open(synchronous)
        assert self.iterate(state, **how)
        return self.executor.report(state).copy()


@contextlib.contextmanager
def run_on(name, program, graph, device_for):
    """A `Run` on an executor of one of `KINDS`, closed at the end."""
    kind, bound, drivers, devices = KINDS[name], bind(program, graph), [], []
    with ThreadPool(2) as pool, SourceFactory(graph, bound.reads_edge_values) as sources:
        host = CpuExecutor(bound, graph, pool, events.ignore)
        if kind.parts:
            executor = PartsExecutor(program, graph, kind.parts, GPU if kind.gpus else CPU)
            drivers += [on_parts(device_for, program, graph, kind.parts) for _ in range(kind.gpus)]
        else:
            for _ in range(kind.gpus):
                drivers.append(device_for(program, graph))
                devices.append(gpu_device.find())
            executor = executor_on(devices, bound, graph, host, kind.helps)
        try:
            yield Run(bound, graph, executor, sources, drivers, [])
        finally:
            executor.close()
            host.close()


def executor_on(devices, bound, graph, host, helps):
    """The executor of a host and so many GPUs; the host takes part in iterations if it `helps`."""
    settings = Settings(gather="segmented", page_edges=PAGE_EDGES)
    members = [GpuExecutor(bound, graph, device, settings, host) for device in devices]
    gpus = MultiGpuExecutor(graph, members, host) if len(members) > 1 else members[0] if members else None
    return HybridExecutor(graph, host, [gpus]) if helps else gpus or host
