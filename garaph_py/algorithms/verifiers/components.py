"""Verifiers of components and of orders without cycles."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...apps.checks import components, strong_components
from ...apps.connected_components import verify_components
from ...graph import Graph
from ...pages.passes import has_loops, listed
from .evidence import joined, pairs, places_of, refute, require, values_of

Array = npt.NDArray[Any]


def strong_components_of(graph: Graph) -> tuple[int, Array]:
    """The number of the graph's strongly connected components, and which each vertex is in."""
    return strong_components(graph.n, *joined(pairs(graph)))


def verify_strongly_connected_components(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless each vertex has the least vertex of its component, which SciPy finds."""
    name, labels = "strongly_connected_components", values_of("strongly_connected_components", graph, answer)
    _, first, numbers = np.unique(strong_components_of(graph)[1], return_index=True, return_inverse=True)
    expected = first[numbers]

    def problem(v: int) -> str:
        return f"is in the component of {graph.ids[int(expected[v])]}, and not in that of number {labels[v]}"

    refute(name, graph, labels != expected, problem)


def verify_is_strongly_connected(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless it says whether there is one component."""
    require_same("is_strongly_connected", answer, strong_components_of(graph)[0] == 1)


def verify_number_strongly_connected_components(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless there are so many components."""
    require_same("number_strongly_connected_components", answer, strong_components_of(graph)[0])


def verify_weakly_connected_components(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless the labels are those of components, as for `ConnectedComponents`."""
    verify_components(graph, values_of("weakly_connected_components", graph, answer))


def verify_is_weakly_connected(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless it says whether there is one component."""
    require_same("is_weakly_connected", answer, components(graph) == 1)


def verify_number_weakly_connected_components(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless there are so many components."""
    require_same("number_weakly_connected_components", answer, components(graph))


def verify_is_directed_acyclic_graph(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless it says whether each vertex is a component, without a self-loop."""
    acyclic = graph.directed and not has_loops(graph) and strong_components_of(graph)[0] == graph.n
    require_same("is_directed_acyclic_graph", answer, acyclic)


def require_same(function: str, found: Any, expected: int) -> None:
    """Raise `VerificationError` unless this is the answer."""
    require(found == expected, function, f"it is {expected}, not {found}")


def verify_topological_generations(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless the generations are those of the longest paths to vertices.

    It checks four properties: each vertex is in one generation; vertices of a generation are in the order of their
    internal ids; each edge leads to a later generation; and each vertex that is not in the first one has an edge from
    the generation before its own.
    """
    name, numbers = "topological_generations", np.full(graph.n, -1)
    sizes = np.array([len(generation) for generation in answer], np.int64)
    ids = [generation for generation in answer if len(generation)]
    places, owners = places_of(name, graph, np.concatenate(ids) if ids else []), np.repeat(np.arange(len(sizes)), sizes)
    unordered = owners[1:][(np.diff(places) <= 0) & (np.diff(owners) == 0)]
    if len(unordered):
        require(False, name, f"generation {unordered[0]} has vertices twice or in another order")
    refute(name, graph, np.bincount(places, minlength=graph.n) > 1, lambda v: "is in two generations")
    numbers[places] = owners
    refute(name, graph, numbers < 0, lambda v: "is in no generation")
    held = numbers == 0
    for edges in listed(graph, values=False):
        u, v = edges.sources, edges.targets
        back = numbers[u] >= numbers[v]
        if back.any():
            one, other = graph.ids.take(np.array([u[back][0], v[back][0]]))
            require(False, name, f"the edge {one} -> {other} leads to no later generation")
        held[v[numbers[u] + 1 == numbers[v]]] = True
    refute(name, graph, ~held, lambda v: f"has no edge from generation {numbers[v] - 1}")
