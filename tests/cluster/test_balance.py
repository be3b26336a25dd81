"""Parts move when that pays. The workers are objects of this process, some of which sleep in each superstep."""

import asyncio
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.checkpoint.policy import parse_every
from garaph_py.checkpoint.saver import Saver
from garaph_py.cluster import balance as balance_module
from garaph_py.cluster import client as client_module
from garaph_py.cluster import worker as worker_module
from garaph_py.cluster.balance import RECENT, Balance, costs_of
from garaph_py.cluster.checkpoints import Checkpoints
from garaph_py.cluster.heard import Heard
from garaph_py.cluster.part_run import Counts
from garaph_py.cluster.partition import partition
from garaph_py.cluster.placing import Arrangement, WorkerFacts
from garaph_py.cluster.reading import PartReader
from garaph_py.cluster.run import conduct
from garaph_py.cluster.snapshots import Snapshots
from garaph_py.cluster.source import sent
from garaph_py.cluster.superstep import NEVER, Report
from garaph_py.errors import ClusterError
from garaph_py.output.record import Record
from garaph_py.program import bind
from garaph_py.program.part import by_numbers
from tests.support.cases import mostly_full
from tests.support.local_cluster import Mixed, conducted, rmat
from tests.support.part_workers import SlowWorkers

TWO = {"a": WorkerFacts(0, 1), "b": WorkerFacts(0, 1)}
TOTAL = 1200


def arrange(workers, shares):
    """A part for each worker, of exactly its share."""
    whole = sum(shares[one] for one in workers)
    costs = [TOTAL * shares[one] / whole for one in workers]
    return Arrangement(None, list(workers), costs, costs, {})


def balanced(limit=None, load=1.0, workers=TWO, arrange=arrange):
    """A balance for workers with equal parts, which were loaded in so many seconds; and the moves that it tells of."""
    moves = []
    found = arrange(workers, dict.fromkeys(workers, 1))
    made = Balance(arrange, SimpleNamespace(), found, 1000, limit, moves.append)
    made.loaded(load)
    return made, moves


def hear(balance, times, supersteps, behind=0, addresses="ab", visited=1.0):
    """Supersteps in which the workers compute for so long, and visit that share of edges.

    The newest copies are so many supersteps behind.
    """
    for superstep in supersteps:
        reports = [
            Report(Counts(0, 0, edges=visited * edges), max(times), 0.0, max(NEVER, superstep - behind), 0, False, each)
            for each, edges in zip(times, balance._arrangement.edges, strict=True)
        ]
        balance.hear(superstep, reports, list(addresses))


def test_a_slow_worker_gets_less_when_that_pays():
    """Of 1.5 s in each superstep, 0.75 are saved, and a move takes 2 s."""
    balance, moves = balanced(load=2.0)
    hear(balance, [0.5, 1.5], range(1, RECENT))
    assert not balance.is_due
    hear(balance, [0.5, 1.5], [RECENT])
    assert balance.is_due
    found = balance.better(TWO)
    assert found.costs == [900.0, 300.0]
    balance.moved(found, 4, 2.5)
    (move,) = moves
    assert (move.superstep, move.seconds, move.slowest, move.before, move.expected) == (4, 2.5, "b", 1.5, 0.75)


@pytest.mark.parametrize(
    ("times", "done", "limit", "load", "behind"),
    [
        ([1.0, 1.0], 20, None, 0.1, 0),  # equal
        ([1.0, 1.1], 2000, None, 0.1, 0),  # as good as equal
        ([0.5, 1.5], 5, None, 4.0, 0),  # 3.75 s saved if as many supersteps follow
        ([0.5, 1.5], 20, 24, 3.5, 0),  # 3 s saved
        ([0.5, 1.5], 20, 25, 1.0, 2),  # 3.75 s saved, 1 s to load, and 3 s to do two supersteps again
        ([0.5, 1.5], 20, None, 1.0, 100),  # all would have to be done again
    ],
)
def test_a_move_that_does_not_pay_is_not_made(times, done, limit, load, behind):
    balance, _ = balanced(limit, load)
    hear(balance, times, range(1, done + 1), behind)
    assert balance.better(TWO) is None
    assert not balance.is_due  # it looks again after some supersteps


