"""A trial of the package's seams: an engine's two halves and one more device, each added without a change elsewhere.

What a real one would change in the files that exist:

- a policy: ``dispatch/policy.py``, its line in `POLICIES`;
- a transfer: ``executor/gpu/transfer.py``, its line in `TRANSFERS`, and ``dispatch/policy.py``, for a policy names it;
- a second GPU in a hybrid run: ``runtime/runner.py``, which makes the list of devices.

The toys stand in those tables while a test runs. They have the suite's programs and their answers.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.dispatch.policy import POLICIES
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.cpu import CpuExecutor
from garaph_py.executor.decision import Decision
from garaph_py.executor.gpu import transfer
from garaph_py.executor.hybrid import HybridExecutor
from garaph_py.executor.modes import BOTH, COPIED, NOTIFY_PULL, PULL, PUSH
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.provider import SourceFactory
from garaph_py.program import bind
from tests.support import twins
from tests.support.cases import EXACT, FLOAT, assert_close, assert_exact, mostly_kept
from tests.support.cpu_gpu import CpuGpu
from tests.support.executors import Run, run_on
from tests.support.numpy_gpu import GRAPH, HUB, Hops, Quiet, memory_for

from ..support.runs import run_with

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cut_small_graphs")]

ITERATIONS = 7

ways = pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])


class ToyPolicy(gp.Policy):
    """Pulls while most edges lead from active vertices, else pushes where a program can, and notifies where not."""

    name = "toy"
    modes = (PULL, NOTIFY_PULL, PUSH)
    chooses_asynchrony = False
    gather, transfer, zero_copy = "segmented", COPIED, False

    def decide(self, seen):
        if seen.forced_mode is not None:
            return Decision(seen.forced_mode, "as asked", seen.device)
        if seen.ratio is not None:
            return Decision(PULL, "everybody works", BOTH)
        if seen.f > 1 / 2 or seen.updates_all_vertices:
            return Decision(PULL, "many", seen.device)
        return Decision(PUSH if seen.is_relaxation and seen.pushes else NOTIFY_PULL, "few", seen.device)

    def first_rates(self, threads, load):
        return Rates.expected(threads, *load, reactive=True)


class StagedPolicy(ToyPolicy):
    name, transfer = "staged", "staged"


@dataclass
class StagedTransfer:
    """Gathers a page's arrays in one staging array, and copies that piece by piece."""

    device: object
    pieces = 0
    PIECE = 1000

    def send(self, arrays, addresses, stream):
        wanted = list(zip(arrays, addresses, strict=False))
        staging, at = np.concatenate([array for (array, _), _ in wanted]), 0
        for (array, offset), address in wanted:
            for begin in range(0, len(array), self.PIECE):
                piece = staging[at + begin : at + min(begin + self.PIECE, len(array))]
                self.device.driver.memcpy_htod_async(address + offset + begin, piece, stream)
                StagedTransfer.pieces += 1
            at += len(array)
        return len(staging)


@pytest.fixture
def toys(monkeypatch):
    """The toys are where users and executors find policies and transfers."""
    for policy in (ToyPolicy(), StagedPolicy()):
        monkeypatch.setitem(POLICIES, policy.name, policy)
    monkeypatch.setitem(transfer.TRANSFERS, "staged", StagedTransfer)
    monkeypatch.setattr(StagedTransfer, "pieces", 0)


@pytest.fixture(scope="module")
def given():
    """Edges by the type of their values."""
    return {weights: twins.skewed(29, 3000, 24000, weights) for weights in (None, "int32", "float64")}


def graph_and_edges(graph_of, given, case):
    """A graph on which the case is defined, and the edges that its twin goes along."""
    edges = given[case.weights]
    return graph_of(edges, directed=not case.symmetric), edges.both_ways() if case.symmetric else edges


# A policy


