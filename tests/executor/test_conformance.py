"""What every executor promises (`garaph_py.executor.protocol.Executor`): one suite for all, a cluster's parts included.

A new executor is one more line in `tests.support.executors.KINDS`.
"""

import numpy as np
import pytest

from garaph_py.checkpoint.saver import arrays_of, put
from garaph_py.dispatch.policy import Policy
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.decision import Decision
from garaph_py.executor.modes import BOTH, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from garaph_py.executor.protocol import Capabilities
from garaph_py.pages.memory_source import MemoryPageSource
from garaph_py.pages.queue import PageQueue
from tests.support import twins
from tests.support.cases import mostly_full
from tests.support.executors import IN_ANY_ORDER, KINDS, run_on
from tests.support.numpy_gpu import GRAPH, HUB, Hops, Quiet, held_after
from tests.support.threads import at_work

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

PROGRAMS = {"total": Hops(HUB), "quiet": Quiet(HUB)}
FAR = np.iinfo(np.int64).max

kinds = pytest.mark.parametrize("kind", mostly_full(KINDS, *(name for name in KINDS if "five" not in name)))
programs = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
ways = pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])


@pytest.fixture(autouse=True)
def all_work(monkeypatch):
    """In hybrids host and devices work in every iteration."""
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)


@pytest.fixture(scope="module")
def expected():
    """The answer, from a twin."""
    levels, _ = twins.bfs(GRAPH, HUB)
    return np.where(levels < 0, FAR, levels)


@pytest.fixture
def graph(graph_of):
    return graph_of(GRAPH, weighted=False)


@pytest.mark.full
@pytest.mark.spread
@kinds
@programs
@ways
def test_the_answer_is_the_same(device_for, graph, expected, kind, program, sync):
    with run_on(kind, program, graph, device_for) as run:
        np.testing.assert_array_equal(run.result(sync), expected)
        assert all(not driver.refuses < driver.held for driver in run.drivers)
        used = {record.device for record in run.records}
    assert (BOTH if KINDS[kind].helps else GPU if KINDS[kind].gpus else CPU) in used


@kinds
def test_synchronous_iterations_are_the_same_one_by_one(device_for, graph, kind):
    """After each iteration, values and frontier equal those of the CPU after as many iterations."""
    program = PROGRAMS["total"]
    with run_on("cpu", program, graph, device_for) as known, run_on(kind, program, graph, device_for) as run:
        one, other = known.open(True), run.open(True)
        for number in range(1, 6):
            known.iterate(one, number, mode=PULL)
            run.iterate(other, number, mode=PULL)
            np.testing.assert_array_equal(other.values, one.values)
            np.testing.assert_array_equal(other.frontier.mask(graph.n), one.frontier.mask(graph.n))
            assert (other.active_count, other.active_edges) == (one.active_count, one.active_edges)
            assert other.total == one.total


class Shuffled(Policy):
    """Takes the pages in an order that chance decides on."""

    sees_pages = True

    def decide(self, seen):
        order = np.random.default_rng(seen.active).permutation(len(seen.pages))
        ordered.append([seen.pages[k].first_vertex for k in order])
        assert sum(seen.active_by_page) == seen.active
        return Decision(PULL, "shuffled", BOTH if seen.ratio else seen.device, order=order)


ordered: list[list[int]] = []


@pytest.mark.slow
@pytest.mark.parametrize("kind", IN_ANY_ORDER)
def test_an_order_of_pages_changes_no_bit(device_for, graph, kind, monkeypatch):
    """Each processor takes its pages in the order decided; a host that shares them takes the last ones."""
    program, taken, of = PROGRAMS["total"], [], PageQueue.of

    def record(pages, *more):
        taken.append([page.first_vertex for page in pages])
        return of(pages, *more)

    monkeypatch.setattr(PageQueue, "of", record)
    monkeypatch.setattr(MemoryPageSource, "prefetch", lambda self, pages, *_: record(list(pages), {}, {}))
    with run_on("cpu", program, graph, device_for) as known, run_on(kind, program, graph, device_for) as run:
        one, other = known.open(True), run.open(True)
        known.iterate(one, 4, mode=PULL)
        taken.clear()
        ordered.clear()
        run.iterate(other, 4, policy=Shuffled())
        np.testing.assert_array_equal(other.values, one.values)
        assert other.total == one.total
    assert len(ordered) == 4
    assert ordered[0] != sorted(ordered[0])
    found = [pages for pages in taken if len(pages) > 1]
    assert found
    assert all(any(pages == [v for v in order if v in pages] for order in ordered) for pages in found)


