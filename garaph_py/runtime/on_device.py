"""Puts a graph into a GPU's memory ahead of the runs that use it there."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import events
from ..executor.gpu import device as gpu_device
from ..executor.gpu.device_graph import drop, is_in_use
from ..executor.gpu.executor import GpuExecutor
from ..executor.modes import GPU
from ..graph import Graph
from ..graph.arguments import check_graph
from ..native.compiling import notice
from ..pages.provider import SourceFactory
from ..program import VertexProgram, bind, oriented
from ..program.check import check_types
from ..program.monoids import min as minimum
from ..system import interrupts
from ..system.arguments import check_listener, explained
from .machine import Machine
from .options import RunOptions
from .plan import plan
from .run import check_program

_one_at_a_time = threading.RLock()  # a second call for a graph finds what the first one has put there


class WholeGraph(VertexProgram):
    """Reads sources and values of all edges, and may push, so that a GPU gets all of the graph. It never iterates."""

    value = np.float32
    sum = minimum

    def init(self) -> float:
        return 0.0

    def gather(self, src: Any, edge: Any) -> Any:
        return src + edge


def to_device(
    graph: Graph,
    program: VertexProgram | None = None,
    *,
    gpu_memory: int | str | None = None,
    on_event: events.Listener = events.ignore,
) -> Graph:
    """Put a graph into the GPU's memory: what `Graph.to_device` does."""
    check_graph(graph, "to_device")
    check_listener(on_event)
    if program is not None:
        check_program(program, "to_device")
    listener = notice if on_event is events.ignore else on_event
    options = RunOptions(device=GPU, gpu_memory=gpu_memory)
    given, program = graph, WholeGraph() if program is None else program
    graph = oriented(program, graph)
    bound = bind(program, graph)
    check_types(bound, listener)
    chosen = plan(bound, graph, options, Machine.here())
    found, arrays = gpu_device.find(), graph._arrays
    with _one_at_a_time:
        if is_in_use(arrays, found):  # by a run, which has it there
            return given
        try:
            with (
                interrupts.Deferred(),
                SourceFactory(graph, bound.reads_edge_values) as sources,
                GpuExecutor(bound, graph, found, chosen.gpu, listener=listener) as gpu,
            ):
                gpu.open(chosen, sources)
                gpu.fill(listener)
        except BaseException:
            drop(arrays, found)
            raise
    return given


@explained
@contextlib.contextmanager
def on_device(
    graph: Graph,
    program: VertexProgram | None = None,
    *,
    gpu_memory: int | str | None = None,
    on_event: events.Listener = events.ignore,
) -> Iterator[Graph]:
    """Keep a graph in the GPU's memory during a ``with`` block.

    At its beginning it does what `Graph.to_device` does. At its end, also after an exception, it frees what the GPU's
    memory has of the graph.

    Parameters
    ----------
    graph : Graph
    program, gpu_memory, on_event
        As for `Graph.to_device`.

    Yields
    ------
    Graph
        The same graph.

    Raises
    ------
    DeviceError
        If no GPU can be used, or its memory is too small.

    Examples
    --------
    >>> with gp.on_device(gp.rmat(20)) as graph:  # doctest: +SKIP
    ...     ranks = gp.run(gp.apps.PageRank(), graph)
    ...     levels = gp.run(gp.apps.BFS(source=0), graph)
    """
    to_device(graph, program, gpu_memory=gpu_memory, on_event=on_event)
    found = gpu_device.find()  # before the block, in which it may fail
    try:
        yield graph
    finally:
        drop((graph if program is None else oriented(program, graph))._arrays, found)
