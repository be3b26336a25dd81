"""Simulated runs on several GPUs of one host: who has what to do, what they send, and what is not simulated."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from garaph_py.errors import ParameterError
from garaph_py.executor.decision import Decision
from garaph_py.executor.gpu import memory_plan, peers
from garaph_py.executor.modes import COMPONENTS, CPU, GPU, PULL, PUSH
from garaph_py.program import bind
from garaph_py.simulation import Activity, simulate
from garaph_py.simulation.demand import PULL_ACTIVE
from garaph_py.simulation.executor import SimulatedCpu, SimulatedGpu
from garaph_py.simulation.gpus import LINK, THREAD, sent_by_each, simulate_gpus
from garaph_py.simulation.machine import Link, Machine, UnitCost, WorkCost
from garaph_py.simulation.peers import Gpus, Peers
from garaph_py.simulation.spec import read_spec
from garaph_py.simulation.workload import activities_of, in_order, workload_of
from tests.support.command import garaph
from tests.support.numpy_gpu import GRAPH, HUB, Blend, Quiet
from tests.support.simulated import LABELS, MACHINE, SPEC, how, workload

from ..support.runs import run_with

N, M = 1 << 20, 1 << 25
PULLED, PUSHED, FIXED = 1e-9, 2e-9, 1e-3
COSTS = Machine(
    4,
    (
        WorkCost(CPU, "any", PULL, UnitCost(1e-8)),
        WorkCost(GPU, "any", PULL, UnitCost(PULLED), iteration=FIXED),
        WorkCost(GPU, "any", PUSH, UnitCost(PUSHED), iteration=FIXED),
    ),
    gpu_memory=1 << 40,
    link=Link(5e10, 5e10),
)
IDLE = Peers(1e30)
SEARCH = replace(LABELS, name="BFS", ends_early=True)
UNION = WorkCost(GPU, "ConnectedComponents", COMPONENTS, vertex=UnitCost(1e-8), iteration=FIXED)


def large(**more):
    return workload(n=N, m=M, **{"activities": [Activity(N, M)] * 3, "page_edges": None} | more)


def played(count, links=IDLE, machine=COSTS, engine="auto", memory=None, **more):
    return simulate_gpus(large(**more), machine, how(GPU, engine), links, count, memory)


def in_pieces(pieces, count):
    """The bound on pages by which each part has so many."""
    return int(1.1 * M / count / pieces)


def pushed(count, *given, links=IDLE, **more):
    """A run whose iterations push."""
    done = played(count, links, traits=LABELS, activities=in_order(Activity(*one) for one in given), **more)
    assert {row.mode for row in done.iterations} == {PUSH}
    return done


def simulated_as(result, program, graph):
    """The simulation of a run on two GPUs."""
    rows = [row._asdict() for row in result.stats.iterations]
    work = workload_of(bind(program, graph), graph, activities_of(rows, graph.m), synchronous=True)
    return simulate_gpus(work, COSTS, how(GPU), IDLE, 2)


@pytest.fixture
def two_gpus(devices_for, monkeypatch):
    """A function that makes two GPUs which are NumPy, and returns what gets the bytes of each copy between them."""

    def make(program, graph):
        devices_for(program, graph, 2)
        found, copy = [], peers.copy
        monkeypatch.setattr(peers, "copy", lambda *how: (found.append(how[4]), copy(*how)))
        return found

    return make


def test_one_is_as_one_without_peers():
    assert played(1, Peers(1.0, 9.0, 9.0)).seconds == simulate(large(), COSTS, how(GPU)).seconds


@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_pull_takes_as_long_as_the_gpu_with_most_edges(count):
    even = played(count)
    assert [one.computing for one in even.waits] == pytest.approx([M * PULLED / count + FIXED] * 3, rel=0.01)
    degrees = np.full(N, M // 2 // N)
    degrees[77] += M - degrees.sum()  # no vertex is divided
    skewed = simulate_gpus(replace(large(), offsets=np.append(0, np.cumsum(degrees))), COSTS, how(GPU), IDLE, count)
    assert skewed.waits[0].computing == pytest.approx(M / 2 * PULLED * (1 + 1 / N) + FIXED, rel=0.05)


@pytest.mark.parametrize("count", [2, 4])
def test_pulls_send_slices_and_bitmaps(count):
    """In two pieces, of which the second is sent when nothing is left to compute."""
    nbytes = N * (count - 1) / count * (4 + 1 / 8)
    given = {"links": Peers(1e6), "page_edges": in_pieces(2, count)}
    resident = played(count, **given)
    assert resident.waits[0].received == nbytes
    assert resident.waits[0].link == pytest.approx(nbytes / 1e6 / 2)
    assert resident.waits_for == LINK
    streamed = played(count, **given, memory=N * 8 + M * 4 // count // 2)  # sends all at the end
    assert streamed.waits[0].link == pytest.approx(nbytes / 1e6)


def test_copies_of_real_pulls(two_gpus, graph_of):
    program, graph = Blend(3), graph_of(GRAPH)
    sent = two_gpus(program, graph)
    result = run_with(program, graph, device="gpu", gpus=2, gather="segmented", iterations=5)
    done = simulated_as(result, program, graph)
    assert sum(sent) == pytest.approx(2 * sum(one.received for one in done.waits), rel=0.02)


def test_copies_of_real_pushes(two_gpus, graph_of):
    program, graph = Quiet(HUB), graph_of(GRAPH, directed=False)
    sent = two_gpus(program, graph)
    result = run_with(program, graph, device="gpu", gpus=2, sync=True)
    assert {row.mode for row in result.stats.iterations} == {PUSH}
    done = simulated_as(result, program, graph)
    assert sum(sent) == pytest.approx(2 * sum(one.received for one in done.waits), rel=0.3)


@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_push_from_many_is_divided_and_its_changes_go_to_all(count):
    active, edges, changed = 1 << 10, 1 << 14, 1 << 13
    first, _ = pushed(count, (active, edges), (changed, edges), links=Peers(1e6, received=1e-6)).waits
    sent = sent_by_each(in_order([Activity(active, edges), Activity(changed, edges)])[0], count)
    assert changed / count < sent < changed
    assert first.received == sent * (count - 1) * 8
    assert first.link == pytest.approx(first.received / 1e6)
    assert first.computing == pytest.approx(edges / count * PUSHED + FIXED + sent * (count - 1) * 1e-6)


def test_a_push_from_one_is_not_divided():
    first, _ = pushed(4, (1, 1 << 14), (1 << 13, 1 << 14)).waits
    assert first.computing == pytest.approx((1 << 14) * PUSHED + FIXED)
    assert first.received == (1 << 13) * 8


@pytest.mark.parametrize(("edges", "changed", "senders", "sent"), [
    (100, 100, 2, 50), (10**6, 100, 2, 100), (100, 100, 1, 100), (100, 0, 2, 0),
])  # fmt: skip
def test_vertices_are_sent_by_all_that_reach_them(edges, changed, senders, sent):
    activity = Activity(9, edges, activated=changed)
    assert sent_by_each(activity, senders) == pytest.approx(sent)


def test_rounds_take_the_thread_longer(monkeypatch):
    links = Peers(1e30, turn=1e-3, copy=1e-2)
    assert pushed(2, (1, 64), (1 << 12, 64), links=links).waits[0].thread == pytest.approx(7e-3 + 6e-2)
    monkeypatch.setattr(memory_plan, "MOST_EXCHANGED", 1 << 10)
    monkeypatch.setattr(memory_plan, "LEAST_EXCHANGED", 1 << 10)
    rounds = pushed(2, (1, 64), (1 << 12, 64), links=links)
    assert rounds.waits[0].thread == pytest.approx((3 + 4 * 4) * 1e-3 + 4 * 6e-2)
    assert rounds.waits[1].thread == pytest.approx(3e-3)  # nothing has changed
    assert rounds.waits_for == THREAD
    four = pushed(4, (1, 64), (1 << 10, 64), links=replace(links, turn=0.0))
    assert four.waits[0].thread == pytest.approx(12 * 3e-2)


def test_gpus_without_room_for_the_exchange_do_not_push(monkeypatch):
    few = [Activity(1, 64), Activity(1 << 12, 64)]
    assert {row.mode for row in played(2, traits=LABELS, activities=few).iterations} == {PUSH}
    monkeypatch.setattr(memory_plan, "LEAST_EXCHANGED", 1 << 30)
    monkeypatch.setattr(memory_plan, "MOST_EXCHANGED", 1 << 10)
    with pytest.raises(ParameterError, match=r"ConnectedComponents on 2 GPUs gathers for notified vertices"):
        played(2, traits=LABELS, activities=few)
    assert {row.mode for row in played(2, traits=LABELS, engine="garaph", activities=few).iterations} == {PULL}


def test_the_thread_only_counts_where_gpus_wait_for_it():
    """The copies between the first and the last pieces take place while GPUs compute."""
    links = Peers(1e30, copy=1e-4)
    for pieces, copies in (1, 4), (2, 6), (9, 6):
        done = played(2, links, page_edges=in_pieces(pieces, 2))
        assert [one.thread for one in done.waits] == pytest.approx([copies * 1e-4] * 3)
    slow = played(2, replace(links, copy=1e-2), page_edges=in_pieces(9, 2)).waits[0]
    assert slow.computing + slow.thread == pytest.approx(2 * 10 * 1e-2)


def test_one_thread_launches_the_pages_of_all():
    launching = replace(COSTS, work=tuple(replace(one, launch=1e-3) for one in COSTS.work), link=Link(1e15, 1e15))
    some = {"memory": N * 8 + M // 2, "page_edges": M // 64}
    assert played(1, machine=launching, **some).waits[-1].computing == pytest.approx(64e-3, rel=0.1)
    for count in 2, 4:
        work = M * PULLED / count + FIXED
        assert max(64e-3, work) <= played(count, machine=launching, **some).waits[-1].computing < 64e-3 + 2 * work


def test_pulls_that_end_early_visit_few_edges():
    ending = replace(COSTS, work=(*COSTS.work, WorkCost(GPU, "BFS", PULL_ACTIVE, UnitCost(PULLED), iteration=FIXED)))
    given = {"traits": SEARCH, "activities": in_order([Activity(N // 4, M)] * 2)}
    late = played(2, **given).waits[0]
    early = played(2, machine=ending, directed=False, **given)
    assert late.computing == pytest.approx(M / 2 * PULLED + FIXED, rel=0.01)
    assert early.iterations[0].edges < 3 * N
    assert early.waits[0].computing == pytest.approx(early.iterations[0].edges / 2 * PULLED + FIXED, rel=1e-3)
    assert played(2, machine=ending, directed=True, **given).waits[0] == late
    for engine in "garaph:keep=yes", "garaph:keep=yes,every_edge=no":  # sums in shared memory go over all edges
        garaph_pulls = played(2, machine=ending, engine=engine, directed=False, **given)
        assert garaph_pulls.waits[0].computing == pytest.approx(late.computing)


def test_the_first_pull_costs_more_if_it_ends_early_or_not():
    first, pull = 7 * FIXED, Decision(PULL, "", GPU)
    early = WorkCost(GPU, "BFS", PULL_ACTIVE, UnitCost(PULLED), iteration=FIXED, first=first)
    late = WorkCost(GPU, "BFS", PULL, UnitCost(PULLED), iteration=FIXED, first=2 * first)
    few, many = in_order([Activity(N // 4, M)] * 2)
    work = replace(large(traits=SEARCH, activities=(few, many)), directed=False)
    cpu = SimulatedCpu(work, replace(COSTS, work=(late, early, *COSTS.work)), 1, how(GPU).policy)
    gpu = SimulatedGpu(cpu, 1 << 40)
    assert gpu.ends_early
    (before,), (after,) = gpu.steps([few], pull), gpu.steps([few], pull)
    assert before.seconds - after.seconds == pytest.approx(first)
    whole = gpu.pull(gpu.pages, gpu.costs_alone()).step  # not the first one any more
    assert whole.seconds == pytest.approx(M * PULLED + FIXED, rel=0.01)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_components_exchange_their_trees_twice(count):
    machine = replace(COSTS, work=(*COSTS.work, UNION))
    links = Peers(1e9, turn=1e-3, copy=1e-2, joined=1e-7)
    (wait,) = played(count, links, machine, traits=LABELS).waits
    others = count - 1
    assert wait.received == 2 * others * 4 * N
    assert wait.link == pytest.approx(wait.received / 1e9)
    assert wait.computing == pytest.approx(N * 1e-8 + FIXED + 2 * others * N * 1e-7)
    assert wait.thread == pytest.approx(others * (8 + 8 * others) * 1e-3 + others * (2 * count + 1) * 1e-2)


def test_nothing_else_costs_as_components_do():
    with pytest.raises(ParameterError, match="does not say what ConnectedComponents costs on gpu"):
        replace(COSTS, work=(UNION,)).work_of(GPU, "ConnectedComponents", PULL)


def test_components_need_all_edges_on_the_gpus():
    machine = replace(COSTS, work=(*COSTS.work, UNION))
    streamed = played(2, machine=machine, traits=LABELS, memory=N * 8 + M)
    assert COMPONENTS not in {row.mode for row in streamed.iterations}
    with_garaph = played(2, machine=machine, traits=LABELS, engine="garaph")
    assert COMPONENTS not in {row.mode for row in with_garaph.iterations}


@pytest.mark.parametrize(("given", "said"), [
    ({"options": how("hybrid")}, "device='hybrid': [gpus] simulates GPUs that work alone"),
    ({"options": how(GPU, "emogi")}, "engine='emogi' uses one GPU"), ({"on_disks": True}, "one GPU is as fast as the"),
    ({"machine": replace(COSTS, gpu_memory=None, link=None)}, "the machine has no GPU"),
])  # fmt: skip
def test_what_is_not_simulated_is_said(given, said):
    options, machine = given.pop("options", how(GPU)), given.pop("machine", COSTS)
    with pytest.raises(ParameterError) as error:
        simulate_gpus(large(**given), machine, options, IDLE, 2)
    assert said in str(error.value)


GPUS = "[gpus]\ncount = [1, 2]\nbandwidth = 1e9\nturn = 1e-5\n"


def written(folder, device="gpu"):
    (folder / "machine.toml").write_text(MACHINE)
    path, line = folder / "spec.toml", next(line for line in SPEC.splitlines() if line.startswith("device"))
    named = SPEC.replace(line, f"device = {device!r}" if device else "")
    path.write_text(named.replace("[graphs.small]", GPUS + "[graphs.small]"))
    return path


@pytest.mark.parametrize(("before", "after", "said"), [
    ("count = [1, 2]\n", "", "gpus: count is missing"), ("[1, 2]", "[0]", "count=0"), ("= 1e9", "= 0", "bandwidth=0"),
    ("turn = 1e-5", "turn = -1", "turn=-1"), ("turn", "turns", "turns"),
    ("[gpus]", "[parts]\ncount = 2\nbandwidth = 1e9\nlatency = 0\n[gpus]", "leave [parts] or [gpus] out"),
])  # fmt: skip
def test_what_is_wrong_with_gpus_is_said(tmp_path, before, after, said):
    path = written(tmp_path)
    assert read_spec(path).gpus == Gpus((1, 2), {"bandwidth": 1e9, "turn": 1e-5})
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(ParameterError) as error:
        read_spec(path)
    assert said in str(error.value)


@pytest.mark.parametrize("device", [None, "cpu", "hybrid"])
def test_a_spec_of_several_gpus_names_no_other_device(tmp_path, device):
    path = written(tmp_path, device)
    with pytest.raises(ParameterError, match=f"device={device or 'cpu'!r}: .* write device = 'gpu'"):
        read_spec(path)
    assert read_spec(path, device="gpu").devices == ("gpu",)


def test_the_command_prints_a_line_for_each_number_of_gpus(tmp_path, monkeypatch, capsys):
    path = written(tmp_path)
    assert garaph(monkeypatch, "simulate", path) == 0
    shown = capsys.readouterr().out
    assert [line.split()[3] for line in shown.splitlines()[1:3]] == ["1", "2"]
    assert garaph(monkeypatch, "simulate", path, "--device", "gpu", "--json") == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["gpus"] for run in runs[:2]] == [1, 2]
    assert runs[1]["seconds"] == pytest.approx(sum(one["seconds"] for one in runs[1]["iterations"]))