@pytest.mark.spread
@pytest.mark.parametrize("case", mostly_kept(EXACT))
@ways
def test_a_toy_policy_gives_the_answers(toys, graph_of, given, case, sync):
    graph, edges = graph_and_edges(graph_of, given, case)
    result = run_with(case.program(edges), graph, engine="toy", device="cpu", sync=sync, page_edges=3000)
    assert_exact(result, case.twin(edges))
    assert {"many", "few"} >= {row.why for row in result.stats.iterations}


@pytest.mark.parametrize("case", mostly_kept(FLOAT))
def test_a_toy_policy_gives_the_floats(toys, graph_of, given, case):
    edges, how = given[case.weights], {"engine": "toy", "device": "cpu", "sync": True, "iterations": ITERATIONS}
    assert_close(run_with(case.program(edges), graph_of(edges), **how), case.twin(edges, ITERATIONS))


# A transfer


@pytest.mark.spread
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("program", [Hops(HUB), Quiet(HUB)], ids=["total", "quiet"])
@ways
def test_a_toy_transfer_gives_the_answers(toys, device_for, graph_of, device, program, sync):
    graph = graph_of(GRAPH, weighted=False)
    expected = run_with(program, graph, device="cpu", sync=True).values
    device_for(program, graph)
    how = {"gpu_memory": memory_for(program, graph, 0.3), "page_edges": 3000, "sync": sync}
    result = run_with(program, graph, device=device, engine="staged", **how)
    np.testing.assert_array_equal(result.values, expected)
    used = {group.transfer for row in result.stats.iterations for group in row.groups}
    assert {"staged"} <= used <= {"staged", "resident", None}
    assert StagedTransfer.pieces > (100 if device == "gpu" else 0)  # in a hybrid run, timing decides how many


# One CPU and two GPUs


@pytest.fixture
def everybody_works(monkeypatch):
    """Host and devices work in every iteration."""
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)


@pytest.fixture
def run_on_three(everybody_works):
    """A function that runs a program on a hybrid of the CPU and two GPUs: its values, and the GPUs."""

    def run(program, graph, sync, iterations=None):
        bound = bind(program, graph)
        devices = [CpuGpu(bound, graph, 1500) for _ in range(2)]
        with ThreadPool(2) as pool, SourceFactory(graph, bound.reads_edge_values) as sources:
            host = CpuExecutor(bound, graph, pool, events.ignore)
            three = Run(bound, graph, HybridExecutor(graph, host, devices), sources, [], [])
            try:
                state = three.open(sync)
                three.iterate(state, iterations)
                return three.executor.report(state).copy(), devices
            finally:
                three.executor.close()

    return run


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("case", mostly_kept(EXACT))
@ways
def test_two_gpus_give_the_answers(run_on_three, graph_of, given, case, sync):
    graph, edges = graph_and_edges(graph_of, given, case)
    values, devices = run_on_three(case.program(edges), graph, sync)
    expected = run_with(case.program(edges), graph, device="cpu", sync=True).values
    np.testing.assert_array_equal(values, expected)
    assert all(device.processed for device in devices)


@pytest.mark.parametrize("case", mostly_kept(FLOAT))
def test_two_gpus_give_the_floats(run_on_three, graph_of, given, case):
    edges = given[case.weights]
    values, devices = run_on_three(case.program(edges), graph_of(edges), True, ITERATIONS)
    np.testing.assert_allclose(values, case.twin(edges, ITERATIONS), rtol=1e-12, atol=1e-15)
    assert all(device.processed for device in devices)


@pytest.mark.parametrize("program", [Hops(HUB), Quiet(HUB)], ids=["total", "quiet"])
@ways
def test_kernels_run_on_both_gpus(everybody_works, device_for, graph_of, program, sync):
    graph = graph_of(GRAPH, weighted=False)
    expected = run_with(program, graph, device="cpu", sync=True).values
    with run_on("hybrid of two GPUs", program, graph, device_for) as run:
        np.testing.assert_array_equal(run.result(sync), expected)
        for driver in run.drivers:
            assert "apply_vertices" in {name for name, _ in driver.launched}
