"""Verifiers of core numbers, of the subgraphs that follow from them, and of h-indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph import Graph
from ..core_number import core_number
from ..numbers import vertex_values
from .evidence import Lists, grouped, joined, pairs, pairs_both_ways, refute, values_of
from .subgraphs import require_induced

Array = npt.NDArray[Any]


def verify_core_number(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless the numbers are those of the cores."""
    require_core_numbers(graph, values_of("core_number", graph, answer))


def require_core_numbers(graph: Graph, numbers: Array) -> None:
    """Raise `VerificationError`, naming a vertex, unless these are the core numbers.

    It checks two properties. Each vertex with number k has k neighbours with numbers of k or more, so that these form a
    core. And the vertices can be removed one after the other, those of smaller numbers first, so that each with number
    k has at most k neighbours left, so that it is in no larger core.
    """
    counts, same = np.zeros(graph.n, np.int64), []
    for u, v in pairs_both_ways(graph):
        counts += np.bincount(v[numbers[u] >= numbers[v]], minlength=graph.n)
        equal = numbers[u] == numbers[v]
        same.append((u[equal], v[equal]))
    refute("core_number", graph, counts < numbers, lambda v: f"has {counts[v]} such neighbours for {numbers[v]}")
    stays = ~removed(grouped(graph.n, *joined(same)), counts, numbers)
    refute("core_number", graph, stays, lambda v: f"is in a larger core than the {numbers[v]}-core")


def removed(lists: Lists, counts: Array, most: Array) -> Array:
    """Which vertices go if, again and again, those go whose count is at most `most`; shape (n,).

    A vertex that goes takes 1 from the count of each neighbour in its list.
    """
    counts, gone = counts.copy(), np.zeros(len(counts), bool)
    going = np.flatnonzero(counts <= most)
    while len(going):
        gone[going] = True
        near = lists.others[lists.places(going)]
        np.subtract.at(counts, near, 1)
        near = np.unique(near)
        going = near[(counts[near] <= most[near]) & ~gone[near]]
    return gone


def proven(graph: Graph, k: int | None) -> tuple[Array, int]:
    """Core numbers that have been verified, and k, by default the largest of them."""
    numbers = core_number(graph).values
    require_core_numbers(graph, numbers)
    return numbers, int(numbers.max(initial=0)) if k is None else k


def verify_k_core(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless it is the subgraph of the vertices with core numbers of k or more."""
    numbers, k = proven(graph, given.k)
    require_induced("k_core", graph, answer, numbers >= k)


def verify_k_shell(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless it is the subgraph of the vertices with the core number k."""
    numbers, k = proven(graph, given.k)
    require_induced("k_shell", graph, answer, numbers == k)


def verify_k_crust(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless it is the subgraph of the vertices with core numbers of at most k."""
    numbers, largest = proven(graph, None)
    require_induced("k_crust", graph, answer, numbers <= (largest - 1 if given.k is None else given.k))


def verify_k_corona(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless its vertices are those of the k-shell with k neighbours in the k-core."""
    (numbers, k), counts = proven(graph, given.k), np.zeros(graph.n, np.int64)
    for u, v in pairs(graph):
        counts += np.bincount(u[numbers[v] >= k], minlength=graph.n)
    require_induced("k_corona", graph, answer, (numbers == k) & (counts == k))


def verify_h_index(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless h neighbours have a value of h or more, and for no larger h as many have."""
    found = values_of("h_index", graph, answer)
    degrees, enough, more = np.zeros((3, graph.n), np.int64)
    for _, v in pairs(graph):
        degrees += np.bincount(v, minlength=graph.n)
    values = degrees if given.values is None else vertex_values(given.values, graph, "h_index", "values")
    for u, v in pairs(graph):
        enough += np.bincount(v[values[u] >= found[v]], minlength=graph.n)
        more += np.bincount(v[values[u] >= found[v] + 1], minlength=graph.n)
    refute("h_index", graph, enough < found, lambda v: f"has {enough[v]} such neighbours for an h-index of {found[v]}")
    refute("h_index", graph, more > found, lambda v: f"has the h-index {found[v] + 1} or more, not {found[v]}")
