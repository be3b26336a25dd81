"""Which calls are worth a conversion."""

import inspect

import networkx as nx
import pytest

from garaph_py.networkx_backend import worth
from garaph_py.networkx_backend.info import FUNCTIONS

SIZES = {
    "average_shortest_path_length": worth.SWEPT_EDGES,
    "pagerank": worth.ITERATED_EDGES,
    "connected_components": worth.PASS_EDGES,
}


def path(edges):
    return nx.path_graph(edges + 1)


def test_names_are_functions():
    assert set(FUNCTIONS) >= worth.SWEEPS | worth.ITERATED | worth.LOOKED_UP | set(worth.LIMITED)


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_large_graphs_are_worth_it(name):
    assert worth.should_run(name, (path(SIZES[name]),), {}) is True
    assert f"from {SIZES[name]:,} on" in worth.should_run(name, (), {"G": path(SIZES[name] - 1)})


def test_a_look_at_few_edges_is_not_unless_the_graph_is_cached():
    graph = path(worth.CACHED_EDGES)
    assert "sooner than" in worth.should_run("has_path", (graph, 0, 1), {})
    nx.pagerank(graph, backend="garaph")
    assert worth.should_run("has_path", (graph, 0, 1), {}) is True
    graph.remove_edge(0, 1)  # which empties NetworkX's cache
    assert "sooner than" in worth.should_run("has_path", (graph, 0, 1), {})


def test_what_is_worth_a_conversion_is_worth_it_without_one():
    graph = path(worth.SWEPT_EDGES)
    nx.pagerank(graph, backend="garaph")
    assert worth.should_run("diameter", (graph,), {}) is True
    assert f"from {worth.CACHED_EDGES:,} on" in worth.should_run("pagerank", (graph,), {})


def test_a_conversion_that_failed_is_not_there():
    graph = path(worth.CACHED_EDGES)
    with pytest.raises(NotImplementedError):
        nx.k_core(graph, backend="garaph")
    assert graph.__networkx_cache__["backends"]["garaph"]
    assert "sooner than" in worth.should_run("has_path", (graph, 0, 1), {})


@pytest.mark.full
@pytest.mark.parametrize("name", ["has_path", "is_strongly_connected"])
def test_a_function_that_may_end_early_is_not_worth_a_conversion(name):
    assert "sooner than" in worth.should_run(name, (path(worth.PASS_EDGES).to_directed(),), {})


@pytest.mark.parametrize("name", worth.LIMITED)
def test_arguments_that_limit_a_function_to_few_edges(name, monkeypatch):
    """All of them must be there, by place or by name."""
    monkeypatch.setattr(worth, "ITERATED_EDGES", 10)
    monkeypatch.setattr(worth, "PASS_EDGES", 10)
    graph, limits = path(10), worth.LIMITED[name]
    assert list(inspect.signature(getattr(nx, name)).parameters)[1 : len(limits) + 1] == list(limits)
    named = dict.fromkeys(limits, 0)
    for args, kwargs in (((graph, *named.values()), {}), ((graph,), named), ((), {"G": graph} | named)):
        assert "sooner than" in worth.should_run(name, args, kwargs)
    for given in ({}, {"weight": "weight"}, {limits[0]: None} | dict.fromkeys(limits[1:], 0)):
        assert worth.should_run(name, (graph,), given) is True


@pytest.mark.full
def test_one_pass_is_worth_it_even_if_nothing_is_cached(monkeypatch):
    monkeypatch.setattr(nx.config, "cache_converted_graphs", False)
    assert worth.should_run("connected_components", (path(worth.PASS_EDGES),), {}) is True


def test_networkx_asks(monkeypatch):
    """With the backend first in line, a small graph is not converted, and a larger one is."""
    monkeypatch.setattr(nx.config.backend_priority, "algos", ["garaph"])
    small, large = path(100), path(worth.ITERATED_EDGES)
    for graph in (small, large):
        nx.pagerank(graph)
    assert not small.__networkx_cache__.get("backends", {}).get("garaph")
    assert large.__networkx_cache__["backends"]["garaph"]
