"""Decisions for single pages: a simulation follows them as a real run does, and says what they cost."""

from dataclasses import replace

import pytest

import garaph_py as gp
from garaph_py.dispatch.policy import Policy
from garaph_py.dispatch.rates import Rates
from garaph_py.errors import PolicyError
from garaph_py.executor.decision import Decision, PageDecision
from garaph_py.executor.modes import BOTH, COPIED, CPU, GPU, NOTIFY_PULL, PULL, PUSH, RESIDENT, ZERO_COPY
from garaph_py.program import bind
from garaph_py.runtime.options import HYBRID, RunOptions
from garaph_py.simulation import Activity, simulate
from garaph_py.simulation import workload as workloads
from garaph_py.simulation.executor import READING
from garaph_py.simulation.machine import Disks, UnitCost, WorkCost
from garaph_py.simulation.workload import Layout, activities_of, workload_of
from tests.support import twins
from tests.support.numpy_gpu import FakePinned, PlainBlend, memory_for
from tests.support.policies import ByPage, edges_by_way
from tests.support.simulated import EVERYBODY, LABELS, SMALL, how, workload

from ..support.runs import run_with

EDGES = twins.skewed(4, 9000, 60000)
ITERATIONS = 4


@pytest.fixture
def both(device_for, monkeypatch, cut_small_graphs):
    """A function that runs a program for real, on a GPU that is NumPy, and simulates that run under the same policy; it
    returns the records of both."""

    def run(program, policy, device, directed=True):
        graph = gp.from_edges(EDGES.sources, EDGES.targets, vertices=range(EDGES.n), directed=directed)
        options, room = {}, None
        if device != CPU:
            monkeypatch.setattr(FakePinned, "driver", device_for(program, graph))
            options["gpu_memory"] = memory_for(program, graph, 0.4, gather="auto")
        options |= {"device": device, "page_edges": 3000, "sync": True, "iterations": ITERATIONS}
        rows = run_with(program, graph, engine=policy, **options).stats.iterations
        activities = activities_of([row._asdict() for row in rows], graph.m)
        layout = Layout(page_edges=3000)
        work = workload_of(bind(program, graph), graph, activities, synchronous=True, layout=layout)
        if device != CPU:  # the least in which as many pages stay
            stay = policy.transfers.count((RESIDENT,))
            room = next(each for each in range(65536, 1 << 20, 512) if work.residency(each).resident == stay)
        told, policy.told = policy.told, []
        done = simulate(work, SMALL, RunOptions(device=device, engine=policy, iterations=ITERATIONS), room)
        assert policy.told == told
        return rows, done.iterations

    return run


@pytest.mark.parametrize("device", [GPU, HYBRID])
@pytest.mark.parametrize("directed", [True, False])
def test_the_same_pages_go_the_same_ways(both, device, directed):
    """From the first iteration on, which copies the pages that stay."""
    real, simulated = both(PlainBlend(), ByPage(cpu=4 if device == HYBRID else None), device, directed)
    assert len(real) == ITERATIONS
    for row, again in zip(real, simulated, strict=True):
        assert edges_by_way(row) == edges_by_way(again)
        assert (row.edges, row.pages, row.to_device) == (again.edges, again.pages, again.to_device)
    assert {way for _, _, way in edges_by_way(real[-1])} >= {RESIDENT, COPIED, ZERO_COPY}


class Told(Policy):
    """Decides so for single pages."""

    chooses_transfers = True

    def __init__(self, pages, mode=PULL):
        self.pages, self.mode = pages, mode

    def decide(self, seen):
        return Decision(self.mode, "", BOTH if seen.ratio else seen.device, pages=self.pages)

    def first_rates(self, threads, load):
        """An idle CPU takes the last page."""
        return Rates.expected(threads, *load, reactive=True)


def told(device, pages, mode=PULL):
    return replace(how(device), engine=Told(pages, mode))


def on_gpu(way=None):
    return PageDecision(PULL, GPU, way)


READ = 1 / READING
"""Seconds in which a kernel reads a page of `SMALL` in host memory, where a copy takes 1."""


@pytest.mark.parametrize(("pages", "seconds", "copied"), [
    ({}, [3.5, 2.0], [4096, 1024]),  # pages 2 and 3 are still in their buffers; they and page 0 are computed meanwhile
    ({3: on_gpu(ZERO_COPY)}, [2 + READ + 0.5, 4 * 0.5], [3072, 0]),
    ({2: on_gpu(ZERO_COPY), 3: on_gpu(ZERO_COPY)}, [1 + 2 * READ + 0.5, 2 * READ + 0.5], [2048, 0]),
    ({3: on_gpu(COPIED)}, [3.5, 2.5], [4096, 2048]),  # though it is in a buffer
    ({k: on_gpu(COPIED) for k in (1, 2, 3)}, [3.5, 3.5], [4096, 3072]),
])  # fmt: skip
def test_seconds_by_hand(monkeypatch, pages, seconds, copied):
    """Page 0 stays, two others fit in buffers, and kernels take 0.5 s a page."""
    monkeypatch.setattr(workloads, "OWN_PAGES", 0)  # edges are pinned
    work = workload(activities=[EVERYBODY] * 2)
    assert work.residency(3072).resident == 1
    rows = simulate(work, SMALL, told(GPU, pages), room=3072).iterations
    assert [row.to_device for row in rows] == copied
    assert [row.seconds for row in rows] == [pytest.approx(each) for each in seconds]


