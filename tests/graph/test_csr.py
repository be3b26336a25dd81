"""Graphs from the arrays of a CSR matrix: equal to those of from_edges, without a copy where none is needed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import garaph_py as gp
from garaph_py.errors import GraphError
from garaph_py.graph.build import from_numbered_edges
from tests.support.graphs import equal

TYPES = st.sampled_from(["<i4", "<u4", "<i8", "<u8", ">i4", "<u2", ">i8"])
"""Types of an array of offsets or of indices."""


@st.composite
def matrices(draw):
    """The number of vertices, and the columns of some edges by row, in any order within a row."""
    n = draw(st.integers(1, 9))
    edges = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
    rows, columns = np.array(sorted(edges, key=lambda edge: edge[0]), np.int64).reshape(-1, 2).T
    return n, rows, columns


def offsets_of(rows, n):
    return np.searchsorted(rows, np.arange(n + 1))


@given(matrices(), TYPES, TYPES, st.booleans())
@settings(max_examples=60, deadline=None)
def test_it_is_the_graph_of_the_same_edges(matrix, offset_type, index_type, weighted):
    n, rows, columns = matrix
    weights = np.arange(len(rows), dtype=np.float32) if weighted else None
    expected = from_numbered_edges(rows, columns, n, weights)
    graph = gp.from_csr(offsets_of(rows, n).astype(offset_type), columns.astype(index_type), weights)
    assert equal(graph, expected)
    if graph._arrays.out_edges.values is not None:
        with gp.graph.graph.ThreadPool(1) as pool:
            assert np.array_equal(graph._arrays.out_edges.values, expected._arrays.valued_out_edges(pool).values)


@given(matrices(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_undirected_matrices_are_symmetric(matrix, weighted):
    n, rows, columns = matrix
    entries = sparse.coo_array((np.arange(1, len(rows) + 1), (rows, columns)), (n, n)).tocsr()
    entries.sum_duplicates()
    whole = (entries + entries.T).tocsr()
    weights = whole.data if weighted else None
    graph = gp.from_csr(whole.indptr, whole.indices, weights, directed=False)
    assert not graph.directed
    expected = gp.from_scipy(whole, directed=False)
    assert graph.edges().select(["source", "target"]).equals(expected.edges().select(["source", "target"]))
    assert not weighted or equal(graph, expected)
    if (entries != entries.T).nnz:
        with pytest.raises(GraphError, match="not symmetric"):
            gp.from_csr(entries.indptr, entries.indices, entries.data, directed=False)


INDPTR = np.array([0, 2, 2, 3])
INDICES = np.array([1, 2, 0], np.int32)
WEIGHTS = np.array([1.0, 2.0, 3.0])


def own(graph, *arrays):
    """Which of these arrays the graph uses itself."""
    edges = graph._arrays.out_edges
    mine = (edges.offsets, edges.neighbours, edges.values)
    return [np.shares_memory(one, other) for one, other in zip(mine, arrays, strict=True)]


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_arrays_that_fit_are_not_copied(dtype):
    indices = INDICES.astype(dtype)
    assert own(gp.from_csr(INDPTR, indices, WEIGHTS), INDPTR, indices, WEIGHTS) == [True] * 3
    symmetric = np.array([0, 1, 2]), np.array([1, 0], dtype), np.array([5, 5], np.int32)
    assert own(gp.from_csr(*symmetric, directed=False), *symmetric) == [True] * 3


def test_arrays_that_do_not_fit_are_copied():
    assert own(gp.from_csr(INDPTR.astype(np.int32), INDICES, WEIGHTS), INDPTR, INDICES, WEIGHTS) == [False, True, True]
    assert own(gp.from_csr(INDPTR, INDICES.astype(np.int64), WEIGHTS), INDPTR, INDICES, WEIGHTS)[1] is False
    spread = np.repeat(INDICES, 2)[::2], np.repeat(WEIGHTS, 2)[::2]
    assert own(gp.from_csr(INDPTR, *spread), INDPTR, *spread) == [True, False, False]
    bytes_of = np.concatenate([np.zeros(1, np.uint8), WEIGHTS.view(np.uint8)])
    askew = bytes_of[1:].view(np.float64)
    assert own(gp.from_csr(INDPTR, INDICES, askew), INDPTR, INDICES, askew) == [True, True, False]


def test_arrays_may_be_read_only_and_are_never_changed(tmp_path):
    np.save(tmp_path / "indices.npy", INDICES)
    indices, weights = np.load(tmp_path / "indices.npy", mmap_mode="r"), WEIGHTS.astype(np.int32)
    weights.flags.writeable = False
    graph = gp.from_csr(INDPTR, indices, weights)
    assert gp.run(gp.apps.SSSP(0), graph, options=gp.Options(mode="push")).values.tolist() == [0, 1, 2]
    gp.save(graph, tmp_path / "graph")
    assert equal(gp.open(tmp_path / "graph"), graph)


def test_vertices_have_ids():
    graph = gp.from_csr(INDPTR, INDICES, ids=["a", "b", "c"])
    assert graph.neighbors("a").tolist() == ["b", "c"]
    assert gp.from_csr(INDPTR, INDICES, ids=[7, 3, 2**63]).predecessors(7).tolist() == [2**63]
    assert gp.from_csr(INDPTR, INDICES, ids=range(3)).ids.kind == "range"
    assert gp.from_csr([0], []).n == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 2, 1, 3], INDICES), "indptr falls from 2 to 1 after row 1"),
        (([1, 2, 2, 3], INDICES), "indptr runs from 1 to 3; 3 edges need offsets from 0 to 3"),
        (([0, 2, 2, 4], INDICES), "indptr runs from 0 to 4"),
        (([], []), "indptr has 0 offsets"),
        (([0.0, 1.0], [0]), "indptr is 1-d float64"),
        ((INDPTR, INDICES.reshape(1, 3)), "indices is 2-d int32"),
        ((INDPTR, 7), "indices is 0-d"),
        ((INDPTR, np.array([1, 2, 3], np.int32)), r"indices\[2\] is 3; vertices are 0 to 2"),
        ((INDPTR, np.array([1, -1, 0], np.int32)), r"indices\[1\] is -1"),
        ((INDPTR, np.array([1, 2**32, 0])), r"indices\[1\] is 4294967296"),
        ((INDPTR, np.array([1, -(2**32), 0])), r"indices\[1\] is -4294967296"),
        ((INDPTR, INDICES, [1.0]), "weights have shape"),
        ((INDPTR, INDICES, None, ["a", "b"]), "2 ids, but indptr has 4 offsets, that is 3 vertices"),
        ((INDPTR, INDICES, None, ["a", "b", "a"]), "ids are not distinct"),
        ((INDPTR, INDICES, None, [1, 2, 1]), "ids are not distinct"),
    ],
)
def test_wrong_arrays_are_refused(arguments, message):
    with pytest.raises(GraphError, match=message):
        gp.from_csr(*arguments)
