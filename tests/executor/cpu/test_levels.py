"""Levels noted after each superstep: the compiled kernel beside its function in Python, and ranges of vertices."""

from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.executor.cpu import levels
from garaph_py.executor.cpu.levels import Levels
from garaph_py.executor.levels import bit_of
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.native.threads import ThreadPool


def random_bits(rng, count):
    return rng.integers(0, 1 << 64, count, dtype=np.uint64, endpoint=False)


def test_note_does_what_its_function_does():
    rng = np.random.default_rng(7)
    n, level = 200, 13
    frontier = random_bits(rng, 4)
    frontier[3] &= np.uint64(0xFF)
    left = random_bits(rng, n).view(np.int64)
    values = left & random_bits(rng, n).view(np.int64)
    before = random_bits(rng, 4 * n)
    outcomes = []
    for run in (levels.NOTE, reference):
        planes, after, live = before.copy(), left.copy(), np.zeros(3, np.uint64)
        run(frontier, values, after, planes, live, n, level, 2, 4, 1, 0, len(frontier))  # planes 2 and 3 are new
        outcomes.append((planes, after, live))
    for compiled, expected in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(compiled, expected)
    assert (outcomes[0][0] != before).any()


def reference(frontier, values, left, planes, live, n, level, clear, depth, part, first_word, last_word):
    """The same in plain Python, a bit at a time."""
    planes.reshape(-1, n)[clear:depth, first_word * 64 : last_word * 64] = 0
    for v in range(first_word * 64, min(last_word * 64, len(values))):
        if int(frontier[v // 64]) >> v % 64 & 1:
            gone = int(left[v]) & ~int(values[v])
            left[v] = values[v]
            live[part] |= np.int64(gone).view(np.uint64)
            for bit in range(64):
                for plane in range(4):
                    if gone >> bit & 1 and level >> plane & 1:
                        planes[plane * n + v] |= np.uint64(1 << bit)


def run_noting(found, count, n, reached, pool):
    """Let each source reach the vertices that `reached` names, by level; return the levels that they then have."""
    values, expected = np.full(n, found.everyone), np.full((n, count), -1)
    found.begin(SimpleNamespace(frontier=VertexSet.empty(n), values=values), pool)
    expected[np.arange(count), np.arange(count)] = 0
    for level, v, source in reached:
        values[v] &= ~bit_of(source)
        expected[v, source] = level
        frontier = VertexSet.empty(n)
        frontier.bits[v // 64] = np.uint64(1 << v % 64)
        assert found.after(SimpleNamespace(frontier=frontier, values=values), level, pool) == bit_of(source)
    return expected


@pytest.mark.parametrize("count", [1, 3, 8, 61, 64])
def test_levels_have_the_type_that_the_last_one_needs(count):
    n, last = 130, count - 1
    reached = [(1, 129, 0), (2, 128, last), (5, 65, 0), (127, 70, last), (128, 66, 0), (129, 129, last)]
    reached += [(1 << 14, 67, last), ((1 << 21) + 77, 68, 0)]
    with ThreadPool(2) as pool:
        for steps, kind in ((0, np.int8), (1, np.int8), (4, np.int8), (5, np.int32), (8, np.int32)):
            found = Levels(np.arange(count))
            expected = run_noting(found, count, n, [r for r in reached[:steps] if count > 1 or r[0] != 129], pool)
            table = found.table(pool)
            assert table.dtype == kind
            assert table.shape == (n, count)
            np.testing.assert_array_equal(table, expected)


def test_a_search_begins_with_its_sources_alone_reached():
    found = Levels(np.array([5, 2, 2]))
    assert found.everyone == 0b11100000
    state = SimpleNamespace(frontier=VertexSet.empty(8), values=np.full(8, found.everyone))
    with ThreadPool(2) as pool:
        found.begin(state, pool)
    assert state.values.tolist() == [0b11100000] * 2 + [0b10000000] + [0b11100000] * 2 + [0b01100000] + [0b11100000] * 2
    assert np.flatnonzero(state.frontier.mask(8)).tolist() == [2, 5]
    assert state.frontier.blocks.tolist() == [1]
