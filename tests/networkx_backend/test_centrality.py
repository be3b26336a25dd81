"""Centrality with NetworkX's arguments and exceptions."""

import networkx as nx
import pytest
from networkx.algorithms.link_analysis import hits_alg

import garaph_py as gp
from garaph_py.networkx_backend import backend
from tests.support.networkx_calls import KINDS, outcome, random_graph
from tests.support.networkx_graphs import on_disk

SIMPLE = [nx.Graph, nx.DiGraph]


def both(name, graph, *args, **kwargs):
    return [outcome(getattr(nx, name), graph, *args, **kwargs, backend=backend) for backend in ("garaph", "networkx")]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("improved", [True, False])
def test_closeness(kind, improved):
    graph = random_graph(kind)
    found, expected = both("closeness_centrality", graph, wf_improved=improved)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=1e-12)
    for node in (*list(graph)[:3], "nowhere"):
        found, expected = both("closeness_centrality", graph, u=node, wf_improved=improved)
        assert found == (expected if isinstance(expected, tuple) else pytest.approx(expected, rel=1e-12))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_harmonic(kind):
    graph = random_graph(kind)
    nodes = list(graph)
    for given in ({"sources": nodes[:4]}, {"nbunch": nodes[2:5]}, {"nbunch": nodes[0], "sources": nodes[1]}):
        found, expected = both("harmonic_centrality", graph, **given)
        assert found == pytest.approx(expected, rel=1e-12)
        assert list(found) == list(expected)


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("endpoints", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_betweenness(kind, normalized, endpoints, n):
    graph = random_graph(kind, n=n, connected=True)
    found, expected = both("betweenness_centrality", graph, normalized=normalized, endpoints=endpoints)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [1, 5, 12, 13])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("endpoints", [True, False])
def test_betweenness_from_the_nodes_that_networkx_would_choose(k, weight, endpoints):
    graph = random_graph(nx.Graph, n=12, connected=True)
    for *_, data in graph.edges(data=True):
        data["weight"] += 1
    found, expected = both("betweenness_centrality", graph, k=k, weight=weight, endpoints=endpoints, seed=4)
    assert found == (expected if isinstance(expected, tuple) else pytest.approx(expected, rel=1e-12, nan_ok=True))


@pytest.mark.slow
def test_betweenness_of_a_graph_on_disk(tmp_path):
    theirs = random_graph(nx.Graph, n=30)
    stored = on_disk(gp.from_networkx(theirs), tmp_path / "g")
    expected = nx.betweenness_centrality(theirs, endpoints=True)
    assert nx.betweenness_centrality(stored, endpoints=True) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("n", [0, 1, 2, 12])
def test_efficiency(n):
    found, expected = both("global_efficiency", nx.gnp_random_graph(n, 0.3, seed=1))
    assert found == pytest.approx(expected, rel=1e-12)
    assert type(found) is type(expected)
    assert both("global_efficiency", nx.DiGraph([(0, 1)]))[0][0] is nx.NetworkXNotImplemented


@pytest.mark.slow
@pytest.mark.parametrize("kind", SIMPLE)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_neighbours_centrality(kind, weight):
    graph = random_graph(kind, connected=True)
    weights = {node: k for k, node in enumerate(graph)}
    for name, given in (
        ("eigenvector_centrality", {}), ("katz_centrality", {"alpha": 0.01}), ("katz_centrality", {"alpha": 10}),
        ("katz_centrality", {"alpha": 0.01, "beta": weights, "normalized": False}), ("katz_centrality", {"beta": {}}),
        ("eigenvector_centrality", {"max_iter": 1}), ("eigenvector_centrality", {"max_iter": 0}),
    ):  # fmt: skip
        found, expected = both(name, graph, **given, weight=weight)
        assert found == (expected if isinstance(expected, tuple) else pytest.approx(expected, rel=1e-9)), given


NAMES = ["eigenvector_centrality", "katz_centrality", "hits"]


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("name", NAMES)
def test_first_values(name, weight):
    graph = random_graph(nx.DiGraph, m=60, connected=True)
    given = {"tol": 1e-12, "nstart": {node: 1.0 + k % 3 for k, node in enumerate(graph)}}
    given |= {"alpha": 0.01} if name == "katz_centrality" else {}
    given |= {} if name == "hits" else {"weight": weight, "max_iter": 1000}
    found, expected = both(name, graph, **given)
    for ours, theirs in zip(found, expected, strict=True) if name == "hits" else [(found, expected)]:
        assert ours == pytest.approx(theirs, rel=1e-7, abs=1e-10)


