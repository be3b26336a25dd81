"""`plan`: turns options into decisions, before anything is opened. Pure: the caller describes the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from typing import NamedTuple

from ..dispatch.rates import Speeds
from ..dispatch.scheduler import Schedule
from ..errors import ParameterError
from ..executor.gpu.memory_plan import can_push_rows
from ..executor.gpu.settings import Settings
from ..executor.memory import MemoryPlan, sum_bytes, vertex_bytes
from ..executor.modes import CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..graph import Graph
from ..native.threads import LONG_SPINS, SPINS
from ..pages.memory import MemoryNeeds, bytes_on_disk
from ..program import BoundProgram
from ..program.columns import pushing_rows
from .cores import threads_of
from .gpu_settings import settings_of
from .gpus import numbers_of
from .helping import gpu_pushes, why_alone, why_cpu_alone, why_one, why_only_pulls
from .machine import Machine
from .options import ANY, CPU_MODES, HYBRID, RunOptions, finds_components, pushes_deltas
from .past import Past
from .reckoning import (
    Call,
    OnDevice,
    Rates,
    Verdict,
    call_of,
    choose,
    cpu_seconds,
    gpu_can_push,
    gpu_seconds,
    must_reverse,
)
from .several import best_of_several, how_many
from .tiling import has_tiles
from .watching import cpu_chains, looks_at_each

LEAST_GPU_EDGES = 1 << 20
"""Stored edges of a graph below which ``device="auto"`` is the CPU, and nothing is reckoned. One thread gathers so many
in 5 ms (at 2e8 edges/s), so little is at stake."""
SUMS_SHARE = 1 / 8
"""Most that the vertices' sums may take of the memory that is left for edges, if the user has bounded the memory and
asks for no mode: more memory for edges saves more."""
NO_DRIVER = "there is no NVIDIA driver (libcuda.so.1), so the CPU works alone"
"""Why a run under ``device="auto"`` uses none of the GPUs that the user allows."""


class Facts(NamedTuple):
    """A call, what is done already of preparing it on a GPU, and the machine's rates."""

    call: Call
    there: OnDevice
    rates: Rates


class Chosen(NamedTuple):
    """Which executor begins a run.

    Attributes
    ----------
    executor : {"cpu", "gpu", "hybrid"}
    verdict : Verdict or None
        The estimates of ``device="auto"``; None if there are none.
    why_alone : str or None
        Why GPUs work without the CPU, or the CPU without GPUs, if the run has chosen that.
    gpus : tuple of a tuple of int and str or None, or None
        What `gpus_of` returns, if the choice rests on it.
    left : int or None
        If an earlier call has made the choice: how many calls may repeat it, this one included.
    """

    executor: str
    verdict: Verdict | None = None
    why_alone: str | None = None
    gpus: tuple[tuple[int, ...], str | None] | None = None
    left: int | None = None


@dataclass(kw_only=True)
class RunPlan:
    """How a run is carried out; executors are opened with it (`executor.protocol.OpenPlan`).

    Attributes
    ----------
    executor : {"cpu", "gpu", "hybrid"}
        The executor that begins the run.
    verdict : Verdict or None
        The estimates by which the executor was chosen; None if there were none.
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
    deltas : bool
        A processor that works alone may push deltas, so it keeps the vertices' sums.
    is_tiled : bool
        Every iteration pulls by tiles.
    chains : bool
        A processor that works alone may do several iterations at once: nobody looks at each.
    settings : callable
        Makes `gpu`, which a run on the CPU does not ask for.
    gpus : tuple of int
        The numbers of the GPUs that the run may use; empty if it uses none.
    why_alone : str or None
        As in `Chosen`.
    why_gpus : str or None
        Why these GPUs, if the run has chosen.
    left : int or None
        As in `Chosen`.
    """

    executor: str
    verdict: Verdict | None
    needs_gpu: bool
    synchronous: bool
    threads: int | None
    spins: int
    schedule: Schedule
    memory: MemoryPlan
    page_edges: int | None
    pushes: bool
    deltas: bool
    is_tiled: bool
    chains: bool
    settings: Callable[[], Settings] = field(compare=False)
    gpus: tuple[int, ...]
    why_alone: str | None
    why_gpus: str | None
    left: int | None = None

    @cached_property
    def gpu(self) -> Settings:
        """How to use a GPU."""
        return self.settings()

    @property
    def needs(self) -> MemoryNeeds:
        """The host memory that the run takes beside edges, on the executor that begins it."""
        return {CPU: self.memory.cpu, GPU: self.memory.gpu, HYBRID: self.memory.both}[self.executor]

    @property
    def why(self) -> str | None:
        """Why the run begins with this executor, and with so many GPUs; None if nothing was reckoned."""
        reasons = None if self.verdict is None else self.verdict.why, self.why_alone, self.why_gpus
        return "; ".join(filter(None, reasons)) or None


