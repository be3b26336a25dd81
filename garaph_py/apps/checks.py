"""Functions that the programs' parameter checks and verifiers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError, ParameterError, VerificationError
from ..graph import Graph
from ..pages.passes import EdgeChunk, listed
from ..program.elsewhere import HasNumbers
from ..program.vertex_data import vertex_column, vertex_numbers

Array = npt.NDArray[Any]

ROUNDINGS = 8
"""Operations on a vertex's sum that round, at most: those of `apply`, and of the verifier itself."""


def require_fraction(program: Any, name: str) -> None:
    """Raise `ParameterError` unless the program's parameter `name` is a number in [0, 1)."""
    value = getattr(program, name)
    if not isinstance(value, (int, float, np.number)) or not 0 <= value < 1:
        raise ParameterError(f"{type(program).__name__}({name}={value!r}): give a number from 0 to below 1")


def require_positive(program: Any, name: str) -> None:
    """Raise `ParameterError` unless the program's parameter `name` is a finite number above 0."""
    value = getattr(program, name)
    if not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
        raise ParameterError(f"{type(program).__name__}({name}={value!r}): give a number above 0")


def require_no_negative_edges(program: Any, graph: Graph) -> None:
    """Raise `GraphError`, naming an edge, if an edge value is negative or NaN."""
    require_edges(type(program).__name__, graph, "edge values of 0 or more", 0, np.inf)


def require_finite_edges(program: Any, graph: Graph) -> None:
    """Raise `GraphError`, naming an edge, if the program's float type holds an edge value only as infinity or NaN."""
    most = np.finfo(np.result_type(program.dtype, np.float32)).max
    require_edges(type(program).__name__, graph, "finite edge values", -most, most)


def require_edges(name: str, graph: Graph, needs: str, least: Any, most: Any) -> None:
    """Raise `GraphError`, naming an edge, unless all edge values are from `least` to `most`.

    `name` is whose error it is, and `needs` are the words for what it needs.
    """
    if graph.edge_dtype is None or not graph.m:
        return
    limits = graph._arrays.value_limits
    if limits.least >= least and limits.most <= most:
        return
    problem = f"{name} needs {needs}, but"
    for edges in listed(graph):
        numbers = edge_numbers(edges)
        if (at := np.flatnonzero(~((numbers >= least) & (numbers <= most)))).size:
            break
    else:
        wrong = limits.most if limits.least >= least else limits.least
        where = "or the manifest says so, where in-edges have other values"
        raise GraphError(f"{problem} out-edges have {wrong}, {where}; import the graph again")
    ends = graph.ids.take(np.array([edges.sources[at[0]], edges.targets[at[0]]]))
    raise GraphError(f"{problem} the edge {ends[0]} -> {ends[1]} has {numbers[at[0]]}; remove or change such edges")


def require_finite_vertices(program: Any, graph: Graph, name: str, or_nan: bool = False) -> None:
    """Raise `ParameterError`, naming a vertex, unless the `PerVertex` parameter `name` is finite (`or_nan`: or NaN)."""
    given = getattr(program, name)
    has_names = hasattr(given, "keys") and not isinstance(given, HasNumbers)
    named = dict(given) if has_names else {}
    numbers = np.asarray(list(named.values()) if has_names else vertex_column(given, 0.0, graph, name), np.float64)
    wrong = np.isinf(numbers) if or_nan else ~np.isfinite(numbers)
    if wrong.any():
        at = int(np.argmax(wrong))
        vertex = list(named)[at] if has_names else graph.ids.take(np.array([at]))[0]
        where = f" at vertex {vertex}" * numbers.ndim
        raise ParameterError(f"{type(program).__name__}({name}=...) is {numbers.flat[at]}{where}; give finite numbers")


def reached_over(graph: Graph, roots: Array, wanted: Array, chosen: Callable[[EdgeChunk], Array]) -> Array:
    """The vertices that the `roots` reach over the edges that the mask ``chosen(edges)`` selects.

    Sets of vertices are boolean arrays of shape (n,). The function passes over all edges again until every `wanted`
    vertex is reached, or a pass reaches no further vertex.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    reached, n, before = roots.copy(), graph.n, -1
    while (wanted & ~reached).any() and before < (count := int(np.count_nonzero(reached))):
        before = count
        for edges in listed(graph):
            new = chosen(edges) & ~reached[edges.targets]
            u, v = edges.sources[new].astype(np.int64), edges.targets[new].astype(np.int64)
            known = np.unique(u[reached[u]])
            if not len(known):
                continue
            # A search from an added vertex n, which has an edge to every source that is reached already.
            ends = np.append(u, np.full(len(known), n)), np.append(v, known)
            matrix = csr_array((np.ones(len(ends[0]), bool), ends), shape=(n + 1, n + 1))
            reached[breadth_first_order(matrix, n, return_predecessors=False)[1:]] = True
    return reached


def components(graph: Graph) -> int:
    """The number of weakly connected components."""
    count, component = graph.n, np.arange(graph.n, dtype=np.int32 if graph.n < 1 << 31 else np.int64)
    pairs, waiting = list[Array](), 0
    for edges in listed(graph, values=False):
        ends = np.stack((component[edges.sources], component[edges.targets]))
        pairs.append(ends[:, ends[0] != ends[1]])
        waiting += pairs[-1].shape[1]
        if 4 * waiting >= count:  # joining takes time in proportion to `count`, so it waits for enough pairs
            count, joined = joined_by(pairs, count)
            component, pairs, waiting = joined[component], [], 0
    return joined_by(pairs, count)[0] if waiting else count


def strong_components(n: int, u: Array, v: Array) -> tuple[int, Array]:
    """How many strongly connected components `n` vertices have by the edges u -> v, and which each is in: shape (n,).

    SciPy finds them by Pearce's algorithm.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, numbers = connected_components(csr_array((np.ones(len(u), bool), (u, v)), shape=(n, n)), connection="strong")
    return int(count), numbers