def test_first_authorities_decide_between_several_answers():
    """ARPACK, which `nx.hits` calls, gives a random one of them each time."""
    graph, nstart = nx.DiGraph([(0, 1), (2, 3)]), {0: 5.0, 1: 1.0, 2: 7.0, 3: 3.0}
    found, expected = nx.hits(graph, nstart=nstart, backend="garaph"), hits_alg._hits_scipy(graph, nstart=nstart)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs)
    with pytest.raises(NotImplementedError):
        nx.hits(graph, nstart={0: 1, 1: 0, 2: 1, 3: 0}, backend="garaph")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_hubs_that_are_not_normalized(kind, weighted):
    """NetworkX finds all of them, or their negatives."""
    graph = random_graph(kind, n=20, m=80, connected=True)
    if not weighted:
        for *_, attributes in graph.edges(data=True):
            attributes.clear()
    found, expected = both("hits", graph, tol=1e-12, max_iter=1000, normalized=False)
    for ours, theirs in zip(found, expected, strict=True):
        assert list(ours) == list(theirs)
        assert ours == pytest.approx({node: abs(value) for node, value in theirs.items()}, rel=1e-7, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_hubs_of_a_graph_on_disk_that_are_not_normalized(kind, tmp_path):
    theirs = nx.convert_node_labels_to_integers(random_graph(kind, n=400, m=6000, connected=True))
    stored = on_disk(gp.from_networkx(theirs, weight="weight"), tmp_path / "g")
    assert stored.on_disk
    given = {"tol": 1e-12, "max_iter": 1000, "normalized": False}
    for ours, expected in zip(nx.hits(stored, **given), nx.hits(theirs, **given), strict=True):
        assert ours == pytest.approx({node: abs(value) for node, value in expected.items()}, rel=1e-6, abs=1e-8)


def test_hubs_of_a_graph_without_edges_are_0():
    graph = nx.empty_graph(2, nx.DiGraph)
    for normalized in (False, True):
        assert nx.hits(graph, normalized=normalized, backend="garaph") == ({0: 0, 1: 0}, {0: 0, 1: 0})


@pytest.mark.parametrize(
    "nstart", [{0: 1, 1: 1}, {0: 1, 1: -1, 2: 0}, {0: 1, 1: 2, 2: float("nan")}, {0: 1, 1: 2, 2: 3, 3: 4}], ids=str
)
@pytest.mark.parametrize("name", NAMES)
def test_first_values_that_are_left_to_networkx(name, nstart):
    graph = nx.path_graph(3)
    if name == "katz_centrality" and -1 in nstart.values():
        assert nx.katz_centrality(graph, nstart=nstart, backend="garaph") == pytest.approx(nx.katz_centrality(graph))
        return
    with pytest.raises(NotImplementedError):
        getattr(nx, name)(graph, nstart=nstart, backend="garaph")


def test_first_values_that_are_all_0():
    found, expected = both("eigenvector_centrality", nx.path_graph(3), nstart=dict.fromkeys(range(3), 0))
    assert found == expected


def test_hubs_that_do_not_converge_are_left_to_networkx():
    graph = nx.gnp_random_graph(30, 0.2, seed=1, directed=True)
    with pytest.raises(NotImplementedError):
        nx.hits(graph, max_iter=2, backend="garaph")
    assert both("hits", graph, max_iter=0)[0] == both("hits", graph, max_iter=0)[1]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("n", [1, 12])
def test_lengths(kind, n):
    graph = random_graph(kind, n=n, connected=True)
    for *_, attributes in graph.edges(data=True):
        attributes["weight"] += 1
    for name, given in (
        ("closeness_centrality", {"distance": "weight"}), ("closeness_centrality", {"distance": "weight", "u": 0}),
        ("harmonic_centrality", {"distance": "weight"}), ("betweenness_centrality", {"weight": "weight"}),
        ("harmonic_centrality", {"distance": "weight", "sources": list(graph)[:3]}),
    ):  # fmt: skip
        found, expected = both(name, graph, **given)
        assert found == (expected if isinstance(expected, tuple) else pytest.approx(expected, rel=1e-12)), given


def test_lengths_that_are_none_are_left_to_networkx():
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, 0, "weight")
    with pytest.raises(NotImplementedError, match="betweenness_centrality"):
        nx.betweenness_centrality(graph, weight="weight", backend="garaph")
    found, expected = both("closeness_centrality", graph, distance="weight")
    assert found == expected
    assert "function" in backend.can_run("harmonic_centrality", (graph,), {"distance": len})


def test_hubs_without_a_tolerance_are_left_to_networkx():
    assert backend.can_run("hits", (nx.path_graph(3),), {"tol": 0}) == "tol is 0, and must be above 0"


def test_none_means_no_in_betweenness():
    found, expected = both("betweenness_centrality", nx.path_graph(4), normalized=None, endpoints=None)
    assert found == expected