def plan(
    bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine, chosen: Chosen | None = None
) -> RunPlan:
    """Decide how a program runs over a graph, whose edges are already in the run's encoding.

    Parameters
    ----------
    bound : BoundProgram
    graph : Graph
    options : RunOptions
        Checked against the program and the graph (`check_run_options`).
    machine : Machine
    chosen : Chosen, optional
        The executor, if the caller has chosen it.
    """
    executor, verdict, why, found, left = chosen or executor_of(bound, graph, options, machine)
    gpus, why_gpus = found or gpus_of(bound, graph, options, machine, executor)
    synchronous = is_synchronous(bound, options)
    pushes = may_push(bound, graph, options) and not (
        executor == HYBRID and (bound.pushes_deltas or leaves_values(bound, graph, options, machine))
    )
    deltas = pushes and bound.pushes_deltas
    pass_bytes = out_bytes(bound, graph) if executor == CPU and pushes and may_reenter(bound, options) else 0
    is_tiled = options.mode == PULL_TILED
    reads_lists = pushes or (executor == GPU and gpu_can_push(bound, graph, options))
    tiles = synchronous and bound.tiles and has_tiles(bound, graph, options, machine, executor)
    components, follows = finds_components(bound, options), follows_out(bound, options)
    memory = MemoryPlan(bound, graph, synchronous, reads_lists, is_tiled, components, deltas, follows)
    threads = threads_of(bound, graph, options, executor, machine.cores, memory)
    speeds = speeds_of(options, executor, machine, threads or machine.cores)
    return RunPlan(
        executor=executor,
        verdict=verdict,
        needs_gpu=options.needs_gpu,
        synchronous=synchronous,
        threads=threads,
        spins=LONG_SPINS if executor == HYBRID else SPINS,
        schedule=schedule_of(bound, graph, options, tiles, components, pass_bytes, speeds),
        memory=memory,
        page_edges=options.page_edges,
        pushes=pushes,
        deltas=deltas,
        is_tiled=is_tiled,
        chains=cpu_chains(options),
        settings=partial(settings_of, bound, graph.encoding, options, executor),
        gpus=gpus,
        why_alone=why,
        why_gpus=why_gpus,
        left=left,
    )


def executor_of(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine) -> Chosen:
    """The executor that begins the run, and what this choice rests on.

    ``device="auto"`` may give ``"gpu"`` even if the machine's GPU cannot be used: opening it then fails, and the run
    goes on with the CPU, with a note that says why.
    """
    if options.lists is not None:
        return Chosen(GPU)
    if options.device == ANY:
        return best_executor(bound, graph, options, machine)
    return hybrid_executor(bound, graph, options, machine) if options.device == HYBRID else Chosen(options.device)


def best_executor(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine) -> Chosen:
    """The executor of ``device="auto"``."""
    verdict = None if options.mode in CPU_MODES else reckon(bound, graph, options, machine)
    if verdict is None or not verdict.on_gpu:
        return Chosen(CPU, verdict)
    if options.mode not in (ANY, PULL) or options.deterministic or not machine.has_gpu():
        return Chosen(GPU, verdict)
    facts = Facts(verdict.call, verdict.there, verdict.rates)
    return on_gpus(bound, graph, options, machine, facts)._replace(verdict=verdict)


def hybrid_executor(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine) -> Chosen:
    """The executor of ``device="hybrid"``: one of the processors alone if the other is not expected to help."""
    if takes_both(graph, options) or not machine.has_gpu():  # opening it will say that there is none
        return Chosen(HYBRID)
    call, there, rates = facts = facts_of(bound, graph, options, machine)
    if cpu_seconds(call, rates) < gpu_seconds(call, there, rates):
        why = why_cpu_alone(bound, graph, options, may_push(bound, graph, options))
        return Chosen(HYBRID if why is None else CPU, why_alone=why)
    return on_gpus(bound, graph, options, machine, facts)


