"""What the modules of this folder share: a graph as arrays, arguments of calls, and calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ALPHA = 1e-5
"""Of Katz centrality: below 1 / the largest eigenvalue of each of the graphs."""


CORE = 10
"""The k of shells, coronas and trusses."""
STEPS = 40
"""Of a random walk, one of which starts at each hub."""


class Edges(NamedTuple):
    """A graph without parallel edges and self-loops. Vertices are 0 to n - 1; undirected edges stand in it once."""

    n: int
    sources: Array
    targets: Array
    directed: bool


class Arguments(NamedTuple):
    """Vertices for functions that take some: the sources of a betweenness, and those with the most edges."""

    sources: list[int]
    hubs: list[int]


class Call(NamedTuple):
    """How a library computes what a function of ours does.

    Attributes
    ----------
    run : callable
        Takes the library's graph and the `Arguments`: what is timed.
    answer : callable
        Turns what `run` returned into one array, to be compared.
    """

    run: Callable[[Any, Arguments], Any]
    answer: Callable[[Any], Array]


def numbers(values: Any) -> Array:
    return np.asarray(values, dtype=np.float64)


def by_node(found: dict[int, Any]) -> Array:
    """The values of a dictionary from all vertices."""
    values = np.empty(len(found))
    values[list(found)] = list(found.values())
    return values


def without(sources: list[int], values: Any) -> Array:
    """The values, but 0 for these sources."""
    found = numbers(values)
    found[sources] = 0
    return found


def labels_of(parts: list[Any], n: int) -> Array:
    """For each vertex the number of the set that it is in; -1 if it is in none."""
    labels = np.full(n, -1)
    for number, part in enumerate(parts):
        labels[list(part)] = number
    return labels


def places_of(order: Any) -> Array:
    """For each vertex its place in an order of all."""
    places = np.empty(len(order), np.int64)
    places[np.asarray(order)] = np.arange(len(order))
    return places
