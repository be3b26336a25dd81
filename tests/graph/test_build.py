"""CSC and CSR from edges, against plain NumPy."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from garaph_py import events
from garaph_py.errors import GraphError, ParameterError
from garaph_py.graph.build import from_edges, from_numbered_edges, from_scipy

WEIGHT_DTYPES = [np.int32, np.uint32, np.int64, np.float32, np.float64]


def twin(edges, directed=True, drop_self_loops=False, drop_parallel=False):
    """For each vertex the (source, value) of its in-edges: sources ascending, parallel edges in their given order."""
    incoming: dict = {}
    for source, target, value in edges:
        incoming.setdefault(target, []).append((source, value))
        if not directed and source != target:
            incoming.setdefault(source, []).append((target, value))
    for target, found in incoming.items():
        found.sort(key=lambda edge: edge[0])
        if drop_self_loops:
            found[:] = [edge for edge in found if edge[0] != target]
        if drop_parallel:
            found[:] = [edge for place, edge in enumerate(found) if not place or found[place - 1][0] != edge[0]]
    return {target: found for target, found in incoming.items() if found}


def incoming_of(graph):
    """What `twin` says, read from the graph's CSC."""
    ids, edges = graph.ids.array().tolist(), graph._arrays.in_edges
    values = [None] * graph.m if edges.values is None else edges.values.tolist()
    incoming = {}
    for vertex in range(graph.n):
        places = range(edges.offsets[vertex], edges.offsets[vertex + 1])
        if places:
            found = [(ids[edges.neighbours[place]], values[place]) for place in places]
            incoming[ids[vertex]] = sorted(found, key=lambda edge: edge[0])  # strings are numbered as they come
    return incoming


def check_form(graph):
    """CSR is the transpose of CSC; types, bounds and order are as promised."""
    for side in (graph._arrays.in_edges, graph._arrays.out_edges):
        assert side.offsets.dtype == np.int64
        assert side.neighbours.dtype == np.uint32
        assert len(side.offsets) == graph.n + 1 == graph.ids.n + 1
        assert side.offsets[0] == 0
        assert side.offsets[-1] == graph.m
        assert (np.diff(side.offsets) >= 0).all()
        for vertex in range(graph.n):
            row = side.neighbours[side.offsets[vertex] : side.offsets[vertex + 1]]
            assert (np.diff(row.astype(np.int64)) >= 0).all()
    ones = np.ones(graph.m)
    shape = (graph.n, graph.n)
    into, out = graph._arrays.in_edges, graph._arrays.out_edges
    csc = sp.csr_array((ones, into.neighbours.astype(np.int64), into.offsets), shape)
    csr = sp.csr_array((ones, out.neighbours.astype(np.int64), out.offsets), shape)
    assert (csr != csc.T).nnz == 0
    assert graph.in_degrees.sum() == graph.out_degrees.sum() == graph.m


INTEGER_VERTICES = st.one_of(
    st.integers(0, 6), st.integers(-3, 3), st.sampled_from([0, 2**32, 2**40, -(2**63), 2**63 - 1]), st.just(9)
)
VERTICES = st.sampled_from([INTEGER_VERTICES, st.sampled_from(["a", "b", "libc6", "é", ""])])


@st.composite
def edge_lists(draw, vertices=VERTICES):
    kind = draw(vertices)
    pairs = draw(st.lists(st.tuples(kind, kind), max_size=30))
    return [(source, target, value) for value, (source, target) in enumerate(pairs)]


def columns(edges):
    kind = object if edges and isinstance(edges[0][0], str) else np.int64
    return (
        np.array([edge[0] for edge in edges], kind),
        np.array([edge[1] for edge in edges], kind),
        np.array([edge[2] for edge in edges], np.int64),
    )


