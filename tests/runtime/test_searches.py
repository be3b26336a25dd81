"""Searches as bits: what a run that begins again on another processor notes."""

import numpy as np

from garaph_py.executor.levels import bit_of
from garaph_py.executor.state import State
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.native.threads import ThreadPool
from garaph_py.runtime.searches import Notes
from tests.support import twins


def test_notes_begin_again(graph_of):
    graph, sources = graph_of(twins.skewed(3, 200, 900), directed=False), np.array([4, 9])
    every = VertexSet.empty(graph.n)
    every.bits[:] = np.uint64((1 << 64) - 1)
    every.bits[-1] = np.uint64((1 << graph.n % 64) - 1)
    with ThreadPool(2) as pool:
        notes = Notes(sources, graph, pool)
        tables = []
        for reached in (50, 60), (70, 80):
            notes.begin(None, pool)
            assert notes.bound.parameters["live"] == bit_of(0) + bit_of(1)
            values = notes._levels.first_values.copy()
            state = State.empty(graph.n, values, values, True, every)
            for level, vertex in enumerate(reached, 1):
                values[vertex] &= ~bit_of(0)
                notes.after(None, state, level, pool)
                assert notes.bound.parameters["live"] == bit_of(0)
            notes.end(pool)
            tables.append(notes.table.copy())
    for table, (one, two) in zip(tables, ((50, 60), (70, 80)), strict=True):
        assert np.flatnonzero(table[:, 0] >= 0).tolist() == [4, one, two]
        assert table[[4, one, two], 0].tolist() == [0, 1, 2]
        assert np.flatnonzero(table[:, 1] >= 0).tolist() == [9]
