"""What the programs that rank vertices by a random walk share: edge weights and personalization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError, ParameterError
from ..graph import Graph
from ..pages.passes import out_weight_limits, out_weights
from ..program import PerVertex
from ..program.dtypes import concrete, real_type
from ..program.fields import NUMBERS
from ..program.vertex_data import vertex_numbers
from .checks import require_no_negative_edges
from .floating import FloatProgram

Array = npt.NDArray[Any]

DISTRIBUTIONS = ("nstart", "redistribution")
"""Parameters of `PageRank` that are like the personalization: numbers for each vertex, up to a factor."""


class RankProgram(FloatProgram):
    """A program that ranks vertices by a random walk along out-edges, with jumps to any vertex.

    Parameters
    ----------
    weighted : bool
        Whether the walk takes an out-edge with a probability in proportion to its edge value, as in NetworkX. If False,
        or in a graph without edge values, it takes all out-edges of a vertex with the same probability.
    personalization : per vertex
        How likely a jump leads to each vertex, up to a factor, as in NetworkX: numbers of 0 or more, not all 0. A
        mapping may leave vertices out; no jump leads there. By default a jump leads to all vertices equally often.
    """

    weighted: bool = field(default=True, kw_only=True)
    personalization: PerVertex = field(default=None, kw_only=True)
    out_weight: PerVertex = field(default=None, init=False, repr=False)


@dataclass(frozen=True)
class Walk:
    """The random walk of a program on a graph.

    Attributes
    ----------
    jump : float, or ndarray of float64, shape (n,)
        The probability that a jump leads to each vertex.
    out_weight : ndarray, shape (n,)
        The sum of the weights of each vertex's out-edges.
    weighted : bool
        Whether weights are edge values; otherwise they are 1.
    """

    jump: float | Array
    out_weight: Array
    weighted: bool


def walk_of(program: RankProgram, graph: Graph) -> Walk:
    """The walk of `program` on `graph`.

    Raises
    ------
    GraphError
        If the edge values cannot be weights.
    ParameterError
        If the personalization is not one.
    """
    weighted = bool(program.weighted) and graph.edge_dtype is not None
    weights = usable_weights(program, graph) if weighted else graph.out_degrees
    return Walk(distribution_of(program, graph), weights, weighted)


def usable_weights(program: RankProgram, graph: Graph) -> Array:
    """The sums of the values of out-edges, as the program's floats; raise `GraphError` if it cannot divide by them."""
    try:
        require_no_negative_edges(program, graph)
    except GraphError as error:
        raise GraphError(f"{error}, or give weighted=False") from None
    real = np.finfo(real_type(concrete(type(program), "value", program.dtype, None)) or np.float64)
    least, most = float(real.tiny), float(real.max * real.eps)  # a rank divided by these is a normal number
    limits = out_weight_limits(graph)
    if not (limits[0] >= least and limits[1] <= most):
        sums = out_weights(graph)
        bad = np.flatnonzero((sums != 0) & ~((sums >= least) & (sums <= most)))
        raise GraphError(
            f"{type(program).__name__}: the values of the out-edges of vertex {graph.ids.take(bad[:1])[0]} add up to "
            f"{sums[bad[0]]:.3g}, but a {real.dtype} rank can be divided by {least:.3g} to {most:.3g} only; multiply "
            "all edge values by the same factor, or give weighted=False"
        )
    return out_weights(graph, real.dtype)


def distribution_of(program: RankProgram, graph: Graph, name: str = "personalization") -> float | Array:
    """The program's personalization, or another parameter like it, divided by its sum."""
    if getattr(program, name) is None:
        return 1 / max(graph.n, 1)
    given = vertex_numbers(program, name, 0.0, graph, np.dtype(np.float64))
    numbers = np.broadcast_to(given, graph.n).astype(np.float64)
    largest = numbers.max(initial=0)
    if graph.n and not ((numbers >= 0).all() and 0 < largest < np.inf):
        raise ParameterError(
            f"{type(program).__name__}({name}=...): give finite numbers of 0 or more, at least one above 0"
        )
    numbers /= largest  # so that the sum is finite
    return np.asarray(numbers / numbers.sum())


def specialized(
    program: RankProgram, graph: Graph, plain: type, general: type[RankProgram],
    weighted: tuple[type[RankProgram], type[RankProgram]],
    rooted: tuple[type[RankProgram], type[RankProgram]] | None = None,
) -> Any:  # fmt: skip
    """The program that carries out `program` on `graph`.

    Parameters
    ----------
    program : RankProgram
    graph : Graph
    plain : type
        The class without weights and personalization, which is the fastest.
    general : type
        A class with the `PerVertex` parameters ``personalization``, divided by its sum, and ``out_weight``; and, if one
        of `DISTRIBUTIONS` is given, with ``nstart`` and the given ones, divided by their sums.
    weighted : two types
        Like `plain` with ``out_weight``, and like `general`; both with edge values as weights.
    rooted : two types, optional
        Like `general` and `weighted`, with the parameter ``root``, the one vertex to which all jumps lead, in place of
        the personalization. They need no number for each vertex.

    Raises
    ------
    GraphError, ParameterError
        As in `walk_of`, or if `program` is of a class that a user has derived from `plain`.
    """
    reads = program.weighted and graph.edge_dtype is not None
    others = [name for name in DISTRIBUTIONS if getattr(program, name, None) is not None]
    if program.personalization is None and not reads and not others:
        return program
    if type(program) is not plain:
        raise ParameterError(
            f"{type(program).__name__} is derived from {plain.__name__}, and only {plain.__name__} itself knows edge "
            f"weights, personalization, {' and '.join(DISTRIBUTIONS)}; give weighted=False, and none of the others"
        )
    root = only_vertex(program.personalization)
    if rooted is not None and root is not NO_VERTEX:
        graph.ids.index(root)  # refuses what is no vertex
        weights = usable_weights(program, graph) if reads else graph.out_degrees
        made = carried_out(program, rooted[reads], weights, program.personalization)  # which `verify` reads
        made.root = root
        return made
    if program.personalization is None and not others:
        return carried_out(program, weighted[0], usable_weights(program, graph), None)
    walk = walk_of(program, graph)
    made = carried_out(program, weighted[1] if walk.weighted else general, walk.out_weight, walk.jump)
    if others:
        made.nstart = distribution_of(program, graph, "nstart")
    if "redistribution" in others:
        made.redistribution = distribution_of(program, graph, "redistribution")
    return made


def carried_out(program: RankProgram, kind: type[RankProgram], out_weight: Array, jump: Any) -> Any:
    """The program of class `kind` with the parameters of `program`, but for its personalization, which is `jump`."""
    given = {item.name: getattr(program, item.name) for item in fields(program) if item.init}
    made = kind(**{**given, "personalization": jump})
    made.out_weight = out_weight
    return made


NO_VERTEX = object()
"""What `only_vertex` returns if jumps may lead to several vertices."""


def only_vertex(personalization: Any) -> Any:
    """The vertex to which all jumps lead, if a mapping names one alone."""
    if isinstance(personalization, Mapping) and len(personalization) == 1:
        ((vertex, number),) = personalization.items()
        if isinstance(number, NUMBERS) and 0 < number < np.inf:
            return vertex
    return NO_VERTEX


def divisor(out_weight):
    """What a vertex's rank is divided by for its out-neighbours; 1 if it has none."""
    return out_weight if out_weight != 0 else float(1)
