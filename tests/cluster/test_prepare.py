"""Programs over parts, with the client, the state machine and the messages of a cluster, on workers of this process."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster import client as client_module
from garaph_py.cluster.cuts import cut
from garaph_py.cluster.mirrors import mirror_counts
from garaph_py.cluster.prepare import places
from garaph_py.graph.part import part_of
from tests.support.cases import mostly_full
from tests.support.local_cluster import conducted
from tests.support.part_workers import Workers
from tests.support.programs import Sees


@pytest.fixture(scope="module")
def graph():
    return gp.rmat(10, 8, seed=5)


def run(program, graph, workers, **options):
    """The reported values, and the iterations."""
    return conducted(program, graph, workers, **options)[:2]


def test_parts_give_one_machine_s_answer(graph):
    program = gp.apps.BFS(source=5)
    values, iterations = run(program, graph, Workers(3))
    alone = gp.run(program, graph, options=gp.Options(sync=True))
    np.testing.assert_array_equal(values, alone.values)
    assert [one.active for one in iterations] == [one.active for one in alone.stats.iterations]


def test_the_limit_on_iterations_holds(graph):
    values, iterations = run(gp.apps.BFS(source=5), graph, Workers(2), iterations=2)
    np.testing.assert_array_equal(values, gp.run(gp.apps.BFS(source=5), graph, iterations=2).values)
    assert len(iterations) == 2


def test_bytes_sent_are_at_most_a_tenth_more_than_those_of_the_mirrors():
    graph = gp.rmat(13, seed=1)
    _, iterations = run(gp.apps.PageRank(stop="never"), graph, Workers(3), iterations=3)
    nbytes = mirror_counts(graph, cut(graph, 3)).sum() * 8  # all of them change
    for one in iterations:
        assert nbytes <= one.sent <= 1.1 * nbytes


@pytest.mark.full
@pytest.mark.parametrize("seed", range(6))
def test_killed_workers_change_no_bit(graph, seed, free_copies, monkeypatch):
    monkeypatch.setattr(client_module, "ALIVE_SECONDS", 0.02)
    chance, left = np.random.default_rng(seed), [2]

    async def after(address, what):
        if left[0] and what in ("letter", "keep", "connect", "news") and chance.random() < 0.05:
            left[0] -= 1
            workers.kill(str(chance.choice(sorted(workers.hostings))))
            workers.add()

    workers = Workers(3, after=after)
    values, _ = run(gp.apps.PageRank(), graph, workers)
    np.testing.assert_array_equal(values, gp.run(gp.apps.PageRank(), graph, options=gp.Options(sync=True)).values)


@pytest.mark.parametrize("dies", mostly_full([False, True], "True"))
def test_a_worker_gets_parameters_of_its_part_alone(graph, dies, monkeypatch):
    monkeypatch.setattr(client_module, "ALIVE_SECONDS", 0.02)
    program, sizes = Sees(root=0, salt=np.arange(graph.n) % 7), []

    async def after(address, what):
        if what == "news" and workers.hostings.get(address) is not None:
            sizes.extend(len(host._run._program.salt) for host in workers.hostings[address]._hosts.values())
        if dies and what == "news" and len(workers.hostings) == 3:
            workers.kill("worker 1")
            workers.add()

    workers = Workers(3, after=after)
    values, _ = run(program, graph, workers, iterations=30)
    np.testing.assert_array_equal(values, gp.run(program, graph, iterations=30).values)
    parts = [len(part_of(graph, cut(graph, 3), part).place.numbers) for part in range(3)]
    assert set(sizes) <= set(parts)
    assert max(parts) < graph.n
    assert workers.asked.count("column") == (4 if dies else 3)


def test_mirrors_are_those_of_the_part(graph):
    cuts = cut(graph, 3)
    part = part_of(graph, cuts, 1)
    numbers, found = places(part.arrays())
    np.testing.assert_array_equal(numbers, part.place.numbers)
    assert sorted(found) == [0, 2]
    for owner in (0, 2):
        np.testing.assert_array_equal(found[owner], part.wanted(owner))


def test_a_small_graph_has_one_machine_s_bits():
    """It has one piece of work, which is not divided."""
    small = gp.rmat(8, 8, seed=2)
    values, _ = run(gp.apps.PageRank(), small, Workers(3), iterations=8, mode="pull")
    alone = gp.run(gp.apps.PageRank(), small, iterations=8, options=gp.Options(deterministic=True, mode="pull"))
    assert values.tobytes() == np.asarray(alone.values).tobytes()