def on_gpus(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine, facts: Facts) -> Chosen:
    """The GPUs for a run that takes some, and whether the CPU helps them."""
    gpus = gpus_of(bound, graph, options, machine, GPU, facts)
    alone = without_cpu(bound, graph, gpus[0])
    why = why_alone(alone, graph, options, facts.call, facts.there, len(gpus[0]))
    return Chosen(HYBRID if why is None else GPU, why_alone=why, gpus=gpus)


def without_cpu(bound: BoundProgram, graph: Graph, gpus: tuple[int, ...]) -> BoundProgram:
    """The program as it runs on these GPUs without the CPU: one of them may push rows."""
    return pushing_rows(bound) if len(gpus) == 1 and can_push_rows(bound, graph) else bound


def takes_both(graph: Graph, options: RunOptions) -> bool:
    """Whether ``"hybrid"`` takes both processors without an estimate: the user chose its rules, or it has few edges."""
    return options.engine != ANY or options.mode not in (ANY, PULL) or graph.m < LEAST_GPU_EDGES


def gpus_of(
    bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine, executor: str, facts: Facts | None = None
) -> tuple[tuple[int, ...], str | None]:
    """The numbers of the GPUs that a run may use, and why these, if it has chosen; `facts` are those of `facts_of`.

    Raises
    ------
    ParameterError
        If the user asks for more than there are.
    """
    if executor == CPU:
        if options.device == HYBRID and options.asked_gpus is not None:
            allowed_gpus(options, machine)  # only to refuse more than the machine has
        if options.device == ANY and options.asked_gpus is not None and not machine.has_driver():
            return (), f"gpus={options.asked_gpus}: {NO_DRIVER}"
        return (), None
    if options.asked_gpus is None and options.device == GPU:
        return (0,), None
    may = allowed_gpus(options, machine)
    if len(may) > 1 and (needs := why_one(graph, options)) is not None:
        return may[:1], f"1 of {len(may)} GPUs: {needs}"
    why = None
    if options.device != GPU and not options.deterministic and len(may) > 1:
        call, there, rates = facts or facts_of(bound, graph, options, machine)
        count, why = how_many(call, there, rates, machine.gpus(), len(may))
        may = may[:count]
    elif options.asked_gpus is None:
        may = may[:1]
    pulls = why_only_pulls(bound, graph, options) if len(may) > 1 else None
    return may, "; ".join(filter(None, (why, pulls))) or None


def seconds_on_several(facts: Facts, graph: Graph, options: RunOptions, machine: Machine) -> float:
    """The expected time of a whole call on several GPUs; infinite if the run may not take several, or this process has
    not found one yet."""
    if not facts.there.has_context or why_one(graph, options) or len(may := allowed_gpus(options, machine)) == 1:
        return inf
    return best_of_several(*facts, machine.gpus(), len(may))[1]


def facts_of(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine) -> Facts:
    """The facts from which it is estimated how the run would do on GPUs."""
    threads = options.threads or machine.cores
    past, there = machine.past(bound, graph, options, threads), there_of(bound, graph, options, machine)
    return Facts(call_of(bound, graph, options, threads, past), there, machine.rates())


def allowed_gpus(options: RunOptions, machine: Machine) -> tuple[int, ...]:
    """The numbers of the GPUs that the user allows, the first if there is none.

    Raises
    ------
    ParameterError
        If there are fewer.
    """
    asked = options.asked_gpus
    if asked == 1:
        return (0,)
    there = machine.gpus().count
    most = max(asked) + 1 if isinstance(asked, tuple) else asked if isinstance(asked, int) else 0
    if 0 < there < most:
        raise ParameterError(
            f"gpus={asked}: the driver sees {there}, numbered from 0; ask for these, or use gpus='all'"
        )
    return tuple(numbers_of(asked, max(there, 1)))


def reckon(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine) -> Verdict | None:
    """Whether ``device="auto"`` takes the GPU; None if the graph is small, or there is no driver.

    It is also None for a search over edges on disk if the GPU would read lists again: the CPU can use reentry.

    The choice for a deterministic run depends on nothing that differs from one run to the next.
    """
    if graph.m < LEAST_GPU_EDGES or not machine.has_driver():
        return None
    threads = options.threads or machine.cores
    if options.deterministic:
        return choose(call_of(bound, graph, options, threads, Past()), OnDevice(is_compiled=True), Rates())
    past = machine.past(bound, graph, options, threads)
    call = call_of(bound, graph, options, threads, past, may_push(bound, graph, options) and must_reverse(bound, graph))
    searches = graph.on_disk and may_reenter(bound, options) and not finds_components(bound, options)
    if searches and not reads_lists_once(bound, graph, options, machine, call):
        return None
    facts = Facts(call, there_of(bound, graph, options, machine), machine.rates())
    return choose(*facts, seconds_on_several(facts, graph, options, machine))


