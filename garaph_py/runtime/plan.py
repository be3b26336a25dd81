"""`plan`: turns options into decisions, before anything is opened. Pure: the caller describes the machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..codec.arrays import PACKED
from ..dispatch.scheduler import Schedule
from ..errors import DeviceError
from ..executor.gpu import device as gpu_device
from ..executor.gpu.gather import AUTO, REPLICATED, SEGMENTED
from ..executor.gpu.interface import can_replicate
from ..executor.gpu.settings import Settings
from ..executor.memory import MemoryPlan
from ..executor.modes import CPU, GPU, PULL, PULL_TILED, PUSH
from ..graph import Graph
from ..graph.arrays import GraphArrays
from ..graph.tiles import BITS
from ..native.threads import LONG_SPINS, SPINS, available_cores
from ..program import BoundProgram
from .options import ANY, CPU_MODES, HYBRID, RunOptions

SPARED_CORES = 2
"""Cores that the CPU's threads leave free in a hybrid run: one for the GPU thread and one for a thread of the driver. A
machine with at most twice this number of cores leaves none free."""
MIN_GPU_EDGES = 12_500_000
"""Edges per CPU thread from which ``device="auto"`` uses a GPU. Starting a GPU takes 0.5 s; in that time, a thread
gathers this many edges in each of ten iterations, at 2.5e8 edges/s."""
MAX_TILE_SKEW = 1.5
"""Limit on the load imbalance of tiles: the time that one thread takes for the tile row with the most edges, over the
time that all threads take for all edges."""


@dataclass(frozen=True)
class Machine:
    """The facts about the machine that a plan depends on.

    Attributes
    ----------
    cores : int
        Cores that this process may use.
    has_gpu : callable
        Whether there is a GPU that can be used. `plan` calls it only if the plan depends on it, because the call loads
        the driver.
    """

    cores: int
    has_gpu: Callable[[], bool]

    @classmethod
    def here(cls) -> Machine:
        """The machine that this process runs on."""
        return cls(available_cores(), has_gpu)


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """How a run is carried out; executors are opened with it (`executor.protocol.OpenPlan`).

    Attributes
    ----------
    executor : {"cpu", "gpu", "hybrid"}
        The executor that begins the run.
    needs_gpu : bool
        If no GPU can be used, the run fails instead of using the CPU.
    synchronous : bool
        New values become visible in the next iteration, not at once.
    threads : int or None
        Threads of the CPU; None for every core that this process may use.
    spins : int
        How often an idle CPU thread looks for work before it sleeps.
    schedule : Schedule
        The engine, and the limits of its decisions.
    memory : MemoryPlan
        Host memory that the run needs in addition to the edges.
    page_edges : int or None
        Upper bound on the in-edges of a page, if the user gave one.
    pushes : bool
        The CPU may push, so it needs the values of out-edges.
    is_tiled : bool
        Every iteration pulls by tiles.
    gpu : Settings
        How to use a GPU.
    """

    executor: str
    needs_gpu: bool
    synchronous: bool
    threads: int | None
    spins: int
    schedule: Schedule
    memory: MemoryPlan
    page_edges: int | None
    pushes: bool
    is_tiled: bool
    gpu: Settings


def has_gpu() -> bool:
    """Whether there is a GPU that can be used."""
    with contextlib.suppress(DeviceError):
        gpu_device.find()
        return True
    return False


def plan(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine) -> RunPlan:
    """Decide how a program runs over a graph, whose edges are already in the run's encoding.

    Parameters
    ----------
    bound : BoundProgram
    graph : Graph
    options : RunOptions
        Checked against the program and the graph (`check_run_options`).
    machine : Machine
    """
    executor, synchronous = executor_of(graph.m, options, machine), is_synchronous(bound, options)
    threads = options.threads
    if executor == HYBRID and threads is None:
        threads = cores_beside_gpu(machine.cores)
    pushes, is_tiled = may_push(bound, graph, options), options.mode == PULL_TILED
    return RunPlan(
        executor=executor,
        needs_gpu=options.needs_gpu,
        synchronous=synchronous,
        threads=threads,
        spins=LONG_SPINS if executor == HYBRID else SPINS,
        schedule=schedule_of(bound, graph, options, synchronous, threads or machine.cores),
        memory=MemoryPlan.of(bound, graph, synchronous, pushes, is_tiled),
        page_edges=options.page_edges,
        pushes=pushes,
        is_tiled=is_tiled,
        gpu=settings_of(bound, graph.encoding, options),
    )


def executor_of(edges: int, options: RunOptions, machine: Machine) -> str:
    """The executor that begins the run: ``"cpu"``, ``"gpu"`` or ``"hybrid"``.

    ``device="auto"`` gives ``"gpu"`` for a large graph even if the machine has no GPU: opening it then fails, and the
    run goes on with the CPU, and, if there is a driver, with a note that says why.
    """
    if options.device != ANY:
        return options.device
    worth_it = edges >= MIN_GPU_EDGES * (options.threads or machine.cores)
    if options.mode in CPU_MODES or not worth_it:
        return CPU
    can_share = options.mode in (ANY, PULL) and not options.deterministic
    return HYBRID if can_share and machine.has_gpu() else GPU


def cores_beside_gpu(cores: int) -> int:
    """Number of CPU threads in a hybrid run on a machine with `cores` cores."""
    return cores - SPARED_CORES if cores > 2 * SPARED_CORES else cores


def is_synchronous(bound: BoundProgram, options: RunOptions) -> bool:
    """Whether new values become visible in the next iteration only.

    If the user leaves `sync` open, a run is asynchronous if it ends in the same values either way, and the policy
    allows it.
    """
    if options.sync is not None:
        return options.sync
    is_free = options.policy.chooses_asynchrony and options.iterations is None and not options.deterministic
    return options.mode == PULL_TILED or not (is_free and bound.is_order_independent)


def may_push(bound: BoundProgram, graph: Graph, options: RunOptions) -> bool:
    """Whether an iteration on the CPU may push, so that it needs the values of out-edges."""
    has_values = graph._arrays.has_valued_out_edges or not bound.reads_edge_values
    return bound.is_relaxation and PUSH in options.policy.modes and options.mode in (ANY, PUSH) and has_values


def schedule_of(bound: BoundProgram, graph: Graph, options: RunOptions, synchronous: bool, threads: int) -> Schedule:
    """The run's policy and the limits of its decisions."""
    return Schedule(
        policy=options.policy,
        iterations=options.iterations,
        mode=options.forced_mode,
        tiles=synchronous and bound.tiles and suits_tiles(graph._arrays, bound.reads_edge_values, threads),
        k=graph._arrays.in_edges.k,
        buckets=not graph.on_disk or options.mode == PUSH,  # each iteration reads from disk again
    )


