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
    """PageRank: ``r_v = (1 - d) / n + d (sum over u -> v of r_u / outdegree_u + D / n)``.

    D is the rank of the dangling vertices (without out-edges), given to everybody alike, or 0 where it is dropped.
    The ranks of all vertices sum to 1 when it is redistributed.

    Parameters
    ----------
    damping : float
        d, between 0 and 1.
    dangling : {"redistribute", "drop"}
        What becomes of D. NetworkX and LDBC Graphalytics redistribute it, GAP drops it.
    stop : {"sum", "mean", "never"}
        Converged when the sum of absolute changes of an iteration is below `tolerance` (GAP), or their mean
        (NetworkX); or never, for a fixed number of iterations (Graphalytics; Garaph runs 10).
    tolerance : float
    dtype : dtype
        float64 or float32.

    Notes
    -----
    What is stored and gathered is the rank divided by the out-degree: one array instead of two.

    References
    ----------
    .. [1] L. Page, S. Brin, R. Motwani, T. Winograd, "The PageRank citation ranking: bringing order to the web", 1998.
    .. [2] L. Ma et al., "Garaph", USENIX ATC 2017, section 6.
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
        """The residual of the equation is what `stop` promises (of a run that converged, else only positive ranks)."""
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
