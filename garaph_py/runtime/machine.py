"""The facts about this machine that a plan depends on. Each is looked up when the plan asks for it, not before.

Its GPUs are looked up once, because a plan asks for them several times. So each plan needs a `Machine` of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..dispatch.rates import Speeds
from ..errors import DeviceError
from ..executor.gpu import device as gpu_device
from ..executor.gpu import peers
from ..executor.gpu.compiler import is_compiled
from ..executor.gpu.device_graph import DeviceGraph
from ..executor.gpu.memory_plan import FREE_SHARE
from ..graph import Graph
from ..native.threads import available_cores
from ..program import BoundProgram
from ..system.memory import total_memory
from . import learned, speeds
from .options import RunOptions
from .past import Past
from .reckoning import OnDevice, Rates
from .several import Gpus

T = TypeVar("T")


@dataclass
class Machine:
    """The facts about the machine that a plan depends on; by default one of which nothing more is known.

    Attributes
    ----------
    cores : int
        Cores that this process may use.
    has_gpu : callable
        Whether there is a GPU that can be used. `plan` calls it only if the plan depends on it, because the call loads
        the driver and makes a context.
    has_driver : callable
        Whether there is a driver, without which there is no GPU.
    rates : callable
        The machine's speeds, as far as they are known.
    past : callable
        ``past(bound, graph, options, threads)``: earlier calls like this one.
    on_device : callable
        ``on_device(bound, graph, options)``: what is done already of preparing this call on the GPU.
    speeds : callable
        ``speeds(threads)``: what the hardware does, if that can be measured.
    gpus : callable
        What is known about the GPUs beyond the first.
    memory : callable
        The bytes of memory that this process may use.
    """

    cores: int
    has_gpu: Callable[[], bool]
    has_driver: Callable[[], bool] = lambda: True
    rates: Callable[[], Rates] = Rates
    past: Callable[[BoundProgram, Graph, RunOptions, int], Past] = lambda *_: Past()
    on_device: Callable[[BoundProgram, Graph, RunOptions], OnDevice] = lambda *_: OnDevice()
    speeds: Callable[[int], Speeds | None] = lambda threads: None
    gpus: Callable[[], Gpus] = Gpus
    memory: Callable[[], int] = lambda: 0

    @classmethod
    def here(cls) -> Machine:
        """The machine that this process runs on, for one plan."""
        return cls(
            available_cores(), has_gpu, gpu_device.has_driver, learned.rates, past, on_device, speeds.measured,
            Once(gpus), total_memory,
        )  # fmt: skip


class Once(Generic[T]):
    """A function that calls `find` the first time, and then returns the same."""

    def __init__(self, find: Callable[[], T]) -> None:
        self._find = find
        self._found: list[T] = []

    def __call__(self) -> T:
        if not self._found:
            self._found.append(self._find())
        return self._found[0]


def has_gpu() -> bool:
    """Whether there is a GPU that can be used."""
    with contextlib.suppress(DeviceError):
        gpu_device.find()
        return True
    return False


def gpus() -> Gpus:
    """How many GPUs there are, how many this process has found, and whether each reaches the next without the host."""
    count = gpu_device.count()
    found = sum(gpu_device.found(number) is not None for number in range(1, count))
    return Gpus(count, found, all(peers.can_reach(k - 1, k) for k in range(1, count)))


def past(bound: BoundProgram, graph: Graph, options: RunOptions, threads: int) -> Past:
    """What this process knows of earlier calls like this one."""
    return learned.History.of(graph._arrays).past(learned.kind(bound, options, threads), learned.placed(options))


def on_device(bound: BoundProgram, graph: Graph, options: RunOptions) -> OnDevice:
    """What is done already of preparing this call on the GPU. It does not look for a GPU."""
    found, arrays = gpu_device.found(), graph._arrays
    if found is None:
        architecture = learned.known().architecture
        return OnDevice(
            is_compiled=architecture is not None and is_compiled(bound, architecture), room=options.gpu_bytes
        )
    kept = DeviceGraph.existing(arrays, found)
    last = None if kept is None else kept.last
    if last is not None and last.with_values is not bound.reads_edge_values:  # they lie in another layout
        last = None
    return OnDevice(
        has_context=True,
        is_compiled=is_compiled(bound, found.architecture),
        nbytes=kept.memory.used if kept is not None and last is not None else 0,
        room=int(FREE_SHARE * found.memory) if options.gpu_bytes is None else options.gpu_bytes,
        edge_bytes=None if last is None else last.width,
    )
