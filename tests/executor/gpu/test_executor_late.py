"""Runs on a simulated GPU with delayed streams: answers do not depend on timing or failures."""

import os
import random
import threading
from functools import partial

import numpy as np
import pytest

from garaph_py.dispatch import policy as decisions
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.gpu import device
from garaph_py.executor.gpu.ranks import RUN
from garaph_py.executor.gpu.two_threads import TRANSMISSION
from tests.support import twins
from tests.support.late_gpu import LateDriver, arm_when_initialized
from tests.support.numpy_gpu import GRAPH, HUB, Hops, Quiet, held_after, memory_for

from ...support.runs import run_with

SCHEDULES = int(os.environ.get("GARAPH_SCHEDULES", "1"))
"""Of each graph, synchronous and not, by both processors and the GPU alone, and each engine: 20 take three minutes."""
FAILURES = 2
"""Of the GPU, with each schedule."""


def path(n=130):
    order = np.random.default_rng(3).permutation(n)
    return twins.Edges(n, order[:-1], order[1:]), int(order[0])


def tree(n=2000):
    """A tree of some 30 generations: one edge changes each vertex, so a missed update is never made up for."""
    rng = np.random.default_rng(4)
    children, ids = np.arange(1, n), rng.permutation(n)
    parents = np.maximum(children - rng.integers(1, 180, n - 1), 0)
    return twins.Edges(n, ids[parents], ids[children]), int(ids[0])


GRAPHS = {"path": (*path(), 64), "tree": (*tree(), 400), "skewed": (GRAPH, HUB, 3000)}
"""Edges, a source, and edges of a page."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("cut_small_graphs", "pending_is_poisoned"),
    pytest.mark.parametrize("seed", range(SCHEDULES)),
    pytest.mark.parametrize("engine", ["auto", "garaph", "garaph:two_threads=yes"]),
    pytest.mark.parametrize("processor", ["hybrid", "gpu"]),
    pytest.mark.parametrize("sync", [True, False]),
    pytest.mark.parametrize("name", GRAPHS),
]


@pytest.fixture
def rng(request, seed):
    """Of its own for every test."""
    return np.random.default_rng([seed, *request.node.name.encode()])


@pytest.fixture
def by_chance(monkeypatch, rng):
    """Chance decides who works in each iteration, who takes each page, and which vertices the CPU notifies."""
    shares, helps, divides = rng.random(3)

    def share(self, waiting):
        return int(rng.integers(waiting + 1)) if rng.random() < shares else 0

    def divide(self, pages, notified, stays, value_bytes):
        picked = rng.permutation(len(pages))[: rng.integers(max(len(pages), 2))]
        return [pages[k] for k in sorted(picked)]

    monkeypatch.setattr(Rates, "share", share)
    monkeypatch.setattr(Rates, "cpu_helps", property(lambda self: rng.random() < helps))
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9 if rng.random() < 0.7 else 1e-9))
    monkeypatch.setattr(Rates, "worth_dividing", lambda self, active_edges: rng.random() < divides)
    monkeypatch.setattr(Rates, "divide", divide)
    monkeypatch.setattr(decisions, "PUSH_THRESHOLD", rng.choice([1, 0, decisions.PUSH_THRESHOLD]))
    monkeypatch.setattr(decisions, "RELAXING_THRESHOLD", rng.choice([1, 0]))


@pytest.fixture
def run(device_for, graph_of, monkeypatch, rng, by_chance, name, sync, processor, engine):
    """A function that runs a program, checks the answer, and says how many calls of the driver there were; told so, one
    fails, and all that follow.
    """
    edges, source, page_edges = GRAPHS[name]
    program, graph = (Hops, Quiet)[rng.integers(2)](source), graph_of(edges)
    device_for(program, graph)
    page_edges, streams = page_edges * int(rng.integers(1, 3)), int(rng.integers(2, 4))
    stay = int(rng.integers(graph.m // page_edges + 2))
    memory = memory_for(program, graph, 0) + 4 * (streams + stay) * (page_edges + 2 * RUN)
    how = {
        "device": processor, "sync": sync, "engine": engine, "gather": "segmented", "page_edges": page_edges,
        "streams": streams, "gpu_memory": memory, "threads": int(rng.integers(1, 3)),
    }  # fmt: skip
    expected = run_with(program, graph, device="cpu", sync=True)
    arm_when_initialized(monkeypatch)
    monkeypatch.setattr(device, "_broken", {})  # a GPU that fails for good is not used again: after this test, it is

    def begin(fails_at=None):
        chance = random.Random(int(rng.integers(1 << 32)))
        driver = device_for(program, graph, partial(LateDriver, rng=chance, fails_at=fails_at))
        result = run_with(program, graph, **how)
        np.testing.assert_array_equal(result.values, expected.values)
        if sync:
            assert [row.active for row in result.stats.iterations] == [row.active for row in expected.stats.iterations]
        assert ("launch failure" in (result.stats.note or "")) == driver.failed
        assert held_after(driver, graph) == 0
        assert not [thread for thread in threading.enumerate() if thread.name in ("garaph-gpu", TRANSMISSION)]
        return driver.calls

    return begin


@pytest.mark.full
@pytest.mark.spread
def test_answers_do_not_depend_on_timing(run):
    run()


@pytest.mark.spread
def test_answers_do_not_depend_on_when_the_gpu_fails(run, rng):
    calls = run()
    for _ in range(FAILURES):
        run(fails_at=int(rng.integers(max(calls, 1))))
