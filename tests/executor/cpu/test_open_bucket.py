"""Opening a bucket: which waiting vertices enter the frontier, compared with NumPy, in every bucket of a run."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.cpu import chain
from garaph_py.executor.cpu.open_bucket import FEW
from garaph_py.executor.cpu.push import Push
from garaph_py.graph.vertex_set import BLOCK, WORD
from tests.support import twins

from ...support.runs import run_with


def members(vertices, n):
    return np.unpackbits(vertices.bits.view(np.uint8), bitorder="little", count=n).astype(bool)


@pytest.fixture
def opened(monkeypatch):
    """Compare each opening with NumPy; the list has the largest number of waiting vertices of a word at each."""
    counts, open_bucket = [], Push.open_bucket
    monkeypatch.setattr(chain, "MOST_EDGES", 0)  # Python opens every bucket

    def compared(push, state, kernel):
        values, n, offsets = state.values, len(state.values), push._arrays.out_edges.offsets
        pending, before, (lower, upper) = members(state.pending, n), members(state.frontier, n), state.thresholds
        counts.append(max(np.bitwise_count(state.pending.bits).tolist()))
        least = open_bucket(push, state, kernel)
        due, stay = pending & (lower < values) & (values <= upper), pending & (values > upper)
        frontier = before | due
        assert np.array_equal(members(state.frontier, n), frontier)
        assert np.array_equal(members(state.pending, n), stay)
        assert least == (values[stay].min() if stay.any() else None)
        if pending.any():
            edges = np.diff(offsets) * frontier
            assert (state.active_count, state.active_edges) == (frontier.sum(), edges.sum())
            assert np.diff(push._opened).tolist() == np.add.reduceat(edges, np.arange(0, n, BLOCK)).tolist()
        for vertices, found in ((state.frontier, frontier), (state.pending, stay)):
            assert ((vertices.blocks != 0) >= np.logical_or.reduceat(found, np.arange(0, n, BLOCK))).all()
        return least

    monkeypatch.setattr(Push, "open_bucket", compared)
    return counts


@pytest.mark.spread
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("weights", ["int32", "float64"])
def test_every_opening_is_right(opened, weights, threads):
    """Words with few and with many waiting vertices; the last word and the last block are not full."""
    edges = twins.skewed(3, 4 * BLOCK + 3 * WORD + 5, 200_000, weights)
    graph = gp.from_edges(edges.sources, edges.targets, edges.weights, vertices=range(edges.n))
    source = int(edges.out_degrees.argmax())
    run = run_with(gp.apps.SSSP(source), graph, device="cpu", threads=threads)
    assert np.array_equal(run.values, twins.sssp(edges, source))
    assert len(opened) > 3
    assert max(opened) > FEW
