"""PageRank."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from ..apps import PageRank
from ..apps.checks import require_edges
from .functions import implements
from .graph import BackendGraph
from .runs import run_on
from .weighted import callable_weight

Array = npt.NDArray[Any]


def unsupported(alpha: Any, weight: Any, **others: Any) -> str | None:
    """Why `pagerank` does not run here with these arguments; None if it does."""
    return callable_weight(weight) or (None if 0 <= alpha < 1 else f"alpha is {alpha}, and must be from 0 to below 1")


@implements(unsupported)
# wide: NetworkX's signature.
def pagerank(
    G: BackendGraph,
    alpha: float = 0.85,
    personalization: dict[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: dict[Any, float] | None = None,
    weight: str | None = "weight",
    dangling: dict[Any, float] | None = None,
) -> dict[Any, float]:
    """The PageRank of each node."""
    if len(G) == 0:
        return {}
    jump, first, shared = (
        None if given is None else numbers_in(given, G) for given in (personalization, nstart, dangling)
    )
    if jump is not None and jump.sum() == 0:
        raise ZeroDivisionError
    for numbers in jump, first, shared:
        if numbers is not None and not (np.isfinite(numbers).all() and numbers.min() >= 0 and numbers.any()):
            raise NotImplementedError("numbers are below 0, infinite or NaN, or all 0")
    if max_iter < 1 or not tol > 0:
        raise nx.PowerIterationFailedConvergence(max_iter)
    graph = G.weighted(weight)
    require_edges("pagerank", graph, "edge values of 0 or more", 0, np.inf)
    program = PageRank(alpha, stop="mean", tolerance=tol, personalization=jump, redistribution=shared, nstart=first)
    result = run_on(graph, program, iterations=max_iter)
    if not result.stats.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.keyed(result.values)


def numbers_in(given: dict[Any, float], G: BackendGraph) -> Array:
    """A number for each node; 0 for those that a dictionary leaves out."""
    return np.array([given.get(node, 0) for node in G], dtype=float)
