"""Simulated runs: each page is processed once, no run is faster than its parts, small cases match hand calculations."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.dispatch.observation import Observation
from garaph_py.dispatch.policy import POLICIES as RULES
from garaph_py.dispatch.policy import Policy
from garaph_py.dispatch.rates import Speeds
from garaph_py.errors import DeviceMemoryError, ParameterError
from garaph_py.executor.decision import Decision
from garaph_py.executor.modes import BOTH, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from garaph_py.pages.queue import PageQueue
from garaph_py.runtime.options import HYBRID, RunOptions
from garaph_py.simulation import Activity, Machine, Workload, simulate
from garaph_py.simulation import workload as workloads
from garaph_py.simulation.demand import expected_pages, notified_vertices
from garaph_py.simulation.machine import UNPINNED_SHARE, Disks, Link, UnitCost, WorkCost
from garaph_py.simulation.spec import read_spec
from garaph_py.simulation.workload import Traits, even_offsets
from tests.support.command import garaph
from tests.support.simulated import EVERYBODY, KNOWN, LABELS, MACHINE, SMALL, SPEC, SUMS, how, workload

SPECS = Path(__file__).parents[2] / "scripts" / "simulations"


pinned = pytest.mark.usefixtures("edges_are_pinned")


@pytest.fixture
def edges_are_pinned(monkeypatch):
    """Even those of the small graphs here."""
    monkeypatch.setattr(workloads, "OWN_PAGES", 0)


def by_number(owners):
    return {page.number: who for page, who in owners.items()}


def test_the_cpu_alone_by_hand():
    done = simulate(workload(activities=[EVERYBODY] * 3), replace(SMALL, cores=4), how(CPU))
    assert [row.seconds for row in done.iterations] == [2.0, 2.0, 2.0]
    assert [row.started for row in done.iterations] == [0.0, 2.0, 4.0]
    assert by_number(done.owners[0]) == dict.fromkeys(range(4), CPU)


def test_two_streams_by_hand():
    done = simulate(workload(activities=[EVERYBODY] * 2), SMALL, how(GPU), room=2048)
    # copies of 0 and 1 end at 1 and 2, their kernels half a second later, which makes room for 2 and 3: copied at 3 and
    # 4, done at 3.5 and 4.5; then 2 and 3 are held: kernels end at 0.5 and 1; the others are there at 1.5 and 2.5
    assert [row.seconds for row in done.iterations] == [4.5, 3.0]
    assert [row.from_device for row in done.iterations] == [0, 0]  # new values stay on the GPU
    assert [row.to_device for row in done.iterations] == [4096, 2048]


class Backwards(Policy):
    """Takes the last page first; a page's vertices are active in proportion to its size."""

    sees_pages = True

    def decide(self, seen):
        assert seen.active_by_page == tuple(seen.active * page.vertices // seen.vertices for page in seen.pages)
        order = tuple(reversed(range(len(seen.pages))))
        return Decision(PULL, "", BOTH if seen.ratio else seen.device, order=order)


@pytest.mark.parametrize("device", [CPU, GPU, HYBRID])
def test_a_policy_orders_the_pages(device, monkeypatch):
    queues, of = [], PageQueue.of

    def record(pages, *more):
        queues.append([page.number for page in pages])
        return of(pages, *more)

    monkeypatch.setattr(PageQueue, "of", record)
    options = replace(how(device), engine=Backwards())
    done = simulate(workload(activities=[EVERYBODY] * 2), replace(SMALL, cores=4), options, room=2048)
    assert queues == [[3, 2, 1, 0]] * 2
    assert [sorted(set(by_number(owners))) for owners in done.owners] == [[0, 1, 2, 3]] * 2


class Faster(Policy):
    """Pulls once and pushes once; from then on, takes the mode that took less time."""

    def start(self):
        return {}

    def decide(self, seen):
        untried = [mode for mode in (PULL, PUSH) if mode not in seen.own]
        return Decision(untried[0] if untried else min(seen.own, key=seen.own.get), "", seen.device)

    def observe(self, own, seen, decision, done):
        return own | {decision.mode: done.seconds}


@pytest.mark.parametrize(("cost", "modes"), [(1 / 256, [PULL, PUSH, PUSH]), (1 / 64, [PULL, PUSH, PULL])])
def test_a_policy_observes_predicted_seconds(cost, modes):
    machine = replace(SMALL, work=(*SMALL.work, WorkCost(CPU, "any", PUSH, UnitCost(cost))))
    done = simulate(workload(LABELS, [EVERYBODY] * 3), machine, how(CPU, Faster()))
    assert [row.mode for row in done.iterations] == modes


def test_what_stays_is_copied_once():
    done = simulate(workload(activities=[EVERYBODY] * 2), SMALL, how(GPU), room=4096)
    assert [row.to_device for row in done.iterations] == [4096, 0]
    assert done.iterations[1].seconds == 2.0  # kernels 0.5 s each


@pinned
def test_the_gpu_s_thread_launches_each_page_unless_all_stay():
    launching = replace(SMALL.work[1], launch=2.0)
    machine = replace(SMALL, work=(SMALL.work[0], launching))
    stay, most = (simulate(workload(activities=[EVERYBODY] * 2), machine, how(GPU), room=room) for room in (4096, 3072))
    assert stay.iterations[1].seconds == 2.0  # as without launches
    assert most.iterations[1].seconds == 4 * 2.0 + 0.5  # the last launch, and its kernel


@pytest.mark.parametrize(("bound", "seconds"), [(0, 4 * 2.0 + 1.0 + 0.5), (1 << 25, 4 * (2.0 + 1.0) + 0.5)])
def test_the_thread_waits_for_copies_from_memory_that_is_not_pinned(monkeypatch, bound, seconds):
    """It launches a page in 2 s, and a copy takes 1 s; the last kernel takes 0.5 s."""
    monkeypatch.setattr(workloads, "OWN_PAGES", bound)
    launching = replace(SMALL, work=(SMALL.work[0], replace(SMALL.work[1], launch=2.0)))
    assert simulate(workload(), launching, how(GPU), room=2048).seconds == seconds


def test_copies_from_memory_that_is_not_pinned_are_slower():
    done = [
        simulate(workload(activities=[EVERYBODY] * 2), replace(SMALL, link=link), how(GPU), room=2048).iterations[1]
        for link in (SMALL.link, replace(SMALL.link, unpinned=512.0), replace(SMALL.link, unpinned=None))
    ]
    # the first copy begins when a kernel of 0.5 s ends, the second one follows, and then the last kernel
    assert [row.seconds for row in done] == [3.0, 5.0, pytest.approx(0.5 + 2 / UNPINNED_SHARE + 0.5)]


def test_without_keep_every_iteration_copies_all_pages():
    done = simulate(workload(activities=[EVERYBODY] * 3, keep=False), SMALL, how(GPU), room=1 << 20)
    assert [row.to_device for row in done.iterations] == [4096] * 3


def test_a_policy_that_keeps_no_pages():
    for engine, copied in ("garaph", [4096] * 2), ("garaph:keep=yes", [4096, 0]):
        done = simulate(workload(activities=[EVERYBODY] * 2), SMALL, how(GPU, engine), room=1 << 20)
        assert [row.to_device for row in done.iterations] == copied


def test_both_by_hand():
    done = simulate(workload(), SMALL, how("hybrid", "garaph"), room=2048)
    # the CPU has page 3 until 2; then page 2 waits for room, until 2.5: the CPU has it until 4
    assert by_number(done.owners[0]) == {0: GPU, 1: GPU, 2: CPU, 3: CPU}
    assert done.iterations[0].device == BOTH
    assert done.seconds == 4.0


@pinned
def test_a_page_that_the_cpu_takes_first_is_not_copied():
    done = simulate(workload(activities=[EVERYBODY] * 2), SMALL, how("hybrid", "garaph:keep=yes"), room=8192)
    assert [by_number(owners) for owners in done.owners] == [{0: GPU, 1: GPU, 2: GPU, 3: CPU}] * 2
    assert [row.to_device for row in done.iterations] == [3 * 1024, 0]


@pytest.mark.parametrize(("engine", "device", "iterations", "edges", "mode"), [
    ("auto", CPU, 5, 1 << 24, PULL_TILED), ("auto", CPU, 4, 1 << 24, PULL), ("auto", CPU, 5, (1 << 24) - 1, PULL),
    ("garaph", CPU, 5, 1 << 24, PULL), ("auto", GPU, 5, 1 << 24, PULL),
])  # fmt: skip
def test_long_runs_over_many_edges_pull_by_tiles(engine, device, iterations, edges, mode):
    every, traits = [Activity(1 << 20, edges)] * iterations, replace(SUMS, tiles=True)
    work = workload(traits, every, 1 << 20, edges, None, known_nearby=False)
    machine = replace(SMALL, gpu_memory=1 << 30)
    assert {row.mode for row in simulate(work, machine, how(device, engine)).iterations} == {mode}
    nearby = simulate(replace(work, known_nearby=True), machine, how(device, engine))
    assert {row.mode for row in nearby.iterations} == {PULL}


def test_iterations_of_the_cpu_beside_a_gpu_cost_what_the_machine_says():
    beside = WorkCost(CPU, "any", PULL, UnitCost(1 / 64), beside_gpu=True)
    machine = replace(SMALL, work=(*SMALL.work, beside))
    alone, shared = (
        simulate(workload(LABELS, [Activity(8, 64)]), machine, how(device, "garaph")) for device in (CPU, HYBRID)
    )
    assert [row.device for row in (*alone.iterations, *shared.iterations)] == [CPU, CPU]
    assert shared.seconds == pytest.approx(2 * alone.seconds)


@pinned
def test_the_cpu_notifies_beside_the_gpu_by_hand():
    work = workload(LABELS, [Activity(8, 256)])
    done = simulate(work, SMALL, how("hybrid", "garaph:hardware=no"), room=2048)
    # to notify takes 2 s; then a page takes the CPU 0.5 s, a quarter of a pull, and the GPU is done at 3.5 as before
    (row,) = done.iterations
    assert by_number(done.owners[0]) == {0: GPU, 1: GPU, 2: CPU, 3: CPU}
    assert (row.device, row.mode, done.seconds) == (BOTH, NOTIFY_PULL, 5.5)
    assert row.edges == 256 + 2 * 256 + 2 * 64  # followed, pulled, and gathered for whom it has notified
    pulls = simulate(work, SMALL, how("hybrid", "garaph:hardware=no,dual=no"), room=2048)
    assert (pulls.iterations[0].mode, pulls.iterations[0].edges, pulls.seconds) == (PULL, 1024, 4.0)


def test_the_modelled_machine_s_speeds_are_what_rates_begin_with():
    """The CPU does 128 edges/s, the GPU 512, the link 256: a pull of all pages takes the GPU 6 s, and the CPU 8."""
    done = simulate(workload(LABELS, [Activity(8, 256)]), SMALL, how("hybrid", "garaph"), room=2048)
    assert done.iterations[0].alpha == pytest.approx(2 * 0.25 * 8 / 6)
    assert done.iterations[0].device == CPU


def test_speeds_that_the_machine_says_come_first():
    machine = replace(SMALL, speeds=Speeds(256.0, 512.0, 1024.0))  # the hardware's CPU pulls twice as fast
    done = simulate(workload(LABELS, [Activity(8, 256)]), machine, how("hybrid", "garaph"), room=2048)
    assert done.iterations[0].alpha == pytest.approx(2 * 0.25 * 4 / 6)


def test_a_shared_notification_costs_what_a_cpu_alone_takes_and_more_for_each_notified_vertex():
    work, options = workload(LABELS, [Activity(8, 256)]), how("hybrid", "garaph:hardware=no")
    before = simulate(work, SMALL, options, room=2048).seconds
    alone = WorkCost(CPU, "any", NOTIFY_PULL, UnitCost(1 / 128))
    beside = replace(alone, edge=UnitCost(9.0), beside_gpu=True)
    assert simulate(work, replace(SMALL, work=(*SMALL.work, alone, beside)), options, room=2048).seconds == before
    both = WorkCost(BOTH, "any", NOTIFY_PULL, iteration=2.0, notified=0.5)
    done = simulate(work, replace(SMALL, work=(*SMALL.work, both)), options, room=2048)
    assert done.seconds == pytest.approx(before + 2.0 + 0.5 * notified_vertices(work, work.activities[0]))
    lists = work.shape.lists
    assert notified_vertices(work, Activity(8, 256)) == pytest.approx(lists * (1 - math.exp(-256 / lists)))


def test_the_modelled_machine_s_speeds_count_all_that_an_edge_costs():
    """A calibrated CPU has no cost of an edge: it is in those of near and far sources, and of vertices."""
    work = workload(LABELS, [Activity(8, 256)])
    near = 0.5 / 128 / work.shape.near
    vertex = 0.5 / 128 * work.edges / work.shape.lists
    cpu = WorkCost(CPU, "any", PULL, UnitCost(0.0), UnitCost(vertex), near=near)
    done = simulate(work, replace(SMALL, work=(cpu, *SMALL.work[1:])), how("hybrid", "garaph"), room=2048)
    assert done.iterations[0].alpha == pytest.approx(2 * 0.25 * 8 / 6)  # as above


DELTAS = Traits("DeltaPageRank", 4, pushes_deltas=True)


@pytest.mark.parametrize("device", [CPU, GPU])
def test_pushes_of_deltas_are_refused_where_they_would_begin(device):
    work = workload(DELTAS, [EVERYBODY, Activity(1, 1), Activity(1, 1)])
    with pytest.raises(ParameterError, match=rf"iteration 1 of DeltaPageRank \({device}\): engine 'auto' makes"):
        simulate(work, SMALL, how(device), room=8192)
    assert simulate(replace(work, activities=(EVERYBODY,) * 2), SMALL, how(device), room=8192).seconds > 0
    assert {row.mode for row in simulate(work, SMALL, how(device, "garaph"), room=8192).iterations} <= {
        PULL,
        NOTIFY_PULL,
    }


def test_both_processors_push_no_deltas():
    """Under auto, a real run has one processor work alone, and push; under other engines both work."""
    work = workload(DELTAS, [EVERYBODY, Activity(1, 1)])
    with pytest.raises(ParameterError, match=r"device='hybrid': DeltaPageRank pushes deltas"):
        simulate(work, SMALL, how(HYBRID), room=8192)
    done = simulate(work, SMALL, how(HYBRID, "garaph"), room=8192)
    assert PUSH not in {row.mode for row in done.iterations}


@pytest.mark.parametrize("device", [CPU, GPU, HYBRID])
def test_a_run_without_iterations(device):
    assert simulate(workload(activities=[]), SMALL, how(device, "garaph"), room=2048).iterations == []


def test_handing_a_page_to_the_cpu_takes_time():
    machine = replace(SMALL, work=(*SMALL.work, WorkCost(BOTH, "any", PULL, page=1.0, iteration=0.25)))
    done = simulate(workload(), machine, how("hybrid", "garaph"), room=2048)
    # the CPU has page 3 until 3; then 2 is on its way, there at 3.5, its values back at 5
    assert by_number(done.owners[0]) == {0: GPU, 1: GPU, 2: GPU, 3: CPU}
    assert done.seconds == 5.25


@pinned
@pytest.mark.parametrize(("traits", "engine", "synchronous", "seconds"), [
    (SUMS, "garaph", True, 4.0), (SUMS, "garaph", False, 6.5),
    (LABELS, "garaph", False, 6.5), (LABELS, "garaph:every_edge=no", False, 4.0),
])  # fmt: skip
def test_values_land_by_hand(traits, engine, synchronous, seconds):
    """In place in a synchronous run, and where a relaxation may read any value of a vertex."""
    machine = replace(SMALL, host_copy=128.0)  # 2 s a page
    work = workload(replace(traits, synchronous=synchronous))
    done = simulate(work, machine, how("hybrid", engine), room=2048)
    # asynchronous values of 0 are back at 2.5 and land until 4.5; those of 1 are back at 3.5, and land after that
    assert by_number(done.owners[0]) == {0: GPU, 1: GPU, 2: CPU, 3: CPU}
    assert done.seconds == seconds


def test_pages_that_nobody_is_notified_in_are_spared():
    pushes = WorkCost(CPU, "any", PUSH, UnitCost(0.25), UnitCost(0.5), iteration=3.0)
    machine = replace(SMALL, work=(*SMALL.work, pushes), host_copy=128.0)
    done = simulate(workload(LABELS, [Activity(1, 1)]), machine, how(GPU), room=8192)
    # to notify takes 3.75 s, a kernel 0.5 s, its values come in 1 s, and are copied in 2 s where not all are new
    assert done.iterations[0].mode == NOTIFY_PULL
    assert (done.iterations[0].pages, done.iterations[0].pages_skipped) == (1, 3)
    assert done.seconds == 7.25
    pages = workload(n=16000, m=16000).pages()
    assert expected_pages(pages, 0) == []
    assert len(expected_pages(pages, 1)) == 1
    assert expected_pages(pages, 10**6) == pages
    small = replace(pages[0], number=len(pages), last_edge=pages[0].first_edge + 1)
    assert expected_pages([*pages, small], 1000) == pages  # a small page is hit as seldom as its few edges are


def test_disks_by_hand():
    machine = replace(SMALL, disks=Disks(2, 256.0, 64.0))  # 2 s a page
    done = simulate(workload(on_disks=True), machine, how(CPU))
    assert done.seconds == 10.0  # one page after the other is read, the last one computed after that
    few = Activity(1, 16, 16)
    done = simulate(workload(LABELS, [few], on_disks=True), machine, how(CPU, "garaph"))
    assert done.iterations[0].mode == NOTIFY_PULL
    assert done.seconds == 32 * 4 / 128
    kept = replace(machine, host_memory=2 * 1024 + 4096)
    assert simulate(workload(on_disks=True), kept, how(CPU)).seconds == 8.0


@pinned
def test_a_slowed_link_by_hand():
    machine = replace(SMALL, link=Link(1024.0, 264.0, beside_cpu=0.5, unpinned=1024.0))
    done = simulate(workload(), machine, how("hybrid", "garaph"), room=2048)
    # the copy of page 0 takes until 2, so the CPU has page 2 as well, until 4, and so long page 1
    # is copied; it is done at 4.5 and back at 5.5
    assert by_number(done.owners[0]) == {0: GPU, 1: GPU, 2: CPU, 3: CPU}
    assert done.seconds == 5.5


OPTIONS = st.builds(how, st.sampled_from([CPU, GPU, "hybrid"]), st.sampled_from(["auto", "garaph"]))
WORKLOADS = st.builds(
    lambda n, m, shares, traits, keep: workload(
        traits, [Activity(round(n * share), round(m * share)) for share in shares], n, m, keep=keep
    ),
    st.integers(1, 5000), st.integers(0, 20000), st.lists(st.floats(0, 1), min_size=1, max_size=6),
    st.sampled_from([SUMS, LABELS]), st.booleans(),
)  # fmt: skip
ROOMS = st.floats(0.3, 1.2)


def played(work: Workload, machine: Machine, options: RunOptions, share: float):
    largest = max((page.edges for page in work.pages()), default=0)
    room = int(max(share * work.edges, 8 * largest + 4 * 64 * 20) * work.edge_bytes)
    try:
        return simulate(work, machine, options, room), room
    except DeviceMemoryError:
        return None, room


@given(WORKLOADS, OPTIONS, ROOMS)
def test_every_page_is_processed_once(work, options, share):
    done, room = played(work, SMALL, options, share)
    if done is None:
        return
    device_pages = [] if options.device == CPU else work.residency(room).pages
    for row, owners in zip(done.iterations, done.owners, strict=True):
        assert row.pages == len(owners)
        if row.mode != PULL:
            continue
        parts = sorted(owners, key=lambda page: page.first_vertex)
        assert (parts[0].first_vertex, parts[-1].last_vertex) == (0, work.vertices)
        assert all((a.last_vertex, a.last_edge) == (b.first_vertex, b.first_edge) for a, b in pairwise(parts))
        assert row.edges == sum(page.edges for page in parts) == work.edges
        if row.device == CPU or options.engine == "garaph":
            assert parts == (work.pages() if row.device == CPU else device_pages)
        assert set(owners.values()) <= ({row.device} if row.device != BOTH else {CPU, GPU})


@given(WORKLOADS, OPTIONS, ROOMS)
def test_decisions_are_those_of_the_scheduler(work, options, share):
    done, _ = played(work, SMALL, options, share)
    for row, one in zip(done.iterations if done else [], work.activities, strict=False):
        seen = Observation(
            work.vertices, work.edges, one.active, one.active_edges,
            device=GPU if options.device == GPU else CPU, updates_all_vertices=work.traits.updates_all_vertices,
            is_relaxation=work.traits.is_relaxation, pushes=options.device != GPU,
        )  # fmt: skip
        if row.alpha is not None:
            asked = max(min(2.0 * seen.f, 1.0) if not work.traits.updates_all_vertices else 1.0, 1e-300)
            if options.engine == "garaph":
                seen = replace(seen, ratio=row.alpha / asked)
            assert (row.device != CPU) == (row.alpha >= 1)
        if row.alpha is None or row.alpha < 1:
            assert row.mode == RULES[options.engine].alone(replace(seen, ratio=row.alpha)).mode
        assert row.mode in (PULL, PUSH, NOTIFY_PULL)


def test_pulls_that_end_late_are_left_to_few_unfinished_edges():
    n, m = 1 << 20, 16 << 20
    late = replace(LABELS, ends_early=True, ends_late=True)
    visited = (0.001, m), (0.1, m), (0.9, m // 100), (0.1, m // 1000)
    work = workload(late, [Activity(1, round(f * m), visited=edges) for f, edges in visited], n, m, page_edges=m)
    assert [row.mode for row in simulate(work, KNOWN, how(CPU)).iterations] == [PUSH, PUSH, PULL, PULL]
    early = replace(work, traits=replace(late, ends_late=False))
    assert [row.mode for row in simulate(early, KNOWN, how(CPU)).iterations] == [PUSH, PULL, PULL, PULL]


@given(WORKLOADS, OPTIONS, ROOMS)
def test_nothing_is_faster_than_its_parts(work, options, share):
    done, room = played(work, SMALL, options, share)
    ahead = set()  # pages that are copied before the first iteration, and count when they are first processed
    if done and options.device != CPU and not work.on_disks:
        residency = work.residency(room)
        ahead = set(residency.pages[: residency.resident])
    for row, owners in zip(done.iterations if done else [], done.owners if done else [], strict=True):
        came = sum(page.edges for page in ahead & owners.keys()) * work.edge_bytes if row.device != CPU else 0
        ahead -= owners.keys() if row.device != CPU else set()
        if row.device == CPU:
            assert row.seconds >= row.edges / 128 * (1 - 1e-9)
        else:
            gpu = sum(owner == GPU for owner in owners.values())
            assert row.seconds >= row.from_device / SMALL.link.from_device * (1 - 1e-6) - 1
            # values that the CPU sends last need not have arrived when it ends
            sent = 4 * 64 * (len(owners) - gpu) * 20
            assert row.seconds * SMALL.link.to_device >= row.to_device - came - sent - 4 * work.vertices - 1


@given(WORKLOADS, st.sampled_from(["auto", "garaph"]), st.integers(1, 63))
def test_more_cores_are_never_slower(work, engine, cores):
    few, many = (simulate(work, replace(SMALL, cores=count), how(CPU, engine)).seconds for count in (cores, cores + 1))
    assert many <= few * (1 + 1e-12)


@given(WORKLOADS, ROOMS, st.floats(1, 8))
def test_a_faster_link_is_never_slower(work, share, factor):
    faster = replace(SMALL, link=Link(1024.0 * factor, 264.0 * factor, unpinned=1024.0 * factor))
    slow, fast = (played(work, machine, how(GPU, "garaph"), share)[0] for machine in (SMALL, faster))
    if slow is not None:
        assert fast.seconds <= slow.seconds * (1 + 1e-9)


def test_both_together_nearly_reach_the_sum_of_their_rates():
    """With small pages, both together are nearly as fast as the sum of their rates."""
    n, m = 1 << 16, 1 << 22
    work = Workload(SUMS, n, m, even_offsets(n, m), (Activity(n, m),) * 8, 4.0, 8.0, keep=False, page_edges=m // 64)
    machine = Machine(
        8, (WorkCost(CPU, "any", PULL, UnitCost(8e-9)), WorkCost(GPU, "any", PULL, UnitCost(1e-10))),
        gpu_memory=1 << 40, link=Link(4e9, 4e9, unpinned=4e9),
    )  # fmt: skip
    cpu, gpu, both = (simulate(work, machine, how(device, "garaph")).seconds for device in (CPU, GPU, "hybrid"))
    ideal = 1 / (6 / 8 / cpu + 1 / gpu)  # two cores serve the GPU
    assert ideal * 0.99 <= both <= ideal * 1.1


@pytest.mark.full
def test_the_paper_is_met_where_it_was_calibrated():
    """The paper's results that follow from the calibration are met too; scripts/simulations/README.md lists them."""
    spec = read_spec(SPECS / "table2.toml")
    ratios = {
        (run.graph, run.workload.traits.name, device):
            simulate(run.workload, spec.machine, how(device, run.engine)).seconds / run.published[device]
        for run in spec.runs for device in spec.devices
    }  # fmt: skip
    for graph, device in (("uk-2007@1M", CPU), ("twitter-2010", CPU), ("twitter-2010", GPU)):
        assert ratios[graph, "PageRank", device] == pytest.approx(1, abs=0.01)
    predicted = [ratios[graph, "PageRank", "hybrid"] for graph in ("enwiki-2013", "gsh-2015-tpd", "twitter-2010")]
    assert predicted == pytest.approx([1, 1, 1], abs=0.05)


@pytest.mark.slow
def test_the_commands(tmp_path, monkeypatch, capsys):
    assert garaph(monkeypatch, "simulate", SPECS / "table3.toml", "--quiet") == 0
    assert "uk-union" in capsys.readouterr().out
    (tmp_path / "machine.toml").write_text(MACHINE)
    (tmp_path / "spec.toml").write_text(SPEC)
    assert garaph(monkeypatch, "simulate", tmp_path / "spec.toml", "--device", "cpu", "--iterations", "2") == 0
    told = capsys.readouterr().out
    assert "published: 0.5 s" in told
    assert "pull" in told
    assert garaph(monkeypatch, "simulate") == 1
    assert garaph(monkeypatch, "simulate", tmp_path / "spec.toml", "--device", "tpu") == 1
    assert garaph(monkeypatch, "simulate", tmp_path / "spec.toml", "--iterations", "0") == 1
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": []}))
    assert garaph(monkeypatch, "simulate", "--trace", tmp_path / "trace.json") == 1
    assert "is not a trace of garaph" in capsys.readouterr().err
