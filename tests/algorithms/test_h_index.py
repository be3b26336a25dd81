"""h-indices beside their definition, and on the way from degrees to core numbers."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import core_number, h_index
from tests.support.networkx_graphs import on_disk, pairs, random_pair


def defined(theirs, values):
    """The h-index of each vertex, by trying all."""
    before = theirs.predecessors if theirs.is_directed() else theirs.neighbors
    near = {v: [values[u] for u in before(v)] for v in theirs}
    return {v: max(h for h in range(len(near[v]) + 1) if sum(x >= h for x in near[v]) >= h) for v in theirs}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(), st.data())
def test_it_is_the_largest_h_that_enough_neighbours_have(threads, both, data):
    number = st.one_of(st.integers(-2, 10), st.floats(-2, 10), st.just(1e300))
    values = {int(v): data.draw(number) for v in both.ours.ids}
    assert dict(h_index(both.ours, values=values, threads=threads)) == defined(both.theirs, values)


@pytest.mark.parametrize("directed", [False, True])
def test_neighbours_are_counted_by_default(threads, directed):
    both = random_pair(1, 400, 3000, directed)
    degrees = dict(both.theirs.in_degree if directed else both.theirs.degree)
    result = h_index(both.ours.packed(), threads=threads)
    assert dict(result) == defined(both.theirs, degrees)
    assert (result.values.dtype, result.stats.device, result.stats.threads) == (np.int64, "cpu", threads)
    assert result.values.max() > 9


def test_repeated_it_ends_at_the_core_numbers(threads):
    graph = random_pair(2, 400, 3000, directed=False).ours
    now, before, times = h_index(graph, threads=threads), None, 0
    while before is None or (now.values != before.values).any():
        now, before, times = h_index(graph, values=now, threads=threads), now, times + 1
    assert times > 2
    assert dict(now) == dict(core_number(graph))


def test_values_may_leave_vertices_out():
    star = gp.from_edges(["hub"] * 3, ["a", "b", "c"], directed=False)
    assert dict(h_index(star, values={"a": 2, "b": 2.5})) == {"hub": 2, "a": 0, "b": 0, "c": 0}
    assert dict(h_index(star, values=[3, 0, 0, 0])) == {"hub": 0, "a": 1, "b": 1, "c": 1}
    assert dict(h_index(gp.from_edges([], [], directed=False))) == {}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([1, 2], r"h_index\(values=...\) has shape \(2,\), but the graph has 4 vertices"),
        ([1, 2, np.nan, 0], r"h_index\(values=...\): give finite numbers"),
        (["a"] * 4, r"h_index\(values=...\): could not convert"),
    ],
)
def test_what_are_no_values(values, problem):
    with pytest.raises(gp.errors.ParameterError, match=problem):
        h_index(gp.from_edges([0, 1, 2], [1, 2, 3]), values=values)


def test_other_graphs_are_refused(tmp_path):
    graph = random_pair(1, 40, 3000, directed=True).ours
    with pytest.raises(gp.errors.GraphError, match="h_index needs edges in memory"):
        h_index(on_disk(graph, tmp_path / "g"))
    with pytest.raises(gp.errors.ParameterError, match="h_index takes a Graph, not networkx"):
        h_index(nx.path_graph(3))
