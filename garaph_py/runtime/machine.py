"""The facts about this machine that a plan depends on. Each is looked up when the plan asks for it, not before.

Its GPUs are looked up once, because a plan asks for them several times. So each plan needs a `Machine` of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ..dispatch.rates import Speeds
from ..errors import DeviceError
from ..executor.gpu import device as gpu_device
from ..executor.gpu import peers
from ..executor.gpu.compiler import is_compiled
from ..executor.gpu.device_graph import DeviceGraph, kind_of_run
from ..executor.gpu.memory_plan import FREE_SHARE
from ..graph import Graph
from ..graph.arrays import GraphArrays
from ..native.threads import available_cores
from ..program import BoundProgram
from ..system.memory import total_memory
from . import learned, speeds
from .options import RunOptions
from .past import Past
from .reckoning import OnDevice, Rates
from .several import Gpus


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
            cache(gpus), total_memory,
        )  # fmt: skip


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
    nbytes, needed, edge_bytes = kept_of(bound, options.gpu_bytes, device_graphs(arrays))
    return OnDevice(
        has_context=True,
        is_compiled=is_compiled(bound, found.architecture),
        nbytes=nbytes,
        needed=needed,
        room=int(FREE_SHARE * found.memory) if options.gpu_bytes is None else options.gpu_bytes,
        edge_bytes=edge_bytes,
    )


def device_graphs(arrays: GraphArrays) -> list[DeviceGraph]:
    """The graph's memory on the GPUs, from the first one on."""
    found = list[DeviceGraph]()
    while (device := gpu_device.found(len(found))) is not None:
        if (kept := DeviceGraph.existing(arrays, device)) is None:
            break
        found.append(kept)
    return found


def kept_of(bound: BoundProgram, memory: int | None, graphs: list[DeviceGraph]) -> tuple[int, int | None, float | None]:
    """`OnDevice.nbytes`, `needed` and `edge_bytes` of a call, over a graph that has this memory on the GPUs.

    They are a GPU's share of what the last such call needed, on that number of GPUs which have most of it. If there was
    none, the bytes are those that another program's last run on one GPU needed and that are still there, if that
    program reads edge values just as this one does or does not; then `needed` is not known.
    """
    runs = list[tuple[int, int, float]]()
    for count in range(1, len(graphs) + 1):
        each = [kept.needs.get(kind_of_run(bound, count, memory)) for kept in graphs[:count]]
        needs = [needed for needed in each if needed is not None]
        if len(needs) == count:
            there = sum(kept.bytes_there(needed) for kept, needed in zip(graphs, needs, strict=False))
            runs.append((there // count, sum(needed.nbytes for needed in needs) // count, needs[0].edge_bytes))
    if runs:
        return min(runs, key=lambda run: run[1] - run[0])
    others = reversed(list(graphs[0].needs.items())) if graphs else ()
    for kind, needed in others:
        if kind.with_values is bound.reads_edge_values and kind.gpus == 1:
            return graphs[0].bytes_there(needed), None, needed.edge_bytes
    return 0, None, None
