"""Searches as bits: what a run that begins again on another processor notes."""

import numpy as np

from garaph_py.events import ignore
from garaph_py.executor.cpu import CpuExecutor
from garaph_py.executor.levels import bit_of
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.native.threads import ThreadPool
from garaph_py.runtime.searches import Notes
from tests.support import twins


def test_notes_begin_again(graph_of):
    graph, sources = graph_of(twins.skewed(3, 200, 900), directed=False), np.array([4, 9])
    every = VertexSet.empty(graph.n)
    every.bits[:] = np.uint64((1 << 64) - 1)
    every.bits[-1] = np.uint64((1 << graph.n % 64) - 1)
    notes, tables = Notes(sources, graph), []
    with ThreadPool(2) as pool:
        executor = CpuExecutor(notes.bound, graph, pool, ignore)
        for reached in (50, 60), (70, 80):
            state = executor.initialize(True)
            assert state.active_count == 0
            notes.begin(executor, state, pool)
            assert notes.bound.parameters["live"] == bit_of(0) + bit_of(1)
            assert np.flatnonzero(state.frontier.mask(graph.n)).tolist() == [4, 9]
            assert state.active_count == state.changeable == 2
            assert state.active_edges == graph.out_degrees[sources].sum()
            values, state.frontier = state.values, every
            for level, vertex in enumerate(reached, 1):
                values[vertex] &= ~bit_of(0)
                notes.after(executor, state, level, pool)
                assert notes.bound.parameters["live"] == bit_of(0)
            tables.append(notes.end(pool).copy())
    for table, (one, two) in zip(tables, ((50, 60), (70, 80)), strict=True):
        assert np.flatnonzero(table[:, 0] >= 0).tolist() == [4, one, two]
        assert table[[4, one, two], 0].tolist() == [0, 1, 2]
        assert np.flatnonzero(table[:, 1] >= 0).tolist() == [9]
