"""The kernels for rows, in which a lane has a column, beside a twin that goes edge by edge and column by column."""

import numpy as np
import pytest

import garaph_py as gp
from tests.support import twins

pytestmark = pytest.mark.gpu

PRIME = 10_007
ITERATIONS = 3


def compose(left, right):
    """The map x -> left(right(x)) of two maps x -> a x + b, modulo a prime: the order of its arguments matters."""
    return left[0] * right[0] % PRIME, (left[0] * right[1] + left[1]) % PRIME


class Maps(gp.VertexProgram):
    """A sum that shows the order of its parts, two fields, a total, and all that `gather` can ask for."""

    source: gp.VertexId
    factor: int = 1

    value = {"a": np.int64, "b": np.int64}  # noqa: RUF012
    sum = gp.Monoid(compose, (1, 0))
    total = int

    def init(self, id):
        return (2 if id == self.source else 3), id % 7

    def gather(self, src, edge, dst, src_id):
        return (src.a + self.factor) % PRIME, (src.b + edge + dst.a + src_id) % PRIME

    def apply(self, old, acc, total, in_degree, out_degree):
        return acc.a, (acc.b + old.b + total + in_degree * out_degree) % PRIME

    def aggregate(self, new, old):
        return new.b - old.a

    def result(self, value, id):
        return value.a + id, value.b


def twin(graph, source, factor):
    """The reported values of `Maps` after `ITERATIONS`, in Python's integers."""
    edges, n = graph._arrays.in_edges, graph.n
    begins, degrees = edges.offsets.tolist(), graph.out_degrees.tolist()
    neighbours, weights = edges.neighbours.tolist(), edges.values.tolist()
    values = [(2 if v == source else 3, v % 7) for v in range(n)]
    total = sum(b - a for a, b in values)
    for _ in range(ITERATIONS):
        new = []
        for v in range(n):
            acc = (1, 0)
            for e in range(begins[v], begins[v + 1]):
                u = neighbours[e]
                a, b = values[u]
                acc = compose(acc, ((a + factor) % PRIME, (b + weights[e] + values[v][0] + u) % PRIME))
            change = total + (begins[v + 1] - begins[v]) * degrees[v]
            new.append((acc[0], (acc[1] + values[v][1] + change) % PRIME))
        total = sum(b - a for (_, b), (a, _) in zip(new, values, strict=True))
        values = new
    return [(a + v, b) for v, (a, b) in enumerate(values)]


WAYS = {
    "resident": {},
    "pages": {"page_edges": 1_500},
    "streamed": {"engine": "garaph", "page_edges": 3_000},
    "packed": {"encoding": "packed"},
    "packed pages": {"encoding": "packed", "page_edges": 3_000},
}


@pytest.fixture(scope="module")
def graph(graph_of):
    """Of lists that begin and end anywhere in runs of 1024 edges; the longest, of 7 runs, is no hub."""
    return graph_of(twins.skewed(8, 2000, 20000, "int32"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_sums_have_their_parts_in_order(graph, way, count):
    programs = [Maps(7 * k, 1 + k % 3) for k in range(count)]
    table = gp.run_many(programs, graph, iterations=ITERATIONS, device="gpu", options=gp.Options(**WAYS[way]))
    for program, (_, result) in zip(programs, table.items(), strict=True):
        assert result.stats.note is None
        assert result.stats.device != "cpu"
        expected = twin(graph, program.source, program.factor)
        np.testing.assert_array_equal(result.column("a"), [a for a, _ in expected])
        np.testing.assert_array_equal(result.column("b"), [b for _, b in expected])


class Counts(gp.VertexProgram):
    """Walks that end at a vertex, modulo 2^32, times a number for each column."""

    factor: int

    value = np.uint32
    sum = gp.add

    def init(self, id):
        return id * self.factor

    def gather(self, src):
        return src

    def activate(self, new, old):
        return True


@pytest.mark.parametrize("count", [2, 11, 16])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_hubs(graph_of, count, encoding):
    """One vertex has 90 runs of edges, so that `sum_row_hubs` adds up what they have left."""
    rng, n, m = np.random.default_rng(2), 5000, 100_000
    targets = np.where(rng.random(m) < 0.9, 4000, rng.integers(0, n, m))
    edges = twins.Edges(n, rng.integers(0, n, m), targets)
    programs, how = [Counts(k + 1) for k in range(count)], gp.Options(encoding=encoding)
    table = gp.run_many(programs, graph_of(edges), iterations=2, device="gpu", options=how)
    for program, (_, result) in zip(programs, table.items(), strict=True):
        value = np.arange(n, dtype=np.uint32) * np.uint32(program.factor)
        for _ in range(2):
            gathered = np.zeros(n, np.uint32)
            np.add.at(gathered, edges.targets, value[edges.sources])
            value = value + gathered
        np.testing.assert_array_equal(result.values, value)
