"""Vertex programs: gather, sum, apply, activate (Garaph section 2.3), written once as plain Python."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, dataclass_transform

from ..errors import ProgramError
from .monoids import Monoid

if TYPE_CHECKING:
    from ..graph import Graph

VertexId = Annotated[Any, "vertex id"]
"""Annotation of a parameter that is one of the user's vertex ids, and in `VertexProgram.reports` of such a result."""

PerVertex = Annotated[Any, "per vertex"]
"""Annotation of a parameter with one number a vertex: a mapping from the user's vertex ids to numbers (the others get
the parameter's default), an array of shape (n,) in the order of ``graph.ids``, or one number for all. Functions ask
for it by name."""


@dataclass_transform(field_specifiers=(dataclasses.field,))
class VertexProgram:
    """Base of vertex programs; a subclass is a dataclass whose fields are run-time parameters.

    For each vertex v an iteration computes ``new = apply(old, sum of gather(u, edge) over its in-edges u -> v)``.
    The functions are compiled; they may use arithmetic, comparisons, ``if``, loops, the functions of `math` and
    NumPy on numbers, other such functions, and of `self` the numeric parameters and ``self.identity``, the identity of
    `sum`. Each asks by name for what it needs, in any order, from:

    ============ ======================================================================================
    function     may ask for
    ============ ======================================================================================
    `init`       id, n, in_degree, out_degree; returns the first value
    `gather`     src, edge, dst, src_id; returns the edge's contribution
    `apply`      old, acc, total, id, n, in_degree, out_degree; returns the new value (default: old and acc, summed)
    `activate`   new, old; whether the out-neighbours must be updated, and the vertex itself where `gather` asks for
                 dst (default: the value changed)
    `frontier`   value, id, n, in_degree, out_degree; whether active at the start (default: every vertex)
    `prepare`    value, active, id, n, in_degree, out_degree; rewrites every value before an iteration (Grus)
    `aggregate`  new, old, id, n, in_degree, out_degree; summed over all vertices; the next iteration sees `total`
    `done`       acc, old; whether no further edge can change what `apply` returns (synchronous runs only)
    `priority`   value; active vertices with a smaller one go first, where the order is free (see `monotone`)
    `result`     value, id, n, in_degree, out_degree; stored value to reported value
    ============ ======================================================================================

    All but `gather` and `edge`-level ones may also ask for `PerVertex` parameters. ``id`` and ``src_id`` are internal
    ids (int64). Where values or accumulators are floats, ``n``, degrees, edge values and float parameters arrive in
    the widest of these float types, and ``float(x)`` converts to it; elsewhere they are int64. A float64 that creeps
    into a float32 program is an error. A graph without edge values has 1 on every edge.

    A vertex is updated when an in-neighbour was active, in pull mode also otherwise: when nothing that `gather` sees
    has changed, `apply` must give the value it gave before. What vertices outside the first frontier contribute from
    their first value must change nothing.

    A program relaxes if its `sum` is idempotent (min, max, bitwise and, or) on one number a vertex, `apply` and
    `activate` are left to their defaults, there is no `prepare` or `aggregate`, and `gather` does not ask for dst:
    then active vertices may also push what they contribute, and only they are gathered from.

    Attributes
    ----------
    value : dtype, dict of name to dtype, or method ``value(self, edge) -> either``
        Type of a vertex's value: a 32- or 64-bit integer or float, or a few named fields of them, read as
        attributes and returned as a tuple in this order. The method sees the dtype of edge values, or None.
    accumulator : the same
        Type of the sum; by default that of the value.
    sum : Monoid
        A unified operation (`garaph_py.add`, ``min``, ...), which combines named fields one by one, or a `Monoid` of
        your own, which combines them together.
    gathers : {"in", "both"}
        The edges to gather over; ``"both"`` asks for an undirected or symmetrized graph.
    total : dtype or dict of name to dtype
        Type of `aggregate`: ``float`` or ``int``, or named fields of them.
    monotone : bool
        A promise for programs with an idempotent `sum` and no `apply` of their own: where ``src`` is nearer to its end
        (smaller, for ``min``), `gather` returns nothing farther from it. Then any order of updates ends in the same
        values, and a run to the end may choose its own: in place, by `priority`.
    reports : dict of name to dtype, or dtype, optional
        Type of what `result` returns, if not that of the value; `VertexId` for vertices, by internal id and -1 for none
        (int32, or int64 from 2**31 vertices on).

    Notes
    -----
    ``converged(self, total, n)``, plain Python, may end the run after an iteration. ``verify(self, graph,
    result)``, plain Python too, checks the properties that define the answer and raises `VerificationError`.
    """

    value: ClassVar[Any] = None
    accumulator: ClassVar[Any] = None
    sum: ClassVar[Monoid]
    gathers: ClassVar[str] = "in"
    total: ClassVar[Any] = None
    monotone: ClassVar[bool] = False
    reports: ClassVar[Any] = None
    identity: ClassVar[Any]
    verify: ClassVar[Any] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        try:
            dataclasses.dataclass(cls)
        except (TypeError, ValueError) as error:
            raise ProgramError(f"{cls.__name__}: {error}") from None

    def __post_init__(self) -> None:
        """Checks of parameters go here; raise `ParameterError`."""

    def converged(self, total: Any, n: int) -> bool:
        """Whether to stop after an iteration, given the `total` it aggregated. Runs as plain Python."""
        return False

    def check_graph(self, graph: Graph) -> None:
        """Refuse a graph the program cannot run on, with a `GraphError`. Runs once, as plain Python."""
