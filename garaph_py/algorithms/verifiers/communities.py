"""Verifiers of communities and independent sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph import Graph
from ..maximal_independent_set import require_maximal
from .evidence import joined, pairs, places_of, refute, require, values_of

Array = npt.NDArray[Any]


def verify_label_propagation_communities(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless labels are settled.

    It checks two properties: each vertex is in a community that is one of the most frequent among its neighbours, or
    alone if it has none; and communities are named after their least vertices.
    """
    name = "label_propagation_communities"
    labels = values_of(name, graph, answer).astype(np.int64)
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    refute(name, graph, labels != first[places], lambda v: f"has the label {labels[v]}, not the least vertex of these")
    u, v = joined(pairs(graph))
    found, counts = np.unique(v.astype(np.int64) * graph.n + labels[u], return_counts=True)
    most, own = np.zeros((2, graph.n), np.int64)
    of, label = found // max(graph.n, 1), found % max(graph.n, 1)
    np.maximum.at(most, of, counts)
    same = label == labels[of]
    own[of[same]] = counts[same]
    refute(name, graph, own < most, lambda v: f"shares its label with {own[v]} neighbours, another one with {most[v]}")
    sizes = np.bincount(labels, minlength=graph.n)
    refute(name, graph, (most == 0) & (sizes[labels] > 1), lambda v: "is in a community without any neighbour")


def verify_maximal_independent_set(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless no two vertices of the set are neighbours, and all others have one in it."""
    name, inside = "maximal_independent_set", np.zeros(graph.n, bool)
    inside[places_of(name, graph, answer)] = True
    require(len(answer) == np.count_nonzero(inside), name, "the set has a vertex twice")
    if given.nodes is not None:
        require(bool(inside[graph.ids.indices(given.nodes)].all()), name, "the set lacks one of the nodes")
    require_maximal(graph, inside)