def test_one_slow_superstep_moves_nothing():
    balance, _ = balanced(load=0.01)
    hear(balance, [1.0, 1.0], range(1, 98))
    hear(balance, [1.0, 9.0], range(98, 100))
    hear(balance, [1.0, 1.0], [100])
    assert balance.better(TWO) is None


def test_workers_that_are_slow_in_turns_have_parts_moved_seldom():
    """Each move has to promise twice as much as the one before; none of these saves more than 2 s in a superstep."""
    balance, moves = balanced(load=1.0)
    times, slow = dict.fromkeys("ab", 1.0), 0
    for superstep in range(1, 1001):
        if superstep % 25 == 1:
            slow = 1 - slow
        costs = balance._arrangement.costs
        times = [cost / TOTAL * (3.0 if worker == slow else 1.0) for worker, cost in enumerate(costs)]
        hear(balance, times, [superstep])
        if balance.is_due and (found := balance.better(TWO)) is not None:
            balance.moved(found, superstep, 1.0)
    assert 2 <= len(moves) <= np.log2(2 * 1000)


def test_equal_speeds_after_a_move_move_nothing():
    balance, moves = balanced(load=1.0)
    noise = np.random.default_rng(1)
    for superstep in range(1, 2001):
        times = [
            cost * pace * noise.normal(1.0, 0.05)
            for cost, pace in zip(balance._arrangement.costs, (1e-3, 3e-3), strict=True)
        ]
        hear(balance, times, [superstep])
        if balance.is_due and (found := balance.better(TWO)) is not None:
            balance.moved(found, superstep, 1.0)
    assert len(moves) == 1


def test_supersteps_that_visit_few_edges_tell_nothing():
    balance, _ = balanced(load=0.01)
    hear(balance, [0.5, 1.5], range(1, 101), visited=0.4)
    assert not balance.is_due
    hear(balance, [0.5, 1.5], range(101, 106), visited=0.6)
    assert balance.better(TWO) is not None


def test_a_worker_without_a_part_is_as_slow_as_it_was():
    balance, moves = balanced(load=0.1)
    hear(balance, [0.001, 1.5], range(1, 21))
    found = balance.better(TWO)
    assert found.costs[1] < 2
    balance.moved(Arrangement(None, ["a"], [TOTAL], [TOTAL], {}), 20, 0.1)
    hear(balance, [0.002], range(21, 4000), addresses="a")
    assert balance.better(TWO) is None
    assert len(moves) == 1


def test_new_workers_count_by_their_threads():
    workers = TWO | {"c": WorkerFacts(0, 4)}
    balance, _ = balanced(load=0.1)
    hear(balance, [1.0, 1.0], range(1, 21))
    assert balance.better(workers).costs == [200.0, 200.0, 800.0]


def test_after_a_death_the_parts_are_divided_again():
    balance, _ = balanced(load=0.1, workers=TWO | {"c": WorkerFacts(0, 1)})
    hear(balance, [1.0, 1.0, 1.0], range(1, 4), addresses="abc")
    hear(balance, [1.0, 1.0, 1.0], range(4, 12), addresses="aba")
    assert balance.better(TWO).costs == [600.0, 600.0]


def test_a_move_that_newer_copies_would_make_pay():
    """One worker alone makes no copies; a second one halves the time."""
    balance, _ = balanced(load=0.1, workers={"a": WorkerFacts(0, 1)})
    hear(balance, [1.0], range(1, 21), behind=100, addresses="a")
    assert balance.better(TWO) is None
    assert balance.wants_copies
    balance.kept(20)
    assert not balance.wants_copies
    hear(balance, [1.0], range(21, 26), behind=100, addresses="a")
    assert balance.better(TWO).costs == [600.0, 600.0]


def test_too_little_memory_for_another_arrangement():
    def refuse(workers, shares):
        if shares["a"] != shares["b"]:
            raise ClusterError("too little memory")
        return arrange(workers, shares)

    balance, _ = balanced(load=0.1, arrange=refuse)
    hear(balance, [0.5, 1.5], range(1, 21))
    assert balance.better(TWO) is None


@pytest.fixture
def quick(monkeypatch, free_copies):
    """The client hears of every superstep soon; there are many copies, and a move is thought to cost nothing."""
    monkeypatch.setattr(client_module, "ALIVE_SECONDS", 0.01)
    monkeypatch.setattr(worker_module, "NEWS_SECONDS", 0.005)
    monkeypatch.setattr(balance_module, "DEARER", 4.0)
    monkeypatch.setattr(Balance, "loaded", lambda balance, seconds: None)


