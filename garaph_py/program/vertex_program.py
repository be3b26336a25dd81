"""The base class of vertex programs, which are written in plain Python as gather, sum, apply and activate.

Garaph's section 2.3 describes this model.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from ..errors import ProgramError
from .fields import checked
from .monoids import Monoid

if TYPE_CHECKING:
    from ..graph import Graph


@dataclass_transform(field_specifiers=(dataclasses.field,))
class VertexProgram:
    """Base class of vertex programs. A subclass is a dataclass whose fields are the program's parameters.

    In each iteration, every vertex v that must be updated gets the value
    ``new = apply(old, sum of gather(src, edge) over all in-edges u -> v)``, where ``src`` is the value of u.

    These functions are compiled. They may use arithmetic, comparisons, ``if``, loops, the functions of `math` and
    NumPy on numbers, and other functions of this kind. Of `self` they may use the numeric parameters and
    ``self.identity``, the identity of `sum`. Each function asks for its arguments by name, in any order:

    ============ =================================================== =================================================
    function     arguments                                           what it returns
    ============ =================================================== =================================================
    `init`       id, n, in_degree, out_degree                        the first value
    `gather`     src, edge, dst, src_id                              what an in-edge contributes to the sum
    `gather_out` src, edge, dst, src_id                              what an out-edge contributes to a sum of its own,
                                                                     `acc_out` (see below)
    `apply`      old, acc, acc_out, total, id, n, in_degree,         the new value (default: the sum of old and acc)
                 out_degree
    `activate`   new, old                                            whether the vertex becomes active (default: its
                                                                     value has changed)
    `frontier`   value, id, n, in_degree, out_degree                 whether the vertex is active at the start
                                                                     (default: yes)
    `prepare`    value, active, id, n, in_degree, out_degree         the value that replaces `value` before an
                                                                     iteration, at every vertex (as in Grus)
    `aggregate`  new, old, id, n, in_degree, out_degree              a number; the sum over all vertices is `total` in
                                                                     the next iteration
    `done`       acc, old                                            whether no further edge can change what `apply`
                                                                     returns (used in synchronous runs only)
    `priority`   value                                               a number; active vertices with a smaller one are
                                                                     processed first (see `monotone`)
    `delta`      new, old, edge, src_id                              what an out-edge adds to the sum of its target if
                                                                     the vertex's value changes from old to new
    `result`     value, id, n, in_degree, out_degree, parent         the reported value
    ============ =================================================== =================================================

    The arguments are:

    - ``src``, ``dst``, ``value``, ``old``, ``new``: values of vertices; ``acc`` is the sum of contributions.
    - ``edge``: the edge's value, 1 in a graph without edge values.
    - ``id``, ``src_id``: internal ids (int64).
    - ``n``, ``in_degree``, ``out_degree``: the number of vertices, and the vertex's degrees.
    - ``parent``: the in-neighbour that gave the vertex its value, in relaxations only (see below): the one with the
      smallest internal id for which `gather` returns this value. -1 if the vertex has kept its first value, or if no
      such in-neighbour exists, as may be in a run that ends early.
    - `PerVertex` parameters, by name, in all functions but `gather`, `activate`, `done`, `priority` and
      `delta`.

    If values or accumulators are floats, the widest of their types is the program's float type. Then ``n``, degrees,
    edge values and float parameters have this type, and ``float(x)`` converts to it. In other programs they are int64.
    It is an error if a float32 program computes in float64.

    The out-neighbours of an active vertex are updated in the next iteration; so is the vertex itself if `gather` asks
    for ``dst``. In pull mode other vertices are updated too. Therefore `apply` must return the same value as before if
    nothing that `gather` sees has changed, and the first value of a vertex that is not active at the start must
    contribute nothing.

    A program is a *relaxation* if its `sum` is idempotent (min, max, bitwise and, or), its value is one number, it does
    not define `apply`, `activate`, `prepare` or `aggregate`, and `gather` does not ask for ``dst``. Then active
    vertices may push their contributions along their out-edges, and inactive vertices need not be gathered from.

    A program that adds (``sum = gp.add``) may define `delta`, the difference between what `gather` returns for two
    values of the source. Then a run keeps the sum of each vertex, and active vertices may push what they add
    to the sums of their out-neighbours. ``new`` is the vertex's value, and ``old`` the value that the sums include.
    A program that defines `done`, `aggregate` or `prepare` does not push; `gather` may not ask for ``dst``. Floats are
    added in another order from run to run. An inherited `delta` is not used if a subclass defines another `gather`.

    A program that defines `gather_out` gathers over both directions apart: ``acc_out`` is the sum of what it returns
    for all out-edges, whose ``src`` and ``src_id`` are the out-neighbour, and `apply` must ask for it. Each iteration
    takes two runs, which pull. Such a program has no `done`, `delta`, `priority` or `prepare`, writes no checkpoints,
    traces and reports, and does not run on a cluster. If it has floats and integers, these have 64 and 32 bits.

    Attributes
    ----------
    value : dtype, dict of name to dtype, or method ``value(self, edge)`` that returns one of them
        Type of a vertex's value: a 32- or 64-bit integer or float, or a few named fields of such types. Functions read
        fields as attributes, and return them as a tuple in the given order. The method gets the dtype of the edge
        values, or None.
    accumulator : like `value`
        Type of the sum; by default that of the value.
    sum : Monoid
        A unified operation (`garaph_py.add`, ``min``, ...), which combines fields one by one, or your own `Monoid`,
        which combines whole tuples.
    accumulator_out, sum_out
        The same for the sum over out-edges, if the program defines `gather_out`; by default `accumulator` and `sum`. In
        `gather_out`, ``self.identity`` is the identity of this sum.
    gathers : {"in", "out", "both"}
        The edges to gather over. With ``"out"`` the program runs over `Graph.reversed`: all that is said of in-edges
        and in-degrees holds for out-edges and out-degrees, and the other way round. ``"both"`` requires an undirected
        or symmetrized graph.
    total : dtype or dict of name to dtype
        Type of what `aggregate` returns: ``float`` or ``int``, or named fields of these types.
    monotone : bool
        A promise about a relaxation: if ``src`` becomes better (smaller, for ``min``), `gather` never returns something
        worse. Then updates in any order lead to the same values, and a run that is not synchronous updates values in
        place, in the order of `priority`. If the program defines `done`, only pushes over edges on disk make use of it.
    by_levels : bool
        A promise about a relaxation: all in-neighbours that contribute a vertex's value got their own values in the
        same superstep, and keep them, as in a BFS. Then a run can note the parent when a vertex gets its value, and
        need not search for it.
    reports : dtype or dict of name to dtype, optional
        Type of what `result` returns, if it is not that of the value. `VertexId` stands for a vertex, for which
        `result` returns the internal id, or -1 for none. It is stored as int32, or as int64 from 2**31 vertices on.
    unreached : number, optional
        The reported value, or its first field, of a vertex to which no path leads. `Result.top` ranks such vertices
        last, or leaves them out. By default it is the identity of `sum` if the program is a relaxation without
        `result`. Other programs count all vertices as reached.

    Notes
    -----
    Begin the names of your own methods with an underscore; the class refuses other names, because they may be misspelt
    functions. It also refuses attributes without annotation whose names are almost those of the attributes above.

    Three methods run as plain Python. ``for_graph(self, graph)`` returns the program to run on `graph`, by default
    this one. ``converged(self, total, n)`` may end the run after an iteration: it returns True or False, and needs
    `aggregate`, which makes the total. ``verify(self, graph, result)`` checks the properties that define the answer and
    raises `VerificationError`.
    """

    value: ClassVar[Any] = None
    accumulator: ClassVar[Any] = None
    accumulator_out: ClassVar[Any] = None
    sum: ClassVar[Monoid]
    sum_out: ClassVar[Monoid | None] = None
    gathers: ClassVar[str] = "in"
    total: ClassVar[Any] = None
    monotone: ClassVar[bool] = False
    by_levels: ClassVar[bool] = False
    reports: ClassVar[Any] = None
    unreached: ClassVar[Any] = None
    identity: ClassVar[Any]
    verify: ClassVar[Any] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        try:
            dataclasses.dataclass(cls)
        except TypeError as error:
            raise ProgramError(f"{cls.__name__}: {error}") from None
        except ValueError as error:  # a list, a dict or an array as default
            problem = str(error).partition(":")[0]
            advice = "leave the default out; a number for each vertex is a gp.PerVertex"
            raise ProgramError(f"{cls.__name__}: {problem}; {advice}") from None
        cls.__init__ = checked(cls.__init__)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        """Check the parameters; a subclass raises `ParameterError` here."""

    def converged(self, total: Any, n: int) -> bool:
        """Whether to end the run after an iteration whose aggregated sum is `total`. Runs as plain Python."""
        return False

    def for_graph(self, graph: Graph) -> VertexProgram:
        """The program to run on `graph`, such as one with functions that make use of the edge values. It is called
        once, before everything else, and runs as plain Python."""
        return self

    def check_graph(self, graph: Graph) -> None:
        """Raise `GraphError` if the program cannot run on `graph`. Runs once, as plain Python."""
