"""Launches in which vertices of smaller priority push first: the answers of the CPU, in fewer edges."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.modes import PULL, PUSH

from ...support.runs import run_with

pytestmark = pytest.mark.gpu

SIDE = 400
MIDDLE = SIDE * SIDE // 2 + SIDE // 2


class Toll(gp.VertexProgram):
    """A user's own shortest paths, by unsigned numbers; `urgency` says in which order."""

    start: gp.VertexId
    urgency: int = 1

    value = np.uint32
    sum = gp.min
    monotone = True

    def init(self, id):
        return 0 if id == self.start else self.identity

    def frontier(self, id):
        return id == self.start

    def gather(self, src, edge):
        return min(src + edge // 1000 + 1, self.identity) if src != self.identity else src

    def priority(self, value):
        return value * self.urgency


class Detour(Toll):
    """The same by floats, whose priorities may be negative, NaN or infinite."""

    urgency: float = 1.0

    value = np.float64

    def init(self, id):
        return 0.0 if id == self.start else self.identity

    def gather(self, src, edge):
        return src + edge

    def priority(self, value):
        return (value - 1e6) * self.urgency


def streets(seed):
    """The edges of a grid, with very different lengths, so that short detours are found late."""
    place = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    sources, targets = np.append(place[:, :-1], place[:-1]), np.append(place[:, 1:], place[1:])
    return sources, targets, np.random.default_rng(seed).integers(1, 100, len(sources)) ** 3


def grid(dtype):
    sources, targets, lengths = streets(1)
    return gp.from_edges(sources, targets, lengths.astype(dtype), vertices=range(SIDE * SIDE), directed=False)


@pytest.fixture(scope="module")
def grids():
    return {dtype: grid(dtype) for dtype in ("int32", "float32", "float64")}


def check(program, graph, devices=("gpu", "gpu", "hybrid"), **how):
    """Compare runs with the CPU's, bit by bit; return the last run on the GPU alone and its expected records."""
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True)
    for device in devices:
        found = run_with(program, graph, device=device, **how)
        assert found.stats.note is None
        assert found.values.tobytes() == expected.values.tobytes()
        rows = found.stats.iterations
        assert [row.number for row in rows] == list(range(len(rows)))
        for row in rows:
            assert sum(group.edges for group in row.groups) == row.edges
            if row.mode == PUSH:
                active_edges = round(row.f * graph.m)
                assert row.edges <= active_edges
                assert ("priority" in row.why) == (row.edges < active_edges)
        if device == "gpu":
            alone = found
    return alone, expected


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("kind", [gp.apps.SSSP, gp.apps.SSWP])
def test_library_programs(grids, kind, dtype):
    found, expected = check(kind(MIDDLE), grids[dtype])
    if kind is gp.apps.SSSP:
        rows = found.stats.iterations
        assert any("priority" in row.why for row in rows)
        assert {row.mode for row in rows} == {PUSH}  # the frontier never grew too large
        all_edges = sum(row.f for row in expected.stats.iterations) * grids[dtype].m
        assert sum(row.edges for row in rows) < all_edges / 3


def test_synchronous_supersteps_take_all_vertices(grids):
    found, expected = check(gp.apps.SSSP(MIDDLE), grids["int32"], sync=True)
    assert not any("priority" in row.why for row in found.stats.iterations)
    assert [row.active for row in found.stats.iterations] == [row.active for row in expected.stats.iterations]


@pytest.mark.parametrize("urgency", [1, 0, 7])
def test_users_programs(grids, urgency):
    check(Toll(MIDDLE, urgency=urgency), grids["int32"])


@pytest.mark.parametrize("urgency", [1.0, 0.0, -1.0, 1e-300, 1e305, float("nan"), float("inf"), float("-inf")])
def test_any_order_of_floats_leads_to_the_answer(grids, urgency):
    check(Detour(MIDDLE, urgency=urgency), grids["float64"])


def shapes():
    """Edges and a source: few or many vertices at a time, and none."""
    rng, n = np.random.default_rng(2), 30000
    sparse = rng.integers(0, n, (2, 40000))
    comb = np.arange(5000)  # a path, and teeth that make many vertices active at once
    ends = np.arange(n - 1)
    return {
        "sparse": (sparse[0], sparse[1], n, int(sparse[0, 0])),
        "star": (np.zeros(n - 1, int), ends + 1, n, 5),
        "path": (ends, ends + 1, n, 0),
        "comb": (np.append(comb, np.repeat(comb, 5)), np.append(comb + 1, 5001 + np.arange(25000)), 30001, 0),
        "isolated": (np.array([1]), np.array([2]), 70, 0),
        "empty": (np.zeros(0, int), np.zeros(0, int), 3, 0),
    }


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("name", shapes())
def test_shapes(name, sync):
    sources, targets, n, start = shapes()[name]
    lengths = np.random.default_rng(3).integers(1, 1 << 20, len(sources), dtype=np.int32)
    graph = gp.from_edges(sources, targets, lengths, vertices=range(n), directed=False)
    check(gp.apps.SSSP(start), graph, sync=sync)


def test_a_run_of_many_launches():
    """A path that takes more supersteps than a launch does leads from the middle of a grid to that of another one."""
    (sources, targets, lengths), n, steps = streets(4), SIDE * SIDE, 5000
    path = np.concatenate([[MIDDLE], 2 * n + np.arange(steps), [n + MIDDLE]])
    graph = gp.from_edges(
        np.concatenate([sources, sources + n, path[:-1]]), np.concatenate([targets, targets + n, path[1:]]),
        np.concatenate([lengths, lengths, np.ones(steps + 1, int)]).astype(np.int32), vertices=range(2 * n + steps),
        directed=False,
    )  # fmt: skip
    check(gp.apps.SSSP(0), graph)


@pytest.mark.parametrize("scale", [14, 18])
def test_skewed_graphs(scale):
    graph = gp.rmat(scale, 8, directed=False, weights=(1, 64))
    check(gp.apps.SSSP(int(graph.out_degrees.argmax())), graph)
    check(gp.apps.SSSP(int(np.flatnonzero(graph.out_degrees == 1)[0])), graph)
