"""The bitmap over vertices."""

from __future__ import annotations

import numpy as np
import pytest

from garaph_py.graph.vertex_set import BLOCK, VertexSet


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_fill_clear_mask(n: int) -> None:
    some = VertexSet.empty(n)
    assert not some.mask(n).any()
    some.fill(n)
    assert some.mask(n).all()
    assert some.mask(n).shape == (n,)
    some.clear()
    assert not some.bits.any()
    assert not some.blocks.any()


def test_counts_in_ranges_of_vertices() -> None:
    n, rng = 1000, np.random.default_rng(1)
    mask = rng.random(n) < 0.4
    some = VertexSet.empty(n)
    some.bits.view(np.uint8)[: -(-n // 8)] = np.packbits(mask, bitorder="little")
    first = np.array([0, 0, 3, 64, 100, 700, n])
    last = np.array([n, 64, 3, 128, 701, n, n])
    expected = [mask[a:b].sum() for a, b in zip(first, last, strict=True)]
    assert some.count_in(first, last).tolist() == expected


def test_clearing_a_few_blocks_among_many() -> None:
    n = 100 * BLOCK
    some = VertexSet.empty(n)
    for vertex in (0, 5 * BLOCK + 3, n - 1):
        some.bits[vertex // 64] |= np.uint64(1) << np.uint64(vertex % 64)
        some.blocks[vertex // BLOCK] = 1
    assert np.flatnonzero(some.mask(n)).tolist() == [0, 5 * BLOCK + 3, n - 1]
    some.clear()
    assert not some.bits.any()


@pytest.mark.parametrize("v", [0, 63, 64, BLOCK + 77])
def test_the_first_vertex(v: int) -> None:
    found = VertexSet.empty(2 * BLOCK)
    found.put(2 * BLOCK - 64, 2 * BLOCK)
    assert found.first() == 2 * BLOCK - 64
    found.bits[v // 64] |= np.uint64(1 << v % 64)
    assert found.first() == v
