"""`run`: runs a vertex program on a Dask cluster: has the graph cut among the workers, and joins the answer."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import queue
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..codec.arrays import PACKED, RAW
from ..errors import ClusterError, ParameterError
from ..executor.modes import CPU, NOTIFY_PULL
from ..graph import Graph
from ..output.record import Record
from ..output.result import Result
from ..output.stats import Stats
from ..program import BoundProgram, VertexProgram, bind, oriented
from ..program.part import by_numbers, columns_of, with_columns
from ..runtime.carry_out import open_saver
from ..runtime.options import ANY, FINITE, RunOptions, check_run_options
from ..runtime.result import recorded_facts, result_of
from ..runtime.verify import verifier_of
from ..storage.partitioned_edges import PartitionedEdges
from ..system import interrupts
from ..system.sizes import counted, show_seconds
from . import finite
from .arrangement import arrange
from .balance import Balance, Move
from .checkpoints import Checkpoints, saying_how_to_resume, signals_held
from .client import Cluster, Conductor, wait_for_workers
from .heard import Heard
from .part_run import any_order
from .snapshots import Snapshots
from .source import sent
from .superstep import Report

Array = npt.NDArray[Any]

SENDABLE = ("iterations", "mode", "sync", "device", "gpu_memory", "deterministic", "check")
"""Options that the workers get."""
HERE = ("verify", "trace", "report", "checkpoint", "checkpoint_every", "resume")
"""Options that this process carries out."""
START_SECONDS = 10
"""Seconds that a run waits for the first worker, because the workers may be starting."""
NO_SENSE = {
    "threads": "each worker uses the threads that Dask gave it",
    "debug": "it runs the program in this process",
}
"""Why a run on a cluster refuses some of the other options."""


def run(
    program: VertexProgram, graph: Graph, options: RunOptions, cluster: Any, on_event: events.Listener,
    request: Mapping[str, Any] | None = None,
) -> Result:  # fmt: skip
    """Run a vertex program on a cluster, as `runtime.run` does on one machine; checkpoints record the `request`.

    Raises
    ------
    ParameterError
        If Dask is not installed, an option makes no sense on a cluster, or `cluster` is none.
    ClusterError
        If the cluster cannot carry out the run.
    NumberError
        If values or totals have become NaN or infinite that were not so at the start.
    """
    check_options(options)
    record = Record(options.trace, options.report)
    try:
        from . import dask
    except ImportError as error:
        raise ParameterError(
            f"cluster= needs Dask: {error}; install it with `pip install 'garaph_py[dask]'`, here and on the workers"
        ) from None
    graph = oriented(program, graph)
    bound = bind(program, graph)
    check_run_options(options, bound, graph)
    check_order(options, bound)
    if options.verify and isinstance(edges := graph._arrays.in_edges.neighbour_array, PartitionedEdges):
        edges.refuse()
    prepared = prepared_of(program, graph, options)
    heard_events: queue.SimpleQueue[events.Event] = queue.SimpleQueue()
    heard = Heard(heard_events.put, record, bound.total)
    with open_saver(options, heard_events.put, request) as saver, saying_how_to_resume(saver):
        checkpoints = None if saver is None else Checkpoints.open(saver, bound, graph, options.iterations)
        with dask.connected(cluster) as client, contextlib.nullcontext() if checkpoints is None else signals_held():
            workers = dask.DaskCluster(client, secrets.token_hex(16))
            if client is cluster:  # it will be there for the next run, too
                prepared["graph"] = dask.kept_name(graph._arrays.derived, client)
            work = conduct(workers, bound, graph, prepared, heard, checkpoints, options.iterations)
            meanwhile = interrupts.check if checkpoints is None else checkpoints.listen
            values, conductor, threads = dask.wait(client, work, heard_events, on_event, meanwhile)
        stats = stats_of(heard, conductor, threads)
        result = result_of(bound, graph.ids, values, stats)
        if record.spans is not None:
            facts = recorded_facts(bound, graph, options, True, threads)
            record.write(
                result, graph, (), facts | {"encoding": stats.encoding, "workers": len(set(conductor.addresses))}
            )
        if options.verify:
            on_event(events.Step("verifying", 0, 0, "edges"))
            verifier_of(program)(graph, result)
        return result if saver is None else dataclasses.replace(result, checkpoints=saver.finish())


def stats_of(heard: Heard, conductor: Conductor, threads: int) -> Stats:
    """The statistics of a run that has ended."""
    encoding = PACKED if any(how == PACKED for how, _ in conductor.found.values()) else RAW
    return Stats(
        heard.history, conductor.converged, heard.seconds - heard.compile_seconds, threads, heard.device,
        note_of(conductor.failures, heard.moves), encoding, conductor.before, heard.compile_seconds,
    )  # fmt: skip


def note_of(lost: Sequence[str], moves: Sequence[Move]) -> str | None:
    """What a user should know of a run in which workers were lost, or parts have moved; None of any other."""
    said = [f"during the run, {counted(len(lost), 'worker')} went, the last one {lost[-1]}"] if lost else []
    if moves:
        last = moves[-1]
        said.append(
            f"parts moved {counted(len(moves), 'time')}, the last time after {counted(last.superstep, 'superstep')} "
            f"and for {show_seconds(last.seconds)}, because {last.slowest} was slow: it computed for "
            f"{show_seconds(last.before)} in a superstep, and the slowest worker is now expected to need "
            f"{show_seconds(last.expected)}"
        )
    return "; ".join(said) or None


# wide: all that a run is made of
async def conduct(
    cluster: Cluster, bound: BoundProgram, graph: Graph, prepared: dict[str, Any], heard: Heard,
    checkpoints: Checkpoints | None = None, limit: int | None = None,
) -> tuple[Array, Conductor, int]:  # fmt: skip
    """Place the parts, and run, for at most `limit` supersteps. A worker gets as many edges as it has threads, or the
    share that it had in the last run over the graph.

    Returns the reported values, what happened, and the threads of all these workers.
    """
    workers = await wait_for_workers(cluster, START_SECONDS)
    if not workers:
        raise ClusterError("the cluster has no workers; start some, or wait for them: client.wait_for_workers(1)")
    shares = {address: float(facts.threads) for address, facts in workers.items()}
    kept = prepared.pop("graph", None)  # a `dask.KeptName`
    columns = prepared.pop("columns", None)
    if kept is not None and kept.shares.keys() == shares.keys():
        shares = kept.shares
    place = functools.partial(arrange, graph, bound, name=None if kept is None else kept.name)
    found = place(workers, shares)
    snapshots, nbytes = Snapshots(bound, graph.n), graph._arrays.raw_bytes
    balance = Balance(place, snapshots, found, nbytes, limit, heard.moved)

    def hear(superstep: int, reports: tuple[Report, ...]) -> None:
        if superstep > conductor.before:  # otherwise it is the state with which the run begins
            balance.hear(superstep, reports, conductor.addresses)
            heard(reports, conductor.addresses)

    conductor = Conductor(cluster, found, prepared, hear, checkpoints, balance, columns)
    try:
        reported = await conductor.run()
    finally:
        await conductor.close()
    finite.check(bound, graph.ids, itertools.starmap(finite.Found, conductor.not_finite), conductor.finished)
    if kept is not None:
        kept.shares = balance.shares or shares
    return np.concatenate(reported), conductor, sum(workers[address].threads for address in set(found.addresses))


def check_options(options: RunOptions) -> None:
    """Refuse options that make no sense on a cluster.

    Raises
    ------
    ParameterError
    """
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if value == field.default or field.name in SENDABLE or field.name in HERE:
            continue
        why = NO_SENSE.get(field.name, "it is for runs on one machine")
        raise ParameterError(f"{field.name}={value!r} cannot be used with cluster: {why}; leave it out")
    if options.check == FINITE:
        why = "workers look for NaN and infinity at the end only"
        raise ParameterError(f"check={FINITE!r} cannot be used with cluster: {why}; leave it out")
    if options.sync is False:
        raise ParameterError(
            "sync=False (--async) cannot be used with cluster: supersteps are synchronous; leave it out"
        )


def check_order(options: RunOptions, bound: BoundProgram) -> None:
    """Refuse to promise the bits of sums that a cluster adds in another order than one machine.

    Raises
    ------
    ParameterError
    """
    if options.deterministic and options.mode == NOTIFY_PULL and not any_order(bound):
        raise ParameterError(
            "mode='notify-pull' with deterministic=True cannot be used with cluster: the program's sums depend on "
            "their order, and the lists of notified vertices are cut where those of other parts end; use mode='pull'"
        )
    if options.deterministic and options.device not in (ANY, CPU) and not any_order(bound):
        raise ParameterError(
            f"device={options.device!r} with deterministic=True cannot be used with cluster: the program's sums depend "
            "on their order, which is another one on a GPU; use device='cpu'"
        )


def prepared_of(program: VertexProgram, graph: Graph, options: RunOptions) -> dict[str, Any]:
    """What the workers get of a program and its options; apart from that, the ``"columns"``: the parameters that have a
    number for each vertex, of which each worker gets its share."""
    numbered = by_numbers(program, graph)
    columns = columns_of(numbered)
    whole = with_columns(numbered, dict.fromkeys(columns))
    return {"program": tuple(sent(whole)), "options": sendable(options), "columns": columns}


def sendable(options: RunOptions) -> dict[str, Any]:
    """The options that the workers get."""
    return {name: getattr(options, name) for name in SENDABLE if getattr(options, name) != getattr(RunOptions, name)}
