"""What a bound program does on this machine: makes a plan, opens the resources, iterates, and makes the result."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .. import events
from ..checkpoint.saver import Saver
from ..codec.arrays import PACKED
from ..dispatch.policy import DEVICE_FEW_EDGES
from ..executor.gpu import device as gpu_device
from ..executor.modes import CPU, GPU
from ..graph import Graph
from ..native import reuse
from ..native.threads import ThreadPool, available_cores
from ..output.record import Record
from ..output.result import Result
from ..pages.memory import check_verifying
from ..pages.provider import SourceFactory
from ..program import BoundProgram
from ..program.carry import carrying, may_carry
from ..program.columns import pushing_rows
from ..program.elsewhere import Elsewhere
from ..system import interrupts
from ..system.watchdog import Watchdog
from . import learned
from .finite import FiniteCheck
from .lessons import Measured, lessons, reading
from .machine import Machine
from .options import ANY, RunOptions
from .past import EVEN_F, Past
from .plan import (
    LEAST_GPU_EDGES,
    Chosen,
    RunPlan,
    executor_of,
    gpus_of,
    is_synchronous,
    may_push,
    plan,
    without_cpu,
)
from .reckoning import OnDevice, Verdict, call_of, must_reverse, reversing_seconds
from .result import recorded_facts, result_of
from .runner import Opened, Runner, Watch
from .settled import repeated, settle
from .verify import verifier_of


def carry_out(
    bound: BoundProgram, graph: Graph, options: RunOptions, on_event: events.Listener,
    request: Mapping[str, Any] | None, watch: Watch | None = None,
) -> Result:  # fmt: skip
    """Run a bound program on a graph whose edges have the run's encoding."""
    program, record = bound.program, Record(options.trace, options.report)
    started, asked = time.perf_counter(), bound
    machine = Machine.here()
    bound, chosen = planned(bound, graph, options, machine, repeated(bound, graph, options))
    if chosen.executor != GPU or len(chosen.gpus) > 1 or options.checkpoint is not None:
        bound = bound.fetched()
    if watch is not None:
        settings, schedule = partial(replace, chosen.gpu, chains=False), replace(chosen.schedule, sees_each=True)
        chosen = replace(chosen, chains=False, settings=settings, schedule=schedule)
    verdict, ready = chosen.verdict or unreckoned(asked, graph, options, chosen, machine), time.perf_counter()
    with open_saver(options, on_event, request) as saver:
        with opened(bound, graph, options, chosen, record, saver, watch) as parts:
            finite = FiniteCheck(bound, graph.ids, options.check, parts.pool)
            runner = Runner(bound, graph, chosen, parts, finite, on_event)
            values = runner.run()
        result = result_of(bound, graph.ids, values, runner.stats)
        seconds = ready - started, time.perf_counter() - started
        # One that has lost a GPU, or whose answer is not on the host yet, is no example of its plan.
        if not (runner.has_lost_gpus or isinstance(values, Elsewhere)):
            remember(asked, graph, options, chosen, verdict, runner, seconds)
        if record.spans is not None:
            facts = recorded_facts(bound, graph, options, chosen.synchronous, result.stats.threads)
            record.write(result, graph, parts.pool.spans(), facts)
        if options.verify:
            on_event(events.Step("verifying", 0, 0, "edges"))
            verifier_of(program)(graph, result)
        return result if saver is None else replace(result, checkpoints=saver.finish())


def planned(
    bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine, chosen: Chosen | None = None
) -> tuple[BoundProgram, RunPlan]:
    """How the run is carried out on this machine; the bound program carries parents along where that pays.

    If the executor is not `chosen`, this chooses it.

    A processor that works alone may push rows of relaxations. A CPU that only pulls stores 64-bit values as they are:
    conversions would cost more time than the bytes save.
    """
    if bound.original is not None and not may_push(bound, graph, options):
        chosen = chosen or executor_of(bound, graph, options, machine)
        bound = bound.original if chosen.executor == CPU else bound
    are_final = options.iterations is None or is_synchronous(bound, options)  # a superstep replaces no value
    carries = options.checkpoint is None and are_final and may_carry(bound)
    if not (carries or bound.columns_relax):
        return bound, plan(bound, graph, options, machine, chosen)
    chosen = chosen or executor_of(bound, graph, options, machine)
    if chosen.executor == CPU:
        bound = carrying(bound) if carries else pushing_rows(bound)
        return bound, plan(bound, graph, options, machine, Chosen(CPU, chosen.verdict))
    if chosen.executor == GPU:
        gpus = chosen.gpus or gpus_of(bound, graph, options, machine, GPU)
        bound, chosen = without_cpu(bound, graph, gpus[0]), chosen._replace(gpus=gpus)
    return bound, plan(bound, graph, options, machine, chosen)