def reads_lists_once(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine, call: Call) -> bool:
    """Whether the GPU's memory holds all lists on disk that a `call` follows, so that it reads none again.

    That is asked only of a call that takes longer on the CPU than it takes to look for a GPU.
    """
    rates = machine.rates()
    looks = bound.undirected and gpu_pushes(bound, graph, options) and cpu_seconds(call, rates) > rates.start
    return looks and machine.has_gpu() and there_of(bound, graph, options, machine).holds(call)


def there_of(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine) -> OnDevice:
    """What is done already of preparing a call on the GPU, and the room for edges: none if the policy keeps none."""
    found = machine.on_device(bound, graph, options)
    return found if options.policy.keep else replace(found, nbytes=0, room=0)


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
    has_values = not bound.reads_edge_values or graph._arrays.has_valued_out_edges
    relaxes = bound.is_relaxation and PUSH in options.policy.modes and options.mode in (ANY, PUSH)
    adds = pushes_deltas(bound, options) and (options.mode == PUSH or has_room_for_sums(bound, graph))
    return has_values and (relaxes or adds)


def follows_out(bound: BoundProgram, options: RunOptions) -> bool:
    """Whether iterations may follow out-edges, to notify or to push; others only pull, or find components."""
    is_free = options.mode == ANY and not bound.updates_all_vertices and not finds_components(bound, options)
    return is_free or options.mode in (NOTIFY_PULL, PUSH)


def has_room_for_sums(bound: BoundProgram, graph: Graph) -> bool:
    """Whether the vertices' sums, to which deltas are pushed, take little of the memory that the run may use."""
    if graph.memory is None:
        return True
    return sum_bytes(bound, graph) <= SUMS_SHARE * (graph.memory - vertex_bytes(bound, graph, arrays=2))


def leaves_values(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine) -> bool:
    """Whether a hybrid run leaves it to a later one to order the edge values by source, and does without pushes.

    It does if it copies the graph to the GPU: ordering the values takes longer than pushes save in a short run.
    """
    is_free = options.mode == ANY and must_reverse(bound, graph)
    return is_free and there_of(bound, graph, options, machine).nbytes == 0


def schedule_of(
    bound: BoundProgram, graph: Graph, options: RunOptions, tiles: bool, components: bool, pass_bytes: int,
    speeds: Speeds | None,
) -> Schedule:  # fmt: skip
    """The run's policy and the limits of its decisions."""
    return Schedule(
        policy=options.policy,
        iterations=options.iterations,
        mode=options.forced_mode,
        tiles=tiles,
        k=graph._arrays.in_edges.k,
        components=components,
        ends_early="done" in bound.arguments,
        buckets=not graph.on_disk or options.mode == PUSH,  # each iteration reads from disk again
        pass_bytes=pass_bytes,
        speeds=speeds,
        sees_each=looks_at_each(options),
    )


def speeds_of(options: RunOptions, executor: str, machine: Machine, threads: int) -> Speeds | None:
    """The measured speeds with which the rates of a run begin; None if the policy's own estimates do.

    They are not measured for a deterministic run, whose answer must not depend on them.
    """
    measures = executor == HYBRID and options.policy.hardware and not options.deterministic
    return machine.speeds(threads) if measures else None


def may_reenter(bound: BoundProgram, options: RunOptions) -> bool:
    """Whether pushes may use reentry: the answer does not depend on the order, and the user asks for no supersteps.

    Values are not final then where `done` holds, so a run that resumes from a checkpoint must not pull.
    """
    is_free = options.sync is not True and options.policy.chooses_asynchrony and options.iterations is None
    is_free = is_free and options.mode == ANY and not options.deterministic
    keeps = options.checkpoint is not None and "done" in bound.arguments
    return bound.is_monotone and is_free and not keeps


def out_bytes(bound: BoundProgram, graph: Graph) -> int:
    """Bytes of the out-edges that pushes read from disk; 0 if they are in memory."""
    return bytes_on_disk(graph._arrays.out_edges, bound.reads_edge_values)
