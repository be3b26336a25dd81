"""Programs that gather over both directions apart, and what NumPy computes in their place."""

import numpy as np

import garaph_py as gp
from garaph_py.errors import VerificationError
from tests.support import twins

N = 300
EDGES = twins.skewed(7, N, 2500)
VALUES = np.arange(2500, dtype=np.int32) % 7
COUNTS, SUMS = np.zeros((N, N), np.int64), np.zeros((N, N), np.int64)
"""How many edges lead from a vertex to another one, and what their values add up to."""
np.add.at(COUNTS, (EDGES.sources, EDGES.targets), 1)
np.add.at(SUMS, (EDGES.sources, EDGES.targets), VALUES)


class Hits(gp.VertexProgram):
    """Hubs and authorities together."""

    value = {"hub": np.float64, "authority": np.float64}  # noqa: RUF012
    accumulator = np.float64
    sum = gp.add
    total = {"hub": float, "authority": float}  # noqa: RUF012

    def init(self):
        return float(1), float(1)

    def gather(self, src):
        return src.hub

    def gather_out(self, src):
        return src.authority

    def apply(self, acc, acc_out, total):
        return acc_out / total.authority, acc / total.hub

    def aggregate(self, new):
        return new.hub, new.authority


class Flow(gp.VertexProgram):
    """Integers, with edge values in one direction, parameters of each kind, and `src_id`."""

    factor: int = 3
    source: gp.VertexId = 0
    weight: gp.PerVertex = 1
    bias: gp.PerVertex = 0

    value = np.int64
    sum = gp.add
    total = int

    def init(self, id, bias, out_degree):
        return (1 if id == self.source else 0) + bias + out_degree

    def gather(self, src, src_id):
        return src * (src_id % 3)

    def gather_out(self, src, edge):
        return src * edge

    def apply(self, old, acc, acc_out, weight, in_degree, total):
        return (old + self.factor * acc + weight * acc_out + in_degree + total % 5) % 10007

    def aggregate(self, new, old):
        return new - old

    def result(self, value, id):
        return value * 1000 + id

    def verify(self, graph, result):
        if (result.values % 1000 != np.arange(graph.n)).any():
            raise VerificationError("Flow: these are no ids")


class Between(gp.VertexProgram):
    """Sums of two types: the least value of the in-neighbours, and two sums over the out-neighbours' differences."""

    value = np.float64
    sum = gp.min
    accumulator_out = {"above": np.int32, "below": np.uint32}  # noqa: RUF012
    sum_out = gp.max

    def init(self, id):
        return float(id % 17)

    def gather(self, src):
        return src + float(1)

    def gather_out(self, src, dst, edge):
        return int((src - dst) * edge), int(max(dst - src, float(0)) * edge)

    def apply(self, old, acc, acc_out):
        best = min(old, acc)
        return np.float32(best if acc_out.above > acc_out.below else best + 0.25)


def latest(a, b):
    return a if (a.time, a.id) > (b.time, b.id) else b


class Latest(gp.VertexProgram):
    """A sum of the author's own over out-edges, whose contributions do not depend on the edge."""

    value = {"time": np.int32, "id": np.int64}  # noqa: RUF012
    reports = {"time": np.int32, "id": gp.VertexId}  # noqa: RUF012
    accumulator = np.int64
    sum = gp.add
    accumulator_out = {"time": np.int64, "id": np.int64}  # noqa: RUF012
    sum_out = gp.Monoid(latest, (-1, -1), "latest")

    def init(self, id):
        return id % 5, id

    def gather(self, src):
        return src.time

    def gather_out(self, src, src_id):
        return src.time + 1, src_id

    def apply(self, old, acc, acc_out):
        return (acc + acc_out.time) % 11, (acc_out.id if acc_out.id >= 0 else old.id)

    def result(self, value):
        return value.time, value.id


class Calm(gp.VertexProgram):
    """Values that come to rest: `activate` ends the run."""

    value = np.float64
    sum = gp.add
    sum_out = gp.max

    def init(self, id):
        return float(id)

    def gather(self, src):
        return src

    def gather_out(self, src):
        return src

    def apply(self, acc, acc_out, in_degree):
        return 0.25 * acc / max(in_degree, float(1)) + (0.25 * acc_out if acc_out >= 0 else float(1))

    def activate(self, new, old):
        return abs(new - old) > 1e-3


def hits(iterations):
    hub = authority = np.ones(N)
    for _ in range(iterations):
        hub, authority = COUNTS @ authority / authority.sum(), COUNTS.T @ hub / hub.sum()
    return {"hub": hub, "authority": authority}


def flow(iterations, weight, bias, factor=3, source=0):
    ids = np.arange(N)
    x, total = (ids == source) + bias + EDGES.out_degrees, 0
    for _ in range(iterations):
        acc, acc_out = COUNTS.T @ (x * (ids % 3)), SUMS @ x
        new = (x + factor * acc + weight * acc_out + EDGES.in_degrees + total % 5) % 10007
        x, total = new, (new - x).sum()
    return x * 1000 + ids


def between(iterations):
    x = np.arange(N) % 17.0
    for _ in range(iterations):
        acc = np.full(N, np.inf)
        np.minimum.at(acc, EDGES.targets, x[EDGES.sources] + 1)
        above, below = np.full(N, np.iinfo(np.int32).min), np.zeros(N, int)
        apart = x[EDGES.targets] - x[EDGES.sources]
        np.maximum.at(above, EDGES.sources, (apart * VALUES).astype(int))
        np.maximum.at(below, EDGES.sources, (np.maximum(-apart, 0) * VALUES).astype(int))
        best = np.minimum(x, acc)
        x = np.where(above > below, best, best + 0.25)
    return x


def latest_of(iterations):
    time, ids = np.arange(N) % 5, np.arange(N)
    for _ in range(iterations):
        acc, found = COUNTS.T @ time, np.full((N, 2), -1)
        for u, v in zip(EDGES.sources, EDGES.targets, strict=True):
            found[u] = max(tuple(found[u]), (time[v] + 1, v))
        time, ids = (acc + found[:, 0]) % 11, np.where(found[:, 1] >= 0, found[:, 1], ids)
    return {"time": time, "id": ids}


WEIGHT, BIAS = np.random.default_rng(3).integers(0, 9, (2, N))
CASES = {
    "hits": (Hits(), hits),
    "flow": (Flow(weight=WEIGHT, bias=BIAS), lambda count: flow(count, WEIGHT, BIAS)),
    "between": (Between(), between),
    "latest": (Latest(), latest_of),
}