OPTIONS = st.fixed_dictionaries(
    {"directed": st.booleans(), "drop_self_loops": st.booleans(), "drop_parallel": st.booleans()}
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(edge_lists(), OPTIONS, st.sampled_from([1, 2, 7]), st.sampled_from(WEIGHT_DTYPES))
def test_from_edges_is_its_twin(edges, options, threads, dtype):
    sources, targets, weights = columns(edges)
    graph = from_edges(sources, targets, weights.astype(dtype), threads=threads, **options)
    assert incoming_of(graph) == twin(edges, **options)
    assert graph.edge_dtype == dtype
    check_form(graph)


@settings(deadline=None)
@given(edge_lists(st.just(st.integers(0, 8))), OPTIONS, st.integers(9, 40), st.sampled_from([1, 2, 7]))
def test_from_numbered_edges_keeps_isolated_vertices(edges, options, n, threads):
    sources, targets, _ = columns(edges)
    graph = from_numbered_edges(sources, targets, n, threads=threads, **options)
    unweighted = [(source, target, None) for source, target, _ in edges]
    assert incoming_of(graph) == twin(unweighted, **options)
    assert (graph.n, graph.edge_dtype) == (n, None)
    check_form(graph)


@settings(deadline=None)
@given(edge_lists(), st.booleans())
def test_parallel_edges_have_the_same_order_in_both_directions(edges, drop_parallel):
    graph = from_edges(*columns(edges), directed=False, drop_parallel=drop_parallel)
    incoming = incoming_of(graph)
    for vertex, found in incoming.items():
        for other in {source for source, _ in found}:
            there = [value for source, value in found if source == other]
            assert there == [value for source, value in incoming[other] if source == vertex]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(-3, 3)), max_size=20),
    st.sampled_from(["coo", "csr", "csc", "lil", "dok"]),
    st.booleans(),
)
def test_from_scipy(entries, form, directed):
    dense = np.zeros((7, 7), np.int32)
    for row, column, value in entries:
        dense[row, column] = value
    if not directed:
        dense += dense.T
    matrix = sp.coo_array(dense).asformat(form)
    graph = from_scipy(matrix, directed=directed, threads=2)
    rows, cols = np.nonzero(dense)
    expected = twin([(int(r), int(c), int(dense[r, c])) for r, c in zip(rows, cols, strict=True)])
    assert incoming_of(graph) == expected
    assert graph.n == 7
    check_form(graph)


@pytest.mark.parametrize("directed", [True, False])
def test_many_edges_in_parallel_are_the_same_as_in_one_thread(directed):
    rng = np.random.default_rng(3)
    m, n = 200_000, 5_000
    sources = np.where(rng.random(m) < 0.3, 17, rng.integers(0, n, m))  # a hub on each side
    targets = np.where(rng.random(m) < 0.6, 4321, rng.integers(0, n, m))
    weights = np.arange(m, dtype=np.float64)
    order = np.lexsort((sources, targets))
    alone = from_numbered_edges(sources, targets, n, weights, directed=directed, threads=1)
    for threads in (1, 2, 7):
        graph = from_numbered_edges(sources, targets, n, weights, directed=directed, threads=threads)
        if directed:
            assert np.array_equal(graph._arrays.in_edges.neighbours, sources[order])
            assert np.array_equal(graph._arrays.in_edges.values, weights[order])
            assert np.array_equal(np.diff(graph._arrays.in_edges.offsets), np.bincount(targets, minlength=n))
            back = np.lexsort((targets, sources))
            assert np.array_equal(graph._arrays.out_edges.neighbours, targets[back])
        else:
            assert graph.m == 2 * m - int((sources == targets).sum())
        assert np.array_equal(graph._arrays.in_edges.values, alone._arrays.in_edges.values)
        assert np.array_equal(graph._arrays.out_edges.neighbours, alone._arrays.out_edges.neighbours)


def test_no_edges():
    for graph in (from_edges([], []), from_numbered_edges([], [], 0)):
        assert (graph.n, graph.m) == (0, 0)
        check_form(graph)
    graph = from_edges([], [], vertices=["a", "b"], directed=False)
    assert (graph.n, graph.m, graph.ids.array().tolist()) == (2, 0, ["a", "b"])
    assert from_numbered_edges([], [], 3)._arrays.in_edges.offsets.tolist() == [0, 0, 0, 0]


def test_columns_of_any_layout():
    table = np.array([[0, 1], [1, 2], [2, 0]], ">u4")
    graph = from_numbered_edges(table[:, 0], table[:, 1], 3, np.array([1.5, 2.5, 3.5, 0], ">f4")[:3])
    assert incoming_of(graph) == {1: [(0, 1.5)], 2: [(1, 2.5)], 0: [(2, 3.5)]}
    assert graph.edge_dtype == np.dtype(np.float32)
    assert incoming_of(from_edges(table[:, 0], table[:, 1])) == twin([(0, 1, None), (1, 2, None), (2, 0, None)])


