"""The hash of edges does not depend on their order, and is what docs/format.md says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.graph.build import from_numbered_edges
from garaph_py.graph.edge_hash import STEP, hash_edges, hash_kernel
from garaph_py.native.threads import ThreadPool
from tests.support.stored_graphs import edge_hash, hash_of_edges

DTYPES = (None, np.int32, np.uint32, np.int64, np.float32, np.float64)


def graph_of(edges, n, dtype):
    sources, targets, values = np.array(edges, np.int64).reshape(-1, 3).T
    return from_numbered_edges(sources, targets, n, None if dtype is None else values.astype(dtype))


def hashed(edges, into, cuts=()):
    """The hash of an adjacency, added up over the pieces that end at `cuts`."""
    m, total, begin = len(edges.neighbours), 0, 0
    for end in [*sorted(cut for cut in cuts if cut < m), m]:
        values = None if edges.values is None else edges.values[begin:end]
        total, begin = total + hash_edges(edges.offsets, 0, begin, edges.neighbours[begin:end], values, into), end
    return total % 2**64


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2**31 - 1)), max_size=40),
    st.sampled_from(DTYPES),
    st.lists(st.integers(1, 40), max_size=3, unique=True),
)
def test_both_directions_have_the_hash_of_the_format(edges, dtype, cuts):
    graph = graph_of(edges, 10, dtype)
    with ThreadPool(1) as pool:
        out = graph._arrays.valued_out_edges(pool)
    assert hashed(graph._arrays.in_edges, True, cuts) == hashed(out, False, cuts) == edge_hash(graph)


@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled_code_equals_its_twin(dtype):
    edges = np.random.default_rng(3).integers(0, 700, (3 * STEP + 5, 3))
    graph = graph_of(edges, 700, dtype)
    found = hashed(graph._arrays.in_edges, True)
    assert found == edge_hash(graph)
    kernel = hash_kernel(0 if dtype is None else np.dtype(dtype).itemsize)
    into, width = graph._arrays.in_edges, 4 if dtype is None else np.dtype(dtype).itemsize
    bits = np.zeros(graph.m, "u4") if into.values is None else into.values.view(f"u{width}")
    with np.errstate(over="ignore"):
        sums = np.empty(STEP + 1, np.uint64)
        twin = kernel.function(into.offsets, graph.n, 0, 0, into.neighbours, bits, graph.m, True, sums)
    assert int(twin) % 2**64 == found


@pytest.mark.full
def test_different_edges_have_different_hashes():
    """Small changes, most of which leave every vertex its degrees: two edges exchange targets, values or both ends."""
    edges = [(source, target, 1 + source % 3) for source in range(12) for target in range(12) if source * target % 5]
    found = {}
    for k, (a, b, v) in enumerate(edges):
        others = [((a, d, v), (c, b, w)) for c, d, w in edges] + [((a, b, w), (c, d, v)) for c, d, w in edges]
        for j, (one, other) in enumerate(others):
            changed = list(edges)
            changed[k], changed[j % len(edges)] = one, other
            found[tuple(sorted(changed))] = hash_of_edges(changed)
        for one in ((b, a, v), (a, b, v + 1), (a, b, v << 32), (a + 1, b, v), (a, b + 1, v), (a + 1, b - 1, v)):
            changed = [*edges[:k], one, *edges[k + 1 :]]
            found[tuple(sorted(changed))] = hash_of_edges(changed)
    assert len(found) > 1000
    assert len(set(found.values())) == len(found)
