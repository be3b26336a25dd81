"""Estimates whether GPUs need the CPU's help, and the CPU theirs, for ``device="auto"`` and ``"hybrid"``; and says what
several GPUs cannot do. Pure: callers state the facts."""

from __future__ import annotations

from dataclasses import replace

from ..dispatch.policy import Policy
from ..executor.gpu.memory_plan import can_push_rows
from ..executor.modes import COMPONENTS, GPU, PULL
from ..graph import Graph
from ..program import BoundProgram
from ..program.columns import pushing_rows
from .options import ANY, RunOptions, gpu_may_push
from .reckoning import Call, OnDevice, gpu_can_push
from .watching import may_chain


def why_alone(
    bound: BoundProgram, graph: Graph, options: RunOptions, call: Call, there: OnDevice, gpus: int
) -> str | None:
    """Why this many GPUs work without the CPU in a `call` that takes them, for the user; None if the CPU may help.

    It may help a program that cannot push on a GPU, if few vertices are active in some iterations; and one that always
    pulls all edges, if it saves more than it costs. With edges on disk, it may only help one of the first kind.
    """
    if waits_for_disk(bound, graph, options):  # the memory that helping would take holds edges instead
        return "the disk is the limit, so the CPU would not help"
    if gpu_pushes(bound, graph, options):
        return "the program pushes on a GPU, so the CPU would not help"
    if options.engine != ANY:
        return None
    if call.past.are_faster_alone(gpus):
        return "earlier runs were faster without the CPU"
    if not pulls_all(bound, options) or cpu_helps(call, there, options.policy, gpus):
        return None
    return "the CPU's help would save less of the copies than it costs"


def why_cpu_alone(bound: BoundProgram, graph: Graph, options: RunOptions, pushes: bool) -> str | None:
    """Why the CPU works without GPUs where it is expected to be faster than they are; None if both may work.

    They do not if both wait for the disk. In a hybrid run no processor pushes deltas. So if the CPU alone `pushes`
    them, a GPU does not help: DeltaPageRank over linux-symrefs with room for a quarter of the edges took 52 ms on 16
    cores, and 78 with an H200 (docs/decisions/hybrid.md, "Which GPUs work alone").
    """
    if waits_for_disk(bound, graph, options):
        return "the CPU is faster, as both wait for the disk, so a GPU would not help"
    return "the CPU is faster and pushes deltas, so a GPU would not help" if bound.pushes_deltas and pushes else None


def waits_for_disk(bound: BoundProgram, graph: Graph, options: RunOptions) -> bool:
    """Whether edges are on disk, and each processor alone does every iteration well: it pulls all edges, or a GPU can
    push as the CPU can."""
    return graph.on_disk and (pulls_all(bound, options) or gpu_can_push(bound, graph, options))


def pulls_all(bound: BoundProgram, options: RunOptions) -> bool:
    """Whether every iteration pulls all edges."""
    return bound.updates_all_vertices or options.mode == PULL


def gpu_pushes(bound: BoundProgram, graph: Graph, options: RunOptions) -> bool:
    """Whether the GPU alone does every iteration well, those with few active vertices too.

    It pushes then, several iterations in a launch. A hybrid run never pushes deltas. Nor does the CPU help if the GPU
    has room for few edges, and reads lists in the host's memory: SSSP over R-MAT 24 with a quarter of the edges took 40
    ms on an H200 and 55 on both (docs/results/gpu.md, "CPU and GPU on one job").
    """
    chains = bound.is_relaxation and may_chain(options)
    return (chains or bound.pushes_deltas) and gpu_can_push(bound, graph, options)


def why_one(graph: Graph, options: RunOptions) -> str | None:
    """What tells the user why a run takes one GPU, however many are allowed; None if it may take several."""
    if options.lists is not None:
        return f"engine={options.engine!r} uses one"
    if graph.on_disk:
        return "one is as fast as the disk"
    if options.mode == COMPONENTS and options.device != GPU:
        return "several find components more slowly"
    return None


def why_only_pulls(bound: BoundProgram, graph: Graph, options: RunOptions) -> str | None:
    """What tells the user why a run on several GPUs pulls where one GPU would push; None if it would not."""
    if can_push_rows(bound, graph):
        return "several GPUs push no rows, so they pull" if gpu_may_push(pushing_rows(bound), options) else None
    would_push = not bound.is_relaxation and gpu_pushes(bound, graph, options)
    return "several GPUs push no deltas, so they pull" if would_push else None


def cpu_helps(call: Call, there: OnDevice, policy: Policy, gpus: int) -> bool:
    """Whether the CPU should take some of the pages that every pull copies to this many GPUs: what the scheduler would
    decide at the beginning of a hybrid run (`Rates.cpu_helps`)."""
    width = call.edge_bytes if there.edge_bytes is None else there.edge_bytes
    part = replace(call, edges=call.edges // gpus, edge_bytes=width)
    streamed = int(gpus * there.streamed(part) / width)
    return policy.first_rates(call.threads, (call.edges, streamed, width / gpus)).cpu_helps
