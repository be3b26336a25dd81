"""Shortest paths from one vertex, beside those to each target alone."""

from importlib import import_module
from unittest import mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import shortest_path, single_source_shortest_path
from garaph_py.algorithms.shortest_path_tree import shortest_path_tree as tree_of
from tests.support.networkx_graphs import valued_graphs

module = import_module("garaph_py.algorithms.single_source_shortest_path")


def same(found, expected, weight):
    """Whether two paths are the same; of several with equally many edges, a search may take any."""
    return found == expected if weight else (len(found), found[0], found[-1]) == (
        len(expected), expected[0], expected[-1]
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, module.FEW_EDGES])
@given(both=valued_graphs(), weight=st.booleans())
def test_they_are_those_to_each_target(few, both, weight):
    ours, theirs = both
    found = single_source_shortest_path(ours, 0, weight=weight, threads=1)
    assert set(found) == nx.descendants(theirs, 0) | {0}
    for target, path in found.items():
        assert same(path, shortest_path(ours, 0, target, weight=weight, threads=1), weight)
    for targets in ([1, 2], [0, 0], []):
        with mock.patch.object(module, "FEW_EDGES", few):
            some = single_source_shortest_path(ours, 0, targets=targets, weight=weight, threads=1)
        assert set(some) == set(targets) & set(found)
        assert all(same(path, found[target], weight) for target, path in some.items())


@given(both=valued_graphs(), weight=st.booleans(), cutoff=st.sampled_from([0, 1, 2.5, 4, np.inf]))
def test_paths_end_at_the_cutoff(both, weight, cutoff):
    ours, theirs = both
    whole = single_source_shortest_path(ours, 0, weight=weight, threads=1)
    length = nx.single_source_dijkstra_path_length(theirs, 0, weight="weight" if weight else (lambda *_: 1))
    found = single_source_shortest_path(ours, 0, cutoff=cutoff, weight=weight, threads=1)
    assert found == {target: path for target, path in whole.items() if length[target] <= cutoff}
    some = single_source_shortest_path(ours, 0, cutoff=cutoff, targets=[1, 5, 0], weight=weight, threads=1)
    assert set(some) == set(found) & {0, 1, 5}
    with pytest.raises(gp.errors.ParameterError, match=r"shortest_path\(cutoff='x'\): give a number of 0"):
        single_source_shortest_path(ours, 0, cutoff="x")


@pytest.mark.full
@pytest.mark.parametrize("directed", [True, False])
def test_near_targets_need_no_tree(monkeypatch, directed):
    graph = gp.rmat(12, 16, directed=directed)
    hub = int(np.argmax(graph.out_degrees))
    tree = single_source_shortest_path(graph, hub)
    targets = [target for target, path in tree.items() if len(path) <= 2]
    far = [target for target in range(graph.n) if target not in tree]
    edges = {(edge["source"], edge["target"]) for edge in graph.edges().to_pylist()}
    edges |= set() if directed else {(target, source) for source, target in edges}
    trees = []
    monkeypatch.setattr(module, "FEW_EDGES", 0)
    monkeypatch.setattr(
        module, "shortest_path_tree", lambda *given, **how: trees.append(given) or tree_of(*given, **how)
    )
    found = single_source_shortest_path(graph, hub, targets=targets, threads=1)
    assert len(targets) > 20
    assert not trees
    assert found == {hub: [hub]} | {target: [hub, target] for target in targets if target != hub}
    assert all((hub, target) in edges for target in targets if target != hub)
    assert single_source_shortest_path(graph, hub, targets=[*targets, *far], threads=1).keys() == found.keys()
    assert len(trees) == 1  # after the part of the edges that is near


@pytest.mark.parametrize("most", [0, 40, 1000])
def test_compiled_search_does_what_its_python_does(most):
    graph, found = gp.rmat(5, 3), []
    out = graph._arrays.out_edges
    wanted = np.zeros(graph.n, np.uint8)
    wanted[[0, 5, 31]] = 1
    for call in (module.SEARCH_NEARBY, module.SEARCH_NEARBY.function):
        queue, steps = np.zeros(graph.n, np.uint32), np.zeros(graph.n, np.int64)
        done = call(0, out.offsets, out.neighbours, most, 3, wanted, queue, steps)
        found.append([done, queue.tolist(), steps.tolist()])
    assert found[0] == found[1]


def test_a_target_must_be_in_the_graph():
    with pytest.raises(gp.errors.UnknownVertexError, match="x"):
        single_source_shortest_path(gp.from_edges(["a"], ["b"]), "a", targets=["b", "x"])
