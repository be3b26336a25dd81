"""Graphs of NetworkX, and calls whose answers the backend must share with NetworkX."""

import random
from collections.abc import Iterator

import networkx as nx

KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
SUBGRAPHS = ("k_core", "k_corona", "k_crust", "k_shell", "k_truss")
"""Functions of the backend that take only a graph of garaph_py."""


def random_graph(kind, n=12, m=30, seed=1, whole=True, connected=False):
    """A graph with named nodes in no order, loops, an isolated node if not `connected`, and weights 0 to 9."""
    draw = random.Random(seed)
    names = [f"node {k}" for k in draw.sample(range(n), n)]
    graph = kind()
    graph.add_nodes_from(names)
    ends = names if connected else names[:-1]
    pairs = [(draw.choice(ends), draw.choice(ends)) for _ in range(m)]
    if connected:
        pairs += list(zip(names, names[1:] + names[:1], strict=True))
    for u, v in pairs:
        weight = draw.randrange(10)
        graph.add_edge(u, v, weight=weight if whole else weight / 7)
    return graph


def settled(answer):
    """An answer that can be compared: iterators become lists."""
    return [settled(each) for each in answer] if isinstance(answer, Iterator) else answer


def outcome(function, *args, **kwargs):
    """What a call returns, or the type and text of what it raises."""
    try:
        return settled(function(*args, **kwargs))
    except Exception as error:
        return type(error), str(error)