@pytest.mark.parametrize(
    ("given", "kept"),
    [(np.int8, np.int32), (np.uint16, np.int32), (bool, np.int32), (np.float16, np.float32), (np.uint64, np.int64)],
)
def test_narrow_weights_are_widened(given, kept):
    assert from_edges([1, 2], [2, 1], np.array([0, 1], given)).edge_dtype == kept


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_edges([1], [1, 2]), "1 sources but 2 targets"),
        (lambda: from_numbered_edges([1], [1, 2], 3), "1 sources but 2 targets"),
        (lambda: from_numbered_edges([1], [3], 3), "there are 3 vertices"),
        (lambda: from_numbered_edges([-1], [2], 3), "there are 3 vertices"),
        (lambda: from_numbered_edges([1.0], [2.0], 3), "integer array"),
        (lambda: from_numbered_edges([], [], -1), "-1 vertices"),
        (lambda: from_numbered_edges([], [], 2**32 + 1), "32 bits"),
        (lambda: from_edges([1], [2], [1.0, 2.0]), "there are 1 edges"),
        (lambda: from_edges([1], [2], ["x"]), "cannot be edge values"),
        (lambda: from_edges([1], [2], [1j]), "cannot be edge values"),
        (lambda: from_edges([1], [2], np.array([2**64 - 1], np.uint64)), "cannot be edge values"),
        (lambda: from_scipy(sp.coo_array((2, 3))), "square, not 2 x 3"),
        (lambda: from_scipy(np.eye(3)), "csr_array makes one"),
        (lambda: from_scipy(sp.csr_array([[0, 1], [2, 0]]), directed=False), "not symmetric"),
    ],
)
def test_unusable_edges_are_refused(call, message):
    with pytest.raises(GraphError, match=message):
        call()


@pytest.mark.parametrize("threads", [0, -1, 1.5, True])
def test_unusable_thread_counts_are_refused(threads):
    with pytest.raises(ParameterError, match="threads"):
        from_edges([1], [2], threads=threads)


def test_progress_ends_at_its_total():
    seen: list = []
    from_edges([1, 2], [2, 1], on_event=seen.append)
    steps = [event for event in seen if isinstance(event, events.Step) and event.name == "sorting edges"]
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert steps[-1].done == steps[-1].total > 0


@pytest.mark.parametrize("entries", [[np.nan, np.nan], [np.nan, 1.0]])
def test_entries_of_a_symmetric_matrix_may_be_nan(entries):
    matrix = sp.coo_array((entries, ([0, 1], [1, 0])), (2, 2))
    if np.isnan(entries).all():
        assert np.isnan(from_scipy(matrix, directed=False)._arrays.in_edges.values).all()
    else:
        with pytest.raises(GraphError, match="not symmetric"):
            from_scipy(matrix, directed=False)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: from_edges(None, None), "sources is not a column, but NoneType"),
        (lambda: from_edges([1], None), "targets is not a column, but NoneType"),
        (lambda: from_edges({1: 2}, {2: 3}), "sources is not a column, but dict"),
        (lambda: from_edges("ab", "cd"), "sources is not a column, but str"),
        (lambda: from_edges(3, 4), "sources is not a column, but int"),
        (lambda: from_edges(iter([1]), iter([2])), "sources is not a column, but list_iterator"),
        (lambda: from_edges(pa.table({"a": [1]}), pa.array([2])), "sources is not a column, but Table"),
        (lambda: from_edges([1], [2], vertices=5), "vertices is not a column, but int"),
        (lambda: from_edges([1, 2], [2]), "2 sources but 1 targets"),
        (lambda: from_edges([1], [2], [1, 2]), r"weights have shape \(2,\)"),
        (lambda: from_edges([1], [2], 5), r"weights have shape \(\)"),
        (lambda: from_edges([1], [2], {1: 2}), r"weights have shape \(\)"),
        (lambda: from_edges([1, 2], [2, 3], [[1], [1, 2]]), "weights are a nested list"),
        (lambda: from_edges([1], [2], directed="no"), "directed='no': give True or False"),
        (lambda: from_edges([1, 2]), "targets is not a column"),
        (lambda: from_edges([(1, 2), (2, 3)]), r"with a list of pairs, write from_edges\(\*zip\(\*pairs\)\)$"),
        (lambda: from_edges(np.array([[1, 2], [2, 3]])), "with a list of pairs"),
        (lambda: from_scipy(None), "not a SciPy sparse matrix but NoneType"),
        (lambda: from_scipy(np.eye(2)), "not a SciPy sparse matrix but ndarray"),
        (lambda: from_scipy(sp.csr_array((2, 3))), "square, not 2 x 3"),
        (lambda: from_scipy(sp.csr_array((2, 2)), directed=1), "directed=1: give True or False"),
    ],
)
def test_wrong_types_end_in_an_error_of_this_package(make, message):
    with pytest.raises((GraphError, ParameterError), match=message):
        make()
