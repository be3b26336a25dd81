"""A fake GPU: a `DeviceExecutor` on one CPU thread, with its own vertex values, that runs every program.

Unlike the GPU of `numpy_gpu` it has no driver, streams or kernels; `HybridExecutor` cannot tell the difference.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from garaph_py import events
from garaph_py.executor.cpu import CpuExecutor
from garaph_py.executor.modes import CPU, PULL
from garaph_py.executor.protocol import Capabilities
from garaph_py.executor.results import StepResult
from garaph_py.graph.vertex_set import WORD, VertexSet
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.layout import cut, layout
from garaph_py.pages.memory_source import MemoryPageSource
from garaph_py.pages.queue import PageQueue


def copied(vertices):
    return VertexSet(vertices.bits.copy(), vertices.blocks.copy())


class CpuGpu:
    """A fake GPU: values are copied to it and back as with a GPU's memory.

    Attributes
    ----------
    processed : set of int
        Numbers of the pages of which it has processed at least a part.
    """

    name, modes, shares_pages = "gpu", (PULL,), True

    def __init__(self, bound, graph, page_edges):
        self._pool, self.processed = ThreadPool(1), set()
        self._cpu = CpuExecutor(bound, graph, self._pool, events.ignore, every_edge=True)
        self._split = partial(cut, graph._arrays.in_edges.offsets, multiple=WORD)
        self.source = MemoryPageSource(
            graph._arrays.in_edges, pages=layout(graph._arrays.in_edges.offsets, page_edges, WORD)
        )
        self.capabilities, self.load_of = Capabilities("gpu", self.modes), (graph.m, graph.m, 4.0)
        self._prepares = "prepare" in bound.arguments

    def initialize(self, synchronous, sources):
        state = self._cpu.initialize(synchronous)
        self._values = state.values.copy()
        self._next_values = np.empty_like(self._values) if synchronous else self._values
        state.next_values = np.empty_like(state.values)
        return state

    def _own(self, state):
        """The state as the device has it."""
        frontier, following = copied(state.frontier), copied(state.next_frontier)
        return replace(
            state, values=self._values, next_values=self._next_values, frontier=frontier, next_frontier=following
        )

    def has(self, page):
        return False

    def offer(self, pages, state, mode, shared):
        own = frozenset(number for number, how in self.named.items() if how.processor != CPU)
        return PageQueue.of(pages, {}, {}, self._split, own)

    def refresh(self, state, values):
        if values:
            self._values[:] = state.values

    def ready(self, state):
        if self._prepares:
            self._cpu.begin(self._own(state), PULL)

    def work(self, queue, source, state, on_complete):
        while (page := queue.pop_streamed()) is not None:
            own, run = self._own(state), slice(page.first_vertex, page.last_vertex)
            done = self._cpu.process([page], source, own, PULL)[0]
            self.processed.add(page.number)
            state.next_values[run] = self._next_values[run]
            state.next_frontier.bits[page.words] = own.next_frontier.bits[page.words]
            queue.arrived(page)
            on_complete(page, done)

    def receive(self, pages, state):
        for page in pages:
            run = slice(page.first_vertex, page.last_vertex)
            self._next_values[run] = state.next_values[run]

    def swap(self, state):
        if state.synchronous:
            self._values, self._next_values = self._next_values, self._values

    def step(self, state, decision):
        state.to_host()
        self.ready(state)
        state.next_frontier.clear()
        waiting, done = self.offer(list(self.source.pages), state, PULL, False), []
        self.work(waiting, self.source, state, lambda page, result: done.append(result))
        self.swap(state)
        if state.synchronous:
            state.swap_values()
        state.holders.wrote("host", "gpu 0")
        return StepResult(done, 0, "gpu", decision.sharing)

    def close(self):
        self._pool.close()
