"""Programs that push deltas, graphs for them, and what their runs did."""

import numpy as np

import garaph_py as gp
from garaph_py.graph.build import from_numbered_edges
from tests.support import twins
from tests.support.numpy_deltas import Peeled


class Core(Peeled):
    """`Peeled` with another `k`, and sums of another type than the values."""

    k: int = 3

    accumulator = np.int32


class Votes(gp.VertexProgram):
    """Rounds of votes, with edge values as weights; odd vertices vote against. A vertex stays where it went over 40."""

    value = {"side": np.int32, "rounds": np.int32}  # noqa: RUF012
    accumulator = np.int64
    sum = gp.add

    def init(self, id):
        return (1 if id % 16 == 0 else 0), 0

    def frontier(self, value):
        return value.side != 0

    def gather(self, src, edge, src_id):
        return -src.side * edge if src_id % 2 == 1 else src.side * edge

    def delta(self, new, old, edge, src_id):
        change = new.side - old.side
        return -change * edge if src_id % 2 == 1 else change * edge

    def apply(self, old, acc, id):
        side = 1 if old.side == 1 or acc > 40 or id % 16 == 0 else 0
        return side, old.rounds + (1 if side != old.side else 0)


class Influence(gp.VertexProgram):
    """Katz centrality, with edge values as weights."""

    damping: float = 0.001
    tolerance: float = 1e-12

    value = np.float64
    sum = gp.add

    def init(self):
        return float(1)

    def gather(self, src, edge):
        return src * edge

    def delta(self, new, old, edge):
        return (new - old) * edge

    def apply(self, acc):
        return float(1) + self.damping * acc

    def activate(self, new, old):
        return abs(new - old) > self.tolerance


class Single(Influence):
    """The same with numbers of 32 bits."""

    tolerance: float = 1e-4

    value = np.float32


def edges_of(seed=71, n=3000, m=16000, weights="int32"):
    return twins.skewed(seed, n, m, weights)


def graph_of(edges, directed=True, weights=True):
    values = edges.weights if weights else None
    return from_numbered_edges(edges.sources, edges.targets, edges.n, values, directed=directed)


def frontiers(run):
    return [(row.active, row.f) for row in run.stats.iterations]


def modes(run):
    return [row.mode for row in run.stats.iterations]


class Steps(gp.VertexProgram):
    """A vertex counts its updates, is active after every `pace` of them, and sums up its in-neighbours' counts."""

    pace: gp.PerVertex = 1

    value = {"count": np.int64, "pace": np.int64, "sum": np.int64}  # noqa: RUF012
    accumulator = np.int64
    sum = gp.add

    def init(self, pace):
        return 0, pace, 0

    def gather(self, src):
        return src.count

    def delta(self, new, old):
        return new.count - old.count

    def apply(self, old, acc):
        return old.count + 1, old.pace, acc

    def activate(self, new):
        return new.count % new.pace == 0
