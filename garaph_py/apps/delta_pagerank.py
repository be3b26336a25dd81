"""Data-driven PageRank: a vertex updates its out-neighbours only when its rank has changed enough."""

from __future__ import annotations

import numpy as np

from ..errors import VerificationError
from ..program.monoids import add
from .checks import in_sums, require_fraction, require_positive
from .ranks import RankProgram, divisor, specialized, walk_of


class DeltaPageRank(RankProgram):
    """Data-driven PageRank: ``r_v = (1 - d) * p_v + d * sum over u -> v of released_u * w_uv``.

    w_uv is the edge's weight, and p_v, the personalization, is 1 / n by default. ``released_u`` is the share
    ``r_u / W_u`` that vertex u last released to its out-neighbours; W_u is the sum of the weights of its out-edges.
    Vertex u releases its current share, and activates its out-neighbours, as soon as its rank differs by more than
    ``tolerance / n`` from the rank it last released. Smaller changes are not lost: they add up until they reach that
    bound. The rank of dangling vertices is dropped.

    Parameters
    ----------
    damping : float
        d, from 0 to below 1.
    tolerance : float
        The errors of all ranks together are at most ``tolerance * d / (1 - d)``.
    weighted : bool
    personalization : per vertex
        As in `PageRank`.
    dtype : dtype
        Type of the ranks: float64, or float32. float32 rounds a rank by about 1e-7 of it, several times. If that is
        more than ``tolerance / n`` for some ranks, rounding keeps them active, and the run may not end: then take
        float64, a larger tolerance, or a limit of iterations.

    Returns
    -------
    value : `dtype`
        r_v, the rank.

    Notes
    -----
    A vertex starts with the rank p_v, as in `PageRank`; without in-edges, with its final rank ``(1 - d) * p_v``. [1]_
    and [2]_ start all vertices with the latter. Then all ranks together are 1 - d at first, and in an undirected graph
    an iteration adds only 1 - d of what they lack, most of it at hubs.

    References
    ----------
    .. [1] Whang, J., A. Lenharth, I. Dhillon, K. Pingali, "Scalable data-driven PageRank", Euro-Par 2015.
    .. [2] Zhang, Y., Q. Gao, L. Gao, C. Wang, "Maiter: delta-based accumulative iterative computation", TPDS 2014.

    Examples
    --------
    >>> graph = gp.from_edges([0, 1, 2], [1, 2, 0])
    >>> gp.run(gp.apps.DeltaPageRank(tolerance=1e-6), graph).column().round(3)
    array([0.333, 0.333, 0.333])
    """

    damping: float = 0.85
    tolerance: float = 1e-4

    sum = add
    reports = float

    def value(self, edge):
        return {"rank": self.dtype, "released": self.dtype}

    def accumulator(self, edge):
        return self.dtype

    def init(self, n, in_degree, out_degree):
        rank = first_share(self.damping, in_degree) / n
        return rank, rank / max(out_degree, float(1))

    def gather(self, src):
        return src.released

    def delta(self, new, old):
        return new.released - old.released

    def apply(self, old, acc, n, out_degree):
        rank = (float(1) - self.damping) / n + self.damping * acc
        share = max(out_degree, float(1))
        withheld = abs(rank - old.released * share) <= self.tolerance / n
        return rank, old.released if withheld else rank / share

    def activate(self, new, old):
        return new.released != old.released

    def result(self, value):
        return value.rank

    def for_graph(self, graph):
        weighted = WeightedDeltaPageRank, WeightedPersonalizedDeltaPageRank
        return specialized(self, graph, DeltaPageRank, PersonalizedDeltaPageRank, weighted)

    def __post_init__(self) -> None:
        require_fraction(self, "damping")
        require_positive(self, "tolerance")

    def verify(self, graph, result):
        """Raise `VerificationError` if the run converged and the equation's residual is above ``tolerance * d``."""
        rank = result.values.astype(np.float64)
        walk = walk_of(self, graph)
        gathered = in_sums(graph, rank / np.where(walk.out_weight == 0, 1, walk.out_weight), walk.weighted)
        residual = np.abs((1 - self.damping) * walk.jump + self.damping * gathered - rank).sum()
        bound = self.tolerance * self.damping + 64 * np.finfo(self.dtype).eps
        if result.stats.converged and not residual <= bound:
            raise VerificationError(f"DeltaPageRank: the residual is {residual:.3g}, not below {bound:.3g}")


class PersonalizedDeltaPageRank(DeltaPageRank):
    """`DeltaPageRank` with ``personalization``, divided by its sum, and ``out_weight`` as numbers for each vertex."""

    def init(self, personalization, in_degree, out_weight):
        rank = first_share(self.damping, in_degree) * personalization
        return rank, rank / divisor(out_weight)

    def apply(self, old, acc, n, personalization, out_weight):
        rank = (float(1) - self.damping) * personalization + self.damping * acc
        share = divisor(out_weight)
        withheld = abs(rank - old.released * share) <= self.tolerance / n
        return rank, old.released if withheld else rank / share


class WeightedPersonalizedDeltaPageRank(PersonalizedDeltaPageRank):
    """The same, with edge values as weights."""

    def gather(self, src, edge):
        return src.released * edge

    def delta(self, new, old, edge):
        return (new.released - old.released) * edge


class WeightedDeltaPageRank(WeightedPersonalizedDeltaPageRank):
    """The same, with jumps to all vertices equally often."""

    def init(self, n, in_degree, out_weight):
        rank = first_share(self.damping, in_degree) / n
        return rank, rank / divisor(out_weight)

    def apply(self, old, acc, n, out_weight):
        rank = (float(1) - self.damping) / n + self.damping * acc
        share = divisor(out_weight)
        withheld = abs(rank - old.released * share) <= self.tolerance / n
        return rank, old.released if withheld else rank / share


def first_share(damping, in_degree):
    """The first rank of a vertex, in multiples of p_v."""
    return float(1) if in_degree > 0 else float(1) - damping


for kind in PersonalizedDeltaPageRank, WeightedPersonalizedDeltaPageRank, WeightedDeltaPageRank:
    kind.__name__ = DeltaPageRank.__name__  # reports have the name that users know