@pytest.mark.slow
@pytest.mark.spread
@kinds
@pytest.mark.parametrize("first", KINDS)
@ways
def test_it_continues_from_the_state_of_another_executor(device_for, graph, expected, first, kind, sync):
    program = PROGRAMS["total"]
    with run_on(first, program, graph, device_for) as before:
        state = before.open(sync)
        before.iterate(state, iterations=2)
        with run_on(kind, program, graph, device_for) as run:
            state = run.open(sync, state)
            run.records += before.records
            assert run.iterate(state)
            np.testing.assert_array_equal(run.executor.report(state), expected)


@pytest.mark.spread
@kinds
@ways
def test_it_loads_the_state_of_another_process(device_for, graph, expected, kind, sync):
    """A checkpoint's arrays are written into the first state; `load` makes the executor see them."""
    program = PROGRAMS["total"]
    with run_on("cpu", program, graph, device_for) as before:
        left = before.open(sync)
        before.iterate(left, iterations=2)
        with run_on(kind, program, graph, device_for) as run:
            state = run.open(sync)
            put(arrays_of(left), state, graph)
            run.executor.load(state)
            run.records += before.records
            assert run.iterate(state)
            np.testing.assert_array_equal(run.executor.report(state), expected)


@pytest.mark.slow
@kinds
def test_it_does_what_its_capabilities_say(device_for, graph, kind):
    with run_on(kind, PROGRAMS["quiet"], graph, device_for) as run:
        state = run.open(True)
        can = run.executor.capabilities
        assert isinstance(can, Capabilities)
        assert can.name in (CPU, GPU)
        assert set(can.modes) <= {PULL, NOTIFY_PULL, PUSH, PULL_TILED}
        assert len(can.loads) == KINDS[kind].helps
        for edges, streamed, width in can.loads:
            assert edges == graph.m >= streamed >= 0 < width
        for mode in set(can.modes) - {PULL_TILED}:
            run.iterate(state, len(run.records) + 1, mode=mode)
            assert run.records[-1].mode == mode


@kinds
def test_a_pull_gathers_every_edge_once(device_for, graph, kind):
    with run_on(kind, PROGRAMS["total"], graph, device_for) as run:
        state = run.open(True)
        done = run.executor.step(state, run.decision(state, mode=PULL))
        assert (done.followed, sum(page.edges for page in done.pages)) == (0, graph.m)
        assert done.device in (CPU, GPU, BOTH)
        assert len(done.sharing) == len(run.executor.capabilities.loads)
        pages = run.executor.source.pages
        assert [page.first_vertex for page in pages] == [0, *(page.last_vertex for page in pages[:-1])]
        assert pages[-1].last_vertex == graph.n


@pytest.mark.slow
@kinds
def test_it_gives_everything_back(device_for, graph, kind):
    """It also does so if it is closed between two iterations, or was never opened."""
    before = at_work("")
    for iterations in (None, 0, 1, 3):
        with run_on(kind, PROGRAMS["total"], graph, device_for) as run:
            if iterations is not None:
                run.iterate(run.open(True), iterations)
        assert [held_after(driver, graph) for driver in run.drivers] == [0] * len(run.drivers)
        assert at_work("") == before


@pytest.mark.full
@kinds
def test_reported_values_are_one_a_vertex(device_for, graph, kind):
    with run_on(kind, PROGRAMS["quiet"], graph, device_for) as run:
        state = run.open(True)
        run.iterate(state, 1)
        found = run.executor.report(state)
        assert (found.shape, found.dtype) == ((graph.n,), np.int64)