def test_reads_take_as_long_where_copies_are_slow():
    """Edges that are not pinned are copied at another rate, but kernels read pinned ones; a call's time does not count
    for them."""
    slow = replace(SMALL, link=replace(SMALL.link, unpinned=1.0, copy=100.0))
    pages = {k: on_gpu(ZERO_COPY) for k in range(4)}
    assert simulate(workload(), slow, told(GPU, pages), room=2048).seconds == pytest.approx(4 * READ + 0.5)


@pytest.mark.parametrize(("cpu", "gpu"), [([0, 1, 2, 3], []), ([1], [0, 2, 3]), ([], [0, 1, 2, 3])])
def test_processors_keep_to_their_pages(cpu, gpu):
    """Both would share them otherwise."""
    assert set(simulate(workload(), SMALL, told(HYBRID, {}), room=2048).owners[0].values()) == {CPU, GPU}
    pages = {k: PageDecision(PULL, CPU) for k in cpu} | {k: on_gpu() for k in gpu}
    (owners,) = simulate(workload(), SMALL, told(HYBRID, pages), room=2048).owners
    assert {page.number: who for page, who in owners.items()} == {
        number: how.processor for number, how in pages.items()
    }


def test_the_cpu_takes_others_after_its_own():
    pages = {3: on_gpu(), 0: PageDecision(PULL, CPU)}
    (owners,) = simulate(workload(), SMALL, told(HYBRID, pages), room=2048).owners
    found = [(page.number, who) for page, who in owners.items()]
    assert found[0] == (0, CPU)
    assert (3, GPU) in found
    assert {page for page, _ in found} == {0, 1, 2, 3}


def test_the_cpu_updates_whole_pages():
    """In a notify-pull: two of four, and of the others what is notified."""
    machine = replace(SMALL, work=(WorkCost(CPU, "any", NOTIFY_PULL, UnitCost(1.0)),))
    some = Activity(8, 32, gathered=128)
    whole = {k: PageDecision(PULL, CPU) for k in (0, 2)}
    named = {k: PageDecision(NOTIFY_PULL, CPU) for k in (1, 3)}
    for mode, pages in ((NOTIFY_PULL, whole), (PULL, named)):
        (row,) = simulate(workload(LABELS, [some]), machine, told(CPU, pages, mode)).iterations
        assert row.edges == row.seconds == 32 + 2 * 256 + 128 // 2
    (row,) = simulate(workload(LABELS, [some]), machine, told(CPU, {}, NOTIFY_PULL)).iterations
    assert row.edges == row.seconds == 32 + 128


def test_whole_pages_are_not_skipped_on_the_gpu():
    machine = replace(SMALL, work=(*SMALL.work, WorkCost(CPU, "any", PUSH, UnitCost(0.25))))
    work = workload(LABELS, [Activity(1, 1)])
    skipped = [simulate(work, machine, told(GPU, pages, NOTIFY_PULL), room=8192).iterations[0].pages_skipped
               for pages in ({}, {0: on_gpu(), 3: on_gpu(RESIDENT)}, {k: on_gpu() for k in range(4)})]  # fmt: skip
    assert skipped[0] == 3
    assert skipped[1] in (1, 2)
    assert skipped[2] == 0


class Undeclared(Told):
    chooses_transfers = False


class Offsets(Told):
    offsets = True


@pytest.mark.parametrize("device", [GPU, HYBRID])
@pytest.mark.parametrize(("kind", "number", "way", "more", "said"), [
    (Told, 0, COPIED, {}, "transfer='copied' for page 0; choose from resident: it stays in the GPU's memory"),
    (Told, 3, RESIDENT, {}, "transfer='resident' for page 3; choose from copied, zero-copy$"),
    (Undeclared, 3, ZERO_COPY, {}, "choose from copied: the policy's class must have chooses_transfers = True"),
    (Offsets, 3, ZERO_COPY, {}, "choose from copied: the offsets of its destinations are copied with its edges"),
    (Told, 3, ZERO_COPY, {"on_disks": True}, "choose from copied: its edges come from disk"),
])  # fmt: skip
def test_the_same_is_refused(device, kind, number, way, more, said):
    options = replace(how(device), engine=kind({number: on_gpu(way)}))
    machine = replace(SMALL, disks=Disks(1, 1024.0, 1024.0))
    with pytest.raises(PolicyError, match=said):
        simulate(workload(**more), machine, options, room=3072)