def remember(
    bound: BoundProgram, graph: Graph, options: RunOptions, chosen: RunPlan, verdict: Verdict | None, runner: Runner,
    seconds: tuple[float, float],
) -> None:  # fmt: skip
    """Learn from a run how long such calls take, so that ``device="auto"`` and `plan` reckon better with the next one.

    `seconds` are those of planning, which may have found the GPU, and of the whole call. A run that wrote more than its
    answer, or that the GPU left to the CPU, is no example. One that read edges from disk teaches how fast they come.
    Whoever has chosen the device, the graph remembers what the run took there.
    """
    (planning, whole), stats, there = seconds, runner.stats, runner.kept_bytes
    writes = options.checkpoint is not None or options.trace is not None or options.report is not None
    if writes or options.deterministic or (chosen.executor == CPU) != (stats.device == CPU):
        return
    if graph.on_disk:
        learned.teach(reading(graph.encoding, [(row.from_disk, row.seconds) for row in stats.iterations]), None)
    has_choice = chosen.executor != CPU or gpu_device.has_driver()
    if verdict is None and (graph.m < LEAST_GPU_EDGES or not has_choice):
        return
    found, shares = gpu_device.found(), stats.history.column("f")
    starting = planning if found is not None and verdict is not None and not verdict.there.has_context else 0.0
    measured = Measured(
        chosen.executor != CPU, whole - starting - stats.compile_seconds, stats.seconds, len(stats.history),
        stats.compile_seconds, starting, int(stats.history.column("active").sum()),
        int(np.count_nonzero(shares * graph.m <= DEVICE_FEW_EDGES)), int(np.count_nonzero(shares > EVEN_F)),
        float(shares[shares <= EVEN_F].sum()), there.needed, there.found,
    )  # fmt: skip
    history, way = learned.History.of(graph._arrays), (chosen.executor, len(chosen.gpus))
    called = learned.kind(bound, options, options.threads or available_cores())
    ordering = 0.0 if verdict is None or measured.on_gpu else reversing_seconds(verdict.call)
    found_out = history.found_out
    history.add(called, way, learned.placed(options), measured, graph.n, ordering)
    if history.found_out == found_out:  # otherwise the next call has to choose with what is known now
        settle(bound, graph, options, chosen, measured)
    if verdict is None or chosen.left is not None:  # a choice that is repeated rests on older facts
        return
    if options.device == ANY and not measured.on_gpu:
        history.lose(verdict, measured)
    if not graph.on_disk and len(chosen.gpus) < 2:  # the rates are those of one GPU
        learned.teach(lessons(verdict, measured), None if found is None else found.architecture)


def unreckoned(
    bound: BoundProgram, graph: Graph, options: RunOptions, chosen: RunPlan, machine: Machine
) -> Verdict | None:
    """What would have been reckoned for a run on the CPU that had no GPU to choose; None if it is no example, or if no
    later run can have a choice, because there is no driver."""
    is_usual = options.device in (ANY, CPU) and options.mode == ANY and options.policy.chooses_asynchrony
    if chosen.executor != CPU or not is_usual or graph.m < LEAST_GPU_EDGES or not machine.has_driver():
        return None
    if options.threads not in (None, machine.cores):
        return None
    call = call_of(bound, graph, options, machine.cores, Past(), chosen.pushes and must_reverse(bound, graph))
    return Verdict(False, "", call, OnDevice(), machine.rates())


def encoded(graph: Graph, options: RunOptions) -> Graph:
    """The graph, with its edges in the encoding of the run."""
    encoding = options.encoding_of(graph)
    if encoding == graph.encoding:
        return graph
    return graph.packed(options.threads) if encoding == PACKED else graph.unpacked(options.threads)


def open_saver(
    options: RunOptions, on_event: events.Listener, request: Mapping[str, Any] | None
) -> AbstractContextManager[Saver | None]:
    """Open the run's `Saver`; None if it keeps no checkpoints."""
    if options.checkpoint is None:
        return contextlib.nullcontext()
    return Saver(options.checkpoint, options.checkpoint_interval, options.resume, on_event, request)


@contextlib.contextmanager
def opened(
    bound: BoundProgram, graph: Graph, options: RunOptions, chosen: RunPlan, record: Record, saver: Saver | None,
    watch: Watch | None = None,
) -> Iterator[Opened]:  # fmt: skip
    """Open the resources that the run needs while it iterates; refuse a checkpoint of another run."""
    with (
        interrupts.Deferred(termination=saver is not None),
        Watchdog() as watchdog,
        ThreadPool(chosen.threads, chosen.spins) as pool,
        contextlib.nullcontext() if graph.memory is None else reuse.within(chosen.needs.values),
    ):
        if saver is not None:
            saver.open(bound, graph, chosen.synchronous, options.iterations, pool)
        if record.spans is not None:
            pool.trace()
        with SourceFactory(graph, bound.reads_edge_values, record.spans) as sources:
            if options.verify:
                check_verifying(graph, bound.reads_edge_values)
            yield Opened(pool, sources, watchdog, record, saver, watch)
