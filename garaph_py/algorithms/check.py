"""`check`: verifies that an answer has the properties that define it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .. import algorithms
from ..errors import GaraphError, ParameterError
from ..graph import Graph
from ..graph.arguments import check_graph, kind_of
from ..program import VertexProgram
from ..runtime.verify import check_result
from ..system.arguments import explained
from .verifiers import centrality, communities, components, cores, paths, triangles

MODULES = centrality, communities, components, cores, paths, triangles
"""Where verifiers are: that of an algorithm is called ``verify_``, followed by the algorithm's name."""


@explained
def check(program: VertexProgram | Callable[..., Any], graph: Graph, result: Any, **arguments: Any) -> None:
    """Check that an answer has the properties that define it.

    Parameters
    ----------
    program : VertexProgram or function of `garaph_py.algorithms`
        The program or the function that gave the answer. A program must have a verifier; every function has one.
    graph : Graph
        The graph of that run or call.
    result
        What `run`, or the function, returned.
    **arguments
        The other arguments of the call of a function, by name; `threads` and `device` may be left out.

    Raises
    ------
    VerificationError
        If the answer violates a property.
    ProgramError
        If the program's verifier raises an exception of another kind, or returns something.
    ParameterError
        If the program has no verifier, the function has no such arguments, or `result` is no answer for such a graph;
        or if `betweenness_centrality` was called with `k`, and `seed` is not given.
    UnknownVertexError
        If an argument of the call is a vertex that the graph lacks.
    DamagedGraphError
        If a disk cannot read the edges, or they fail a check.

    Notes
    -----
    Verifiers of functions use NumPy and SciPy on one core, and hold the edges in memory. Most take time in proportion
    to the edges, but those of triangles, of coefficients and of trusses list all triangles, and that of betweenness
    searches from all of its sources. Those of closeness and harmonic centrality search to 16 vertices. If a power
    iteration has not converged, its equation is not checked.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> gp.check(gp.apps.BFS("a"), graph, gp.run(gp.apps.BFS("a"), graph))
    >>> gp.check(gp.algorithms.k_core, graph, gp.algorithms.k_core(graph, k=2), k=2)
    """
    check_graph(graph, "check")
    if isinstance(program, VertexProgram):
        if arguments:
            raise ParameterError(f"check takes no {', '.join(arguments)} for a program, which has its parameters")
        return check_result(program, graph, result)
    name = getattr(program, "__name__", "")
    if name not in algorithms.__all__ or getattr(algorithms, name) is not program:
        raise ParameterError(f"check takes a program or a function of gp.algorithms, not {program!r:.60}")
    verifier = next(filter(None, (getattr(module, f"verify_{name}", None) for module in MODULES)))
    given = arguments_of(program, graph, arguments)
    try:
        verifier(graph, result, given)
    except GaraphError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        problem = f"check takes what {name} returned, not {kind_of(result)} ({type(error).__name__}: {error})"
        raise ParameterError(problem) from error


def arguments_of(function: Callable[..., Any], graph: Graph, arguments: dict[str, Any]) -> SimpleNamespace:
    """All arguments of a call of a function, those that are not given by their defaults.

    Raises
    ------
    ParameterError
        If the function has no such arguments, or needs others.
    """
    try:
        bound = inspect.signature(function).bind(graph, **arguments)
    except TypeError as error:
        name = getattr(function, "__name__", "")
        raise ParameterError(f"check of {name}: {error}; give the arguments of that call by name") from None
    bound.apply_defaults()
    return SimpleNamespace(**bound.arguments)
