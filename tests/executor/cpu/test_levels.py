"""Levels noted after each superstep: the compiled kernel beside its function in Python, and ranges of vertices."""

from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.executor.cpu import levels
from garaph_py.executor.cpu.levels import Levels
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.native.threads import ThreadPool


@pytest.mark.parametrize("kind", levels.KINDS)
def test_kernel_does_what_its_function_does(kind):
    rng = np.random.default_rng(7)
    n, count = 200, 64
    frontier = rng.integers(0, 1 << 63, 4, dtype=np.uint64)
    frontier[3] &= np.uint64(0xFF)
    left = rng.integers(-(1 << 62), 1 << 62, n)
    values = left & rng.integers(-(1 << 62), 1 << 62, n)
    outcomes = []
    for run in (levels.kernel_for(np.dtype(kind)), reference):
        table, after = np.full(n * count, -1, kind), left.copy()
        run(frontier, values, after, table, count, 9, 0, len(frontier))
        outcomes.append((table, after))
    for compiled, expected in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(compiled, expected)
    assert (outcomes[0][0] == 9).any()


def reference(frontier, values, left, table, count, level, first_word, last_word):
    """The same in plain Python, a bit at a time."""
    for v in range(first_word * 64, min(last_word * 64, len(values))):
        if int(frontier[v // 64]) >> v % 64 & 1:
            gone = int(left[v]) & ~int(values[v])
            left[v] = values[v]
            for bit in range(count):
                if gone >> bit & 1:
                    table[v * count + bit] = level


@pytest.mark.parametrize("count", [1, 3, 64])
def test_levels_grow_from_the_sources(count):
    n = 130
    sources = np.arange(count) * 2
    found = Levels(sources, n)
    values = found.first_values
    everyone = Levels.all_bits(count)
    assert (values[sources] != everyone).all()
    assert (np.delete(values, sources) == everyone).all()
    values[129] = 0
    frontier = VertexSet.empty(n)
    frontier.bits[2] = np.uint64(1) << np.uint64(1)
    with ThreadPool(2) as pool:
        found.after(SimpleNamespace(frontier=frontier, values=values), 1, pool)
        assert found.table.dtype == np.int8
        np.testing.assert_array_equal(found.table[129], np.ones(count))
        found.after(SimpleNamespace(frontier=frontier, values=values), 128, pool)
    assert found.table.dtype == np.int32
    assert (found.table == 0).sum() == count
    assert (found.table[:129] <= 0).all()
