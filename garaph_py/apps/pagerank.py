"""PageRank."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from ..errors import ParameterError, VerificationError
from ..program import PerVertex, VertexId
from ..program.monoids import add
from .checks import in_sums, require_fraction, require_positive
from .ranks import RankProgram, distribution_of, divisor, specialized, walk_of

DANGLING = ("redistribute", "drop")
STOP = ("sum", "mean", "never")


class PageRank(RankProgram):
    """PageRank: ``r_v = (1 - d) * p_v + d * (sum over u -> v of r_u * w_uv / W_u + D * p_v)``.

    w_uv is the edge's weight, W_u the sum of the weights of u's out-edges, and p_v, the personalization, is 1 / n by
    default. D is the total rank of the dangling vertices, those with W_u = 0. It is shared among all vertices in
    proportion to p, or to `redistribution`, and then all ranks sum to 1; or it is dropped, and then D is 0 in the
    equation.

    Parameters
    ----------
    damping : float
        d, from 0 to below 1.
    dangling : {"redistribute", "drop"}
        Whether D is shared among all vertices (as in NetworkX and LDBC Graphalytics) or dropped (as in GAP).
    stop : {"sum", "mean", "never"}
        When the run has converged: when the sum of the absolute changes in an iteration is below `tolerance` (as in
        GAP); when their mean is (as in NetworkX); or never, so that the run ends after a given number of iterations
        (as in Graphalytics; Garaph's paper runs 10).
    tolerance : float
        The bound for `stop`.
    weighted : bool
        Whether edge values are weights, as in NetworkX: numbers of 0 or more. If False (as in GAP and LDBC
        Graphalytics), or in a graph without edge values, every edge has weight 1.
    personalization : per vertex
        p_v up to a factor, as in NetworkX: numbers of 0 or more, not all 0, in a mapping, in which vertices that are
        left out have 0, or in an array. By default all vertices have the same.
    redistribution : per vertex
        How much of D each vertex gets, up to a factor, as `personalization`: the mapping `dangling` of NetworkX. By
        default, in proportion to `personalization`.
    nstart : per vertex
        The first ranks up to a factor, as `personalization`; by default all vertices have the same. The nearer they are
        to the answer, the fewer iterations it takes: give the ranks of a similar graph.
    dtype : dtype
        Type of the ranks: float64, or float32.

    Returns
    -------
    value : `dtype`
        r_v, the rank.

    Notes
    -----
    A vertex's value is its rank divided by W_u. Edges then gather from one array instead of two. W_u is computed in
    one pass over the edges before the run, and kept until `Graph.release`.

    References
    ----------
    .. [1] Page, L., S. Brin, R. Motwani, T. Winograd, "The PageRank citation ranking: bringing order to the web", 1998.
    .. [2] Ma, L. et al., "Garaph", USENIX ATC 2017, section 6.

    Examples
    --------
    >>> graph = gp.from_edges([0, 1, 2], [1, 2, 0])
    >>> gp.run(gp.apps.PageRank(damping=0.85), graph, iterations=10).column().round(3)
    array([0.333, 0.333, 0.333])
    """

    damping: float = 0.85
    dangling: str = "redistribute"
    stop: str = "sum"
    tolerance: float = 1e-6
    redistributed: float = field(init=False, default=1.0)
    redistribution: PerVertex = field(default=None, kw_only=True)
    nstart: PerVertex = field(default=None, kw_only=True)

    sum = add
    total = {"dangling": float, "change": float}  # noqa: RUF012

    def init(self, n, out_degree):
        return float(1) / n / max(out_degree, float(1))

    def gather(self, src):
        return src

    def apply(self, acc, total, n, out_degree):
        rank = (float(1) - self.damping) / n + self.damping * (acc + self.redistributed * total.dangling / n)
        return rank / max(out_degree, float(1))

    def aggregate(self, new, old, out_degree):
        # A product instead of a branch: which vertices have no out-edges is hard to predict (docs/results/cpu.md).
        is_dangling = max(float(1) - float(out_degree), float(0))
        return new * is_dangling, abs(new - old) * max(out_degree, float(1))

    def result(self, value, out_degree):
        return value * max(out_degree, float(1))

    def converged(self, total, n):
        return self.stop != "never" and total.change < self.tolerance * (n if self.stop == "mean" else 1)

    def for_graph(self, graph):
        if self.redistribution is not None:
            shared = WeightedPageRank, WeightedRedistributedPageRank
            return specialized(self, graph, PageRank, RedistributedPageRank, shared)
        if self.nstart is not None:
            started = WeightedPageRank, WeightedStartedPageRank
            return specialized(self, graph, PageRank, StartedPageRank, started)
        weighted = WeightedPageRank, WeightedPersonalizedPageRank
        rooted = RootedPageRank, WeightedRootedPageRank
        return specialized(self, graph, PageRank, PersonalizedPageRank, weighted, rooted)

    def __post_init__(self) -> None:
        require_fraction(self, "damping")
        require_positive(self, "tolerance")
        if self.dangling not in DANGLING or self.stop not in STOP:
            raise ParameterError(
                f"PageRank(dangling={self.dangling!r}, stop={self.stop!r}): dangling is one of {', '.join(DANGLING)}; "
                f"stop is one of {', '.join(STOP)}"
            )
        if self.dangling == "drop" and self.redistribution is not None:
            raise ParameterError(
                'PageRank(dangling="drop", redistribution=...): what is dropped goes nowhere; leave one of them out'
            )
        self.redistributed = 1.0 if self.dangling == "redistribute" else 0.0

    def verify(self, graph, result):
        """Raise `VerificationError` if a rank is negative or not finite, or the equation's residual is too large.

        The residual is the sum over all vertices of the difference between the two sides of the equation. It is
        checked against `tolerance` only if the run converged.
        """
        rank = result.values.astype(np.float64)
        if graph.n and not (np.isfinite(rank).all() and (rank >= 0).all()):
            raise VerificationError("PageRank: a rank is negative or not finite")
        walk = walk_of(self, graph)
        lost = rank[walk.out_weight == 0].sum() * self.redistributed
        gathered = in_sums(graph, rank / np.where(walk.out_weight == 0, 1, walk.out_weight), walk.weighted)
        shared = walk.jump if self.redistribution is None else distribution_of(self, graph, "redistribution")
        right = (1 - self.damping) * walk.jump + self.damping * (gathered + lost * shared)
        residual = np.abs(right - rank)
        bound = self.tolerance * (graph.n if self.stop == "mean" else 1) + 64 * np.finfo(self.dtype).eps
        if result.stats.converged and self.stop != "never" and residual.sum() > bound:
            raise VerificationError(f"PageRank: the residual is {residual.sum():.3g}, not below {bound:.3g}")


class PersonalizedPageRank(PageRank):
    """`PageRank` with ``personalization``, divided by its sum, and ``out_weight`` as numbers for each vertex."""

    def init(self, n, out_weight):
        return float(1) / n / divisor(out_weight)

    def apply(self, acc, total, personalization, out_weight):
        jumping = float(1) - self.damping + self.damping * self.redistributed * total.dangling
        return (jumping * personalization + self.damping * acc) / divisor(out_weight)

    def aggregate(self, new, old, out_weight):
        return new if out_weight == 0 else float(0), abs(new - old) * divisor(out_weight)

    def result(self, value, out_weight):
        return value * divisor(out_weight)


class WeightedPersonalizedPageRank(PersonalizedPageRank):
    """The same, with edge values as weights."""

    def gather(self, src, edge):
        return src * edge


class WeightedPageRank(WeightedPersonalizedPageRank):
    """The same, with jumps to all vertices equally often."""

    def apply(self, acc, total, n, out_weight):
        rank = (float(1) - self.damping) / n + self.damping * (acc + self.redistributed * total.dangling / n)
        return rank / divisor(out_weight)


class RootedPageRank(PersonalizedPageRank):
    """The same, with all jumps leading to one vertex, the ``root``."""

    root: VertexId = field(default=None, init=False, repr=False)

    def apply(self, acc, total, id, out_weight):
        jumping = float(1) - self.damping + self.damping * self.redistributed * total.dangling
        return ((jumping if id == self.root else float(0)) + self.damping * acc) / divisor(out_weight)


class WeightedRootedPageRank(RootedPageRank):
    """The same, with edge values as weights."""

    def gather(self, src, edge):
        return src * edge


class StartedPageRank(PersonalizedPageRank):
    """The same, with ``nstart`` divided by its sum."""

    def init(self, nstart, out_weight):
        return nstart / divisor(out_weight)


class WeightedStartedPageRank(StartedPageRank, WeightedPersonalizedPageRank):
    """The same, with edge values as weights."""


class RedistributedPageRank(StartedPageRank):
    """The same, with ``redistribution``, divided by its sum, which says where the rank of dangling vertices goes."""

    def apply(self, acc, total, personalization, redistribution, out_weight):
        jumping = (float(1) - self.damping) * personalization
        return (jumping + self.damping * (acc + total.dangling * redistribution)) / divisor(out_weight)


class WeightedRedistributedPageRank(RedistributedPageRank, WeightedStartedPageRank):
    """The same, with edge values as weights."""


for kind in (
    PersonalizedPageRank, WeightedPersonalizedPageRank, WeightedPageRank, RootedPageRank, WeightedRootedPageRank,
    StartedPageRank, WeightedStartedPageRank, RedistributedPageRank, WeightedRedistributedPageRank,
):  # fmt: skip
    kind.__name__ = PageRank.__name__  # reports have the name that users know