def joined_by(pairs: list[Array], count: int) -> tuple[int, Array]:
    """Join the `pairs` among `count` components: the number of components left, and which of them each is in."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    ends = np.concatenate(pairs, axis=1)
    matrix = csr_array((np.ones(len(ends[0]), np.int8), (ends[0], ends[1])), shape=(count, count))
    components_left, joined = connected_components(matrix, directed=False)
    return int(components_left), joined


def finite_values(program: Any, graph: Graph, result: Any) -> Array:
    """The values of a result as float64; `VerificationError`, naming a vertex, if one is not finite."""
    values: Array = result.values.astype(np.float64)
    if (at := np.flatnonzero(~np.isfinite(values))).size:
        raise VerificationError(
            f"{type(program).__name__}: the value at vertex {graph.ids[int(at[0])]} is {values[at[0]]}"
        )
    return values


def require_kept(program: Any, graph: Graph, result: Any, kept: Array) -> None:
    """Raise `VerificationError`, naming a vertex, unless values are those that `kept` says; NaN says nothing."""
    wrong = ~np.isnan(kept) & (result.values != kept.astype(result.values.dtype))
    if wrong.any():
        at = int(np.argmax(wrong))
        problem = f"is {result.values[at]}, and not the {kept[at]} at which it is kept"
        raise VerificationError(f"{type(program).__name__}: the value at vertex {graph.ids[at]} {problem}")


def fixed_values(program: Any, graph: Graph, result: Any) -> Array:
    """The program's parameter `fixed` for each vertex, NaN for free ones; `VerificationError` if a value is another."""
    fixed = np.broadcast_to(vertex_numbers(program, "fixed", np.nan, graph, np.dtype(np.float64)), graph.n)
    require_kept(program, graph, result, fixed)
    return fixed


# wide: a program, its answer, and what says how exact the answer is.
def require_settled(program: Any, graph: Graph, result: Any, right: Array, reach: Array, size: Array) -> None:
    """Raise `VerificationError`, naming a vertex, if a run that converged has left a value too far from its equation.

    A vertex rests while its in-neighbours change by at most the program's `tolerance` in an iteration. So each of them
    may have changed by as much in every iteration since the vertex was updated, but by no more.

    Parameters
    ----------
    right : ndarray, shape (n,)
        The right side of each vertex's equation; NaN where there is none.
    reach : ndarray, shape (n,)
        By how much it may change, at most, if each value changes by 1.
    size : ndarray, shape (n,)
        The sum of the absolute values of its terms, to which rounding errors are in proportion.
    """
    if not result.stats.converged:
        return
    done = result.stats.resumed + len(result.stats.history) + 1  # without synchrony, also in the one of the update
    exact = np.finfo(program.dtype).eps * (graph.in_degrees + ROUNDINGS)
    slack = program.tolerance * done * reach + exact * size
    residual = np.abs(right - result.values)
    wrong = ~(np.isnan(right) | (residual <= slack))
    if wrong.any():
        at = int(np.argmax(wrong))
        problem = f"the residual at vertex {graph.ids[at]} is {residual[at]:.3g}, not at most {slack[at]:.3g}"
        raise VerificationError(f"{type(program).__name__}: {problem}")


def in_sums(graph: Graph, contributions: Array, weighted: bool = False, absolute: bool = False) -> Array:
    """For each vertex the sum of its in-neighbours' contributions (float64, shape (n,)), one for each in-edge.

    If `weighted`, a contribution is multiplied by the edge value. If `absolute`, absolute values are added up.
    """
    sums = np.zeros(graph.n)
    for edges in listed(graph, values=weighted):
        first, count = edges.first_vertex, edges.last_vertex - edges.first_vertex
        given = contributions[edges.sources] * (edge_numbers(edges) if weighted else 1)
        given = np.abs(given) if absolute else given
        sums[first : first + count] = np.bincount(edges.targets - np.uint32(first), given, minlength=count)
    return sums


def weighted_mean(program: Any, graph: Graph, values: Array) -> tuple[Array, Array, Array]:
    """The mean of the in-neighbours' values by edge value, and its `reach` and `size` as in `require_settled`.

    The mean is 0 where edge values are all 0, and NaN where they cancel, so that only rounding decides what it is.
    """
    ones = np.ones(graph.n)
    weight, sizes = (in_sums(graph, ones, weighted=True, absolute=absolute) for absolute in (False, True))
    cancelled = np.abs(weight) <= np.finfo(program.dtype).eps * (graph.in_degrees + ROUNDINGS) * sizes
    weight[cancelled] = np.where(sizes[cancelled] > 0, np.nan, 1)
    mean = in_sums(graph, values, weighted=True) / weight
    reach = sizes / np.abs(weight)
    size = in_sums(graph, values, weighted=True, absolute=True) / np.abs(weight)
    return mean, reach, size * (1 + reach)  # the sum of the edge values is rounded, too


def edge_numbers(edges: EdgeChunk) -> Array:
    """Edge values as programs see them: all 1 if the graph has none."""
    return np.ones(len(edges.sources), np.int64) if edges.values is None else edges.values
