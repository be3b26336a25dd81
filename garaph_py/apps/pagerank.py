"""PageRank."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from ..errors import ParameterError, VerificationError
from ..program.monoids import add
from .checks import in_sums, require_fraction, require_positive
from .floating import FloatProgram

DANGLING = ("redistribute", "drop")
STOP = ("sum", "mean", "never")


class PageRank(FloatProgram):
    """PageRank: ``r_v = (1 - d) / n + d * (sum over u -> v of r_u / outdegree_u + D / n)``.

    D is the total rank of the dangling vertices, those without out-edges. It is shared equally among all vertices, and
    then all ranks sum to 1; or it is dropped, and then D is 0 in the equation.

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
    dtype : dtype
        Type of the ranks: float64, or float32.

    Returns
    -------
    rank : `dtype`
        r_v.

    Notes
    -----
    A vertex's value is its rank divided by its out-degree. Edges then gather from one array instead of two.

    References
    ----------
    .. [1] L. Page, S. Brin, R. Motwani, T. Winograd, "The PageRank citation ranking: bringing order to the web", 1998.
    .. [2] L. Ma et al., "Garaph", USENIX ATC 2017, section 6.

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
        return new if out_degree == 0 else float(0), abs(new - old) * max(out_degree, float(1))

    def result(self, value, out_degree):
        return value * max(out_degree, float(1))

    def converged(self, total, n):
        return self.stop != "never" and total.change < self.tolerance * (n if self.stop == "mean" else 1)

    def __post_init__(self) -> None:
        require_fraction(self, "damping")
        require_positive(self, "tolerance")
        if self.dangling not in DANGLING or self.stop not in STOP:
            raise ParameterError(
                f"PageRank(dangling={self.dangling!r}, stop={self.stop!r}): dangling is one of {', '.join(DANGLING)}; "
                f"stop is one of {', '.join(STOP)}"
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
        lost = rank[graph.out_degrees == 0].sum() * self.redistributed
        gathered = in_sums(graph, rank / np.maximum(graph.out_degrees, 1))
        residual = np.abs(
            (1 - self.damping) / max(graph.n, 1) + self.damping * (gathered + lost / max(graph.n, 1)) - rank
        )
        bound = self.tolerance * (graph.n if self.stop == "mean" else 1) + 64 * np.finfo(self.dtype).eps
        if result.stats.converged and self.stop != "never" and residual.sum() > bound:
            raise VerificationError(f"PageRank: the residual is {residual.sum():.3g}, not below {bound:.3g}")