@pytest.fixture
def slow_workers(quick, monkeypatch):
    """A function that makes `SlowWorkers`. The client hears the times that they pretend to take, whatever they take
    on a busy machine."""
    hear = Balance.hear

    def make(count, paces, after=None):
        def heard(balance, superstep, reports, addresses):
            edges = balance._arrangement.edges
            worked = [paces.get(address, USUAL) * each for address, each in zip(addresses, edges, strict=True)]
            seconds = max(costs_of(addresses, worked).values())
            told = [report._replace(worked=each, seconds=seconds) for report, each in zip(reports, worked, strict=True)]
            hear(balance, superstep, told, addresses)

        monkeypatch.setattr(Balance, "hear", heard)
        return SlowWorkers(count, paces, after)

    return make


USUAL = 1e-7
"""Seconds that a worker takes over an edge if it is not slow."""
PROGRAMS = {
    "PageRank": (gp.apps.PageRank(stop="never"), {}, 40),
    "Mixed": (Mixed(root=5), {"weights": "int32"}, 40),
}


@pytest.mark.parametrize("name", mostly_full(PROGRAMS, "PageRank"))
def test_a_move_changes_no_bit(name, slow_workers):
    program, how, iterations = PROGRAMS[name]
    graph = rmat(**how)
    workers = slow_workers(2, {"worker 1": 1e-6})
    values, records, conductor = conducted(program, graph, workers, iterations=iterations)
    np.testing.assert_array_equal(values, gp.run(program, graph, iterations=iterations).values)
    assert [record.number for record in records] == list(range(iterations))
    assert workers.asked.count("take") >= 2
    (first, second) = conductor._parts._cuts.vertices[1:].tolist()
    edges = graph._arrays.in_edges.offsets if program.gathers == "in" else graph._arrays.out_edges.offsets
    assert edges[first] > 0.6 * edges[second]


@pytest.mark.full
@pytest.mark.parametrize("dies", [False, True])
def test_a_run_on_one_worker_spreads_to_one_that_joins(slow_workers, dies):
    """A run whose only worker dies goes on from the state that the client has."""

    async def after(address, what):
        await asyncio.sleep(0)
        if what == "news" and workers.asked.count("news") == 1:
            workers.add()
        if dies and "take" in workers.asked and what == "news":
            workers.kill("worker 0")

    workers = slow_workers(1, {"worker 0": 2e-7}, after)
    program, graph = Mixed(root=5), rmat("int32")
    values, records, conductor = conducted(program, graph, workers, iterations=60)
    np.testing.assert_array_equal(values, gp.run(program, graph, iterations=60).values)
    assert [record.number for record in records] == list(range(60))
    assert set(conductor.addresses) == ({"worker 1"} if dies else {"worker 0", "worker 1"})


@pytest.mark.slow
def test_a_worker_dies_that_was_asked_for_copies(slow_workers):
    """The client asks again when the worker that goes on is not alone any more."""

    async def after(address, what):
        await asyncio.sleep(0)
        if what == "news" and workers.asked.count("news") == 1:
            workers.add()
        if what == "ask" and "worker 0" in workers.hostings:
            workers.kill("worker 0")
            workers.add()

    workers = slow_workers(1, {"worker 0": 2e-7, "worker 1": 2e-7}, after)
    program, graph = Mixed(root=5), rmat("int32")
    values, _, conductor = conducted(program, graph, workers, iterations=80)
    np.testing.assert_array_equal(values, gp.run(program, graph, iterations=80).values)
    assert set(conductor.addresses) == {"worker 1", "worker 2"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "when",
    mostly_full(["halt", "take", "close", "prepare", "array", "numbers", "keep", "load", "go"], "halt", "keep", "go"),
)
def test_a_worker_dies_while_parts_move(when, slow_workers):
    async def after(address, what):
        await asyncio.sleep(0)
        moves = workers.asked.count("take") > 0 or what in ("halt", "take")
        if moves and what == when and len(workers.hostings) == 3:
            workers.kill("worker 1")

    workers = slow_workers(3, {"worker 2": 2e-6}, after)
    program, graph = gp.apps.PageRank(stop="never"), rmat()
    values, records, conductor = conducted(program, graph, workers, iterations=40)
    np.testing.assert_array_equal(values, gp.run(program, graph, iterations=40).values)
    assert [record.number for record in records] == list(range(40))
    assert "worker 1" not in conductor.addresses


