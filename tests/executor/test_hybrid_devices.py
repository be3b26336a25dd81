"""A host with two devices: decisions page by page, pages of different layouts, and a device that fails."""

import contextlib

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.errors import DeviceError
from garaph_py.executor.cpu import CpuExecutor
from garaph_py.executor.decision import Decision, PageDecision
from garaph_py.executor.hybrid import HybridExecutor
from garaph_py.executor.modes import BOTH, CPU, GPU, PULL
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.provider import SourceFactory
from garaph_py.program import bind
from tests.support import twins
from tests.support.cpu_gpu import CpuGpu
from tests.support.executors import Run
from tests.support.policies import Sharing

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

PROGRAM, ITERATIONS = gp.apps.PageRank(), 5


class Loses(CpuGpu):
    """A device to which values cannot be sent any more."""

    def refresh(self, state, values):
        raise DeviceError("values cannot be sent")


@contextlib.contextmanager
def run_on(graph, *devices):
    """A run on a host and devices, each given as its class and the most edges of its pages."""
    bound = bind(PROGRAM, graph)
    made = [kind(bound, graph, page_edges) for kind, page_edges in devices]
    with ThreadPool(2) as pool, SourceFactory(graph, False) as sources:
        host = CpuExecutor(bound, graph, pool, events.ignore)
        run = Run(bound, graph, HybridExecutor(graph, host, made), sources, [], [])
        try:
            yield run, made
        finally:
            run.executor.close()


@pytest.fixture
def graph(graph_of):
    return graph_of(twins.skewed(29, 3000, 24000))


@pytest.fixture
def expected(graph):
    return run_with(PROGRAM, graph, device="cpu", sync=True, iterations=ITERATIONS, mode="pull").values


@pytest.mark.spread
@pytest.mark.parametrize("first", [CpuGpu, Loses], ids=["both work", "the first fails"])
@pytest.mark.parametrize("processors", [[CPU], [CPU, "gpu 0"], [CPU, "gpu 0", "gpu 1"], [GPU]], ids=" ".join)
def test_every_page_counts_once(graph, expected, first, processors):
    with run_on(graph, (first, 1500), (CpuGpu, 2300)) as (run, devices):
        state, pages = run.open(True), len(devices[0].source.pages)
        named = {k: PageDecision(PULL, processors[k % len(processors)]) for k in range(0, pages, 2)}
        run.iterate(state, ITERATIONS, Sharing(Decision(PULL, "page by page", BOTH, pages=named)))
        np.testing.assert_allclose(run.executor.report(state), expected, rtol=1e-12)
        assert {row.edges for row in run.records} == {graph.m}


def test_a_page_for_any_device_goes_to_one(graph, expected):
    with run_on(graph, (CpuGpu, 1500), (CpuGpu, 1500)) as (run, devices):
        state, pages = run.open(True), len(devices[0].source.pages)
        named = {k: PageDecision(PULL, GPU) for k in range(pages)}
        run.iterate(state, ITERATIONS, Sharing(Decision(PULL, "page by page", BOTH, pages=named)))
        np.testing.assert_allclose(run.executor.report(state), expected, rtol=1e-12)
        assert not devices[0].processed & devices[1].processed


@pytest.mark.parametrize("failing", [0, 1])
def test_one_device_goes_on_without_the_other(graph, expected, gpu_keeps_up, failing):
    kinds = [(Loses if k == failing else CpuGpu, 1500) for k in range(2)]
    with run_on(graph, *kinds) as (run, devices):
        state = run.open(True)
        run.iterate(state, ITERATIONS, Sharing(Decision(PULL, "everybody works", BOTH)))
        np.testing.assert_allclose(run.executor.report(state), expected, rtol=1e-12)
        assert devices[1 - failing].processed
        assert not devices[failing].processed
        assert "the other GPUs go on" in run.executor.note
