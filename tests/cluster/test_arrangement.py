from types import SimpleNamespace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster.arrangement import arrange, spread
from garaph_py.cluster.cuts import cut
from garaph_py.cluster.memory import LIMIT_SHARE, PROCESS, part_bytes
from garaph_py.cluster.placing import WorkerFacts
from garaph_py.errors import ClusterError
from garaph_py.program import bind
from tests.support.cases import mostly_full
from tests.support.local_cluster import CASES, conducted, rmat
from tests.support.part_workers import Workers

MIB = 1 << 20


def limit_of(needed):
    """The memory limit of a worker that has just room for so many bytes of parts."""
    return int((needed + PROCESS) / LIMIT_SHARE) + 2


class Unequal(Workers):
    """Workers whose threads and memory limits are given."""

    def __init__(self, facts):
        super().__init__(len(facts))
        self.facts = facts

    async def workers(self):
        return dict(zip(self.hostings, self.facts, strict=True))


@pytest.mark.parametrize("name", mostly_full(CASES, "PageRank", "Mixed"))
def test_threads_decide_how_many_edges_a_worker_gets(name):
    """The answer is one machine's, whatever they are."""
    program, how, iterations = CASES[name]
    graph = rmat(**how)
    values, _, conductor = conducted(
        program, graph, Unequal([WorkerFacts(0, 1), WorkerFacts(0, 4)]), iterations=iterations
    )
    alone = gp.run(program, graph, iterations=iterations, options=gp.Options(sync=True))
    np.testing.assert_array_equal(values, alone.values)
    assert conductor.addresses == ["worker 0", "worker 1"]


def test_a_worker_with_four_threads_gets_four_times_the_edges():
    graph = gp.rmat(14, seed=1)
    workers = {"a": WorkerFacts(0, 1), "b": WorkerFacts(0, 4)}
    found = arrange(graph, bind(gp.apps.PageRank(), graph), workers, {"a": 1, "b": 4})
    assert 3.8 < found.costs[1] / found.costs[0] < 4.2


def test_a_graph_that_fits_in_sum_but_not_in_equal_shares_runs():
    graph = gp.rmat(14, 16, seed=1)
    program = gp.apps.PageRank()
    equal = part_bytes(graph, cut(graph, 2), bind(program, graph))
    limits = [limit_of(0.6 * equal[0]), limit_of(1.6 * equal[1])]
    values, _, _ = conducted(program, graph, Unequal([WorkerFacts(limit, 1) for limit in limits]), iterations=3)
    np.testing.assert_array_equal(values, gp.run(program, graph, iterations=3, options=gp.Options(sync=True)).values)


def parts(*needs):
    """Parts that need so many MiB each, and have as many edges."""

    def refuse(at, limits):
        raise ClusterError("too little memory")

    return SimpleNamespace(edges=needs, needs=lambda: [need * MIB for need in needs], check_memory=refuse)


def test_neighbours_are_at_one_worker():
    workers = {name: WorkerFacts(0, 1) for name in "abc"}
    assert spread(parts(*[1] * 5), workers, [1, 1, 1]) == [*"aabcc"]
    assert spread(parts(*[1] * 7), workers, [1, 4, 2]) == [*"abbbbcc"]
    assert spread(parts(1, 1, 4), workers, [1, 1, 1]) == [*"aac"]


def test_there_may_be_fewer_parts_than_workers():
    workers = {name: WorkerFacts(0, 1) for name in "abcd"}
    placed = spread(parts(1, 1), workers, [1] * 4)
    assert len(set(placed)) == 2


def test_parts_that_do_not_fit_go_to_others():
    workers = {name: WorkerFacts(limit_of(room * MIB), 1) for name, room in (("a", 2), ("b", 9), ("c", 3))}
    assert sorted(spread(parts(*[1] * 9), workers, [1, 1, 1])) == [*"aabbbbccc"]
    with pytest.raises(ClusterError, match="too little memory"):
        spread(parts(*[1] * 15), workers, [1, 1, 1])