@pytest.mark.full
def test_parts_of_a_partition_move_whole(slow_workers, tmp_path, monkeypatch):
    graph, program = rmat(), gp.apps.PageRank(stop="never")
    gp.save(graph, tmp_path / "g")
    partition(tmp_path / "g", tmp_path / "parts", 6)
    workers, read, opens = slow_workers(2, {"worker 1": 1e-6}), [], PartReader._open

    def noting(reader, where, *how):
        read.append((where.part, reader.address))
        return opens(reader, where, *how)

    monkeypatch.setattr(PartReader, "_open", noting)
    values, _, conductor = conducted(program, gp.open(tmp_path / "parts"), workers, iterations=40)
    np.testing.assert_array_equal(values, gp.run(program, graph, iterations=40).values)
    assert conductor.addresses.count("worker 0") > 3
    for part in range(6):  # where a part stays, it is not read again
        readers = [address for number, address in read if number == part]
        assert all(one != other for one, other in pairwise(readers))


@pytest.mark.slow
def test_a_worker_that_loses_all_parts_forgets_them(slow_workers, tmp_path):
    graph, program = rmat(), gp.apps.PageRank(stop="never")
    gp.save(graph, tmp_path / "g")
    partition(tmp_path / "g", tmp_path / "parts", 3)
    workers, loaded = slow_workers(2, {"worker 1": 1e-4}), []

    async def after(address, what):
        await asyncio.sleep(0)
        if what == "load":
            loaded.append({one: set(hosting._arrays) for one, hosting in workers.hostings.items()})

    workers._after = after
    conducted(program, gp.open(tmp_path / "parts"), workers, iterations=40)
    assert loaded[0]["worker 1"]
    assert loaded[-1] == {"worker 0": {0, 1, 2}, "worker 1": set()}


def test_a_run_with_checkpoints_moves_too(slow_workers, tmp_path):
    """The last checkpoint is of the end; the newest one may be newer than the copies with which the parts move."""
    graph, program = rmat(), gp.apps.PageRank(stop="never")
    bound, workers = bind(program, graph), slow_workers(2, {"worker 1": 1e-6})
    prepared = {"program": tuple(sent(by_numbers(program, graph))), "options": {"iterations": 40}}
    heard = Heard(lambda iteration: None, Record(None, None))
    with Saver(tmp_path, parse_every(3), False, lambda event: None) as saver:
        checkpoints = Checkpoints.open(saver, bound, graph, 40)
        values, _, _ = asyncio.run(conduct(workers, bound, graph, prepared, heard, checkpoints, 40))
        assert saver.saved == 40
    assert heard.moves
    np.testing.assert_array_equal(values, gp.run(program, graph, iterations=40).values)


def test_copies_that_a_checkpoint_takes_are_not_taken_again(quick, monkeypatch):
    """While it is written, workers make newer copies, and forget those. Parts can move with the checkpoint."""
    graph, program = rmat(), gp.apps.PageRank(stop="never")
    bound, workers, taken = bind(program, graph), SlowWorkers(2, dict.fromkeys(("worker 0", "worker 1"), 2e-7)), []
    monkeypatch.setattr(Balance, "is_due", property(lambda balance: False))
    monkeypatch.setattr(Balance, "wants_copies", property(lambda balance: not taken, lambda *_: None), raising=False)
    monkeypatch.setattr(Balance, "kept", lambda balance, superstep: taken.append(superstep))

    class SlowCheckpoints:
        saved, snapshots = 0, Snapshots(bound, graph.n)

        async def load(self, after):
            return None

        def is_due(self, superstep):
            return True

        async def save(self, taken):
            await asyncio.sleep(1.0 if taken.superstep < 100 else 0.0)

        def end(self, superstep):
            pass

    prepared = {"program": tuple(sent(by_numbers(program, graph))), "options": {"iterations": 100}}
    heard = Heard(lambda iteration: None, Record(None, None))
    values, _, _ = asyncio.run(conduct(workers, bound, graph, prepared, heard, SlowCheckpoints(), 100))
    np.testing.assert_array_equal(values, gp.run(program, graph, iterations=100).values)
    assert taken
