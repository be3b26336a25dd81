"""Words of vertices: totals are added in order, to the last bit, and each vertex is counted."""

import numpy as np
import pytest

import garaph_py as gp


class Tenths(gp.VertexProgram):
    """Values whose sum depends on the order in which they are added; every third vertex changes."""

    value = accumulator = np.float64
    sum = gp.add
    total = {"tenths": float, "changed": int}  # noqa: RUF012

    def init(self, id):
        return float(id) / 10

    def gather(self, src):
        return src * 0

    def apply(self, old, acc, id):
        return old + acc + (1 if id % 3 == 0 else 0)

    def aggregate(self, new, old):
        return new, 1 if new != old else 0


class OneTotal(Tenths):
    """The same, with a total that is no structure."""

    total = float

    def aggregate(self, new):
        return new


@pytest.mark.parametrize("mode", ["pull", "pull-tiled"])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
@pytest.mark.parametrize("kind", [Tenths, OneTotal])
def test_totals_are_added_in_order(kind, n, mode):
    totals = []

    class Seen(kind):
        def converged(self, total, n):
            totals.append(total)
            return False

    graph = gp.from_edges(np.arange(n), (np.arange(n) * 7 + 1) % n, vertices=np.arange(n))
    result = gp.run(Seen(), graph, device="cpu", threads=1, iterations=1, options=gp.Options(mode=mode, sync=True))
    changed = np.arange(n) % 3 == 0
    values = np.arange(n) / 10 + changed
    assert result.values.tobytes() == values.tobytes()
    in_order = 0.0
    for value in values.tolist():
        in_order += value
    assert (totals[-1].tenths if kind is Tenths else totals[-1]) == in_order
    if kind is Tenths:
        assert totals[-1].changed == changed.sum()
    assert result.stats.iterations[0].mode == mode