def settings_of(bound: BoundProgram, encoding: str, options: RunOptions) -> Settings:
    """How to use a GPU, for edges in this encoding."""
    return Settings(
        memory=options.gpu_bytes,
        streams=options.streams,
        gather=gather_of(bound, encoding, options),
        replication=options.replication_factor,
        page_edges=options.page_edges,
        deterministic=options.deterministic,
        iterations=options.iterations,
        threads=options.threads,
        transfer=options.policy.transfer,
    )


def gather_of(bound: BoundProgram, encoding: str, options: RunOptions) -> str:
    """How the GPU sums over edges in this encoding; `AUTO` if a measurement on the GPU decides."""
    if options.gather != AUTO:
        return options.gather
    if encoding == PACKED:
        return PACKED
    if options.deterministic:  # a measured time must not influence the answer
        return SEGMENTED
    gather = options.policy.gather
    return SEGMENTED if gather == REPLICATED and not can_replicate(bound) else gather


def suits_tiles(arrays: GraphArrays, weighted: bool, threads: int) -> bool:
    """Whether the graph has tiles, and their load imbalance is within `MAX_TILE_SKEW`."""
    if not arrays.has_tiles(weighted):
        return False
    largest = int(np.diff(np.append(arrays.in_edges.offsets[: -1 : 1 << BITS], arrays.m)).max())
    return largest * threads <= MAX_TILE_SKEW * arrays.m
