import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster import fitting, memory
from garaph_py.cluster.cuts import cut, part_costs
from garaph_py.cluster.fitting import cut_to_fit, filled, workers_for
from garaph_py.cluster.memory import LIMIT_SHARE, PROCESS, most_mirrors, part_bytes
from garaph_py.errors import ClusterError
from garaph_py.program import bind
from tests.support.stored_graphs import opened


def limit_of(needed):
    """The memory limit of a worker that has just room for so many bytes of parts."""
    return int((needed + PROCESS) / LIMIT_SHARE) + 2


def test_shares_decide_where_memory_is_enough(graph, bound):
    needed = part_bytes(graph, cut(graph, 1), bound)[0]
    for limits in [0, 0, 0], [limit_of(needed)] * 3:
        found = cut_to_fit(graph, bound, [1, 4, 2], limits)
        np.testing.assert_array_equal(found.vertices, cut(graph, 3, [1, 4, 2]).vertices)


@pytest.mark.parametrize("shares", [[1, 1, 1], [1, 4, 1], [4, 1, 1]])
def test_a_graph_that_fits_in_sum_but_not_in_equal_shares(graph, bound, shares):
    equal = part_bytes(graph, cut(graph, 3), bound)
    limits = [limit_of(0.5 * equal[0]), limit_of(1.7 * equal[1]), limit_of(1.3 * equal[2])]
    assert (equal > memory.rooms(limits)).any()
    found = cut_to_fit(graph, bound, shares, limits)
    assert (part_bytes(graph, found, bound) <= memory.rooms(limits)).all()
    assert set(found.vertices) <= set(found.pieces[:, 1])


def test_a_worker_without_a_limit_takes_what_the_others_cannot(graph, bound):
    needed = part_bytes(graph, cut(graph, 8), bound).max()
    limits = [limit_of(needed), 0, limit_of(needed)]
    found = cut_to_fit(graph, bound, [1, 1, 1], limits)
    assert (part_bytes(graph, found, bound) <= memory.rooms(limits)).all()
    assert part_costs(graph, found)[1] > graph.m / 2


def test_too_little_memory_says_how_many_workers_would_do(graph, bound):
    limit = limit_of(part_bytes(graph, cut(graph, 8), bound).max())
    with pytest.raises(ClusterError, match=r"a part takes .*; (\d+) workers like these would do") as caught:
        cut_to_fit(graph, bound, [1, 1], [limit, limit])
    number = int(str(caught.value).split("; ")[1].split()[0])
    cut_to_fit(graph, bound, [1] * number, [limit] * number)
    with pytest.raises(ClusterError, match=rf"; {number} workers like the largest of these would do"):
        cut_to_fit(graph, bound, [1, 1], [limit - (16 << 10), limit])


@pytest.mark.full
def test_no_number_of_workers_would_do(graph, bound):
    with pytest.raises(ClusterError, match="no number of workers like these would do"):
        cut_to_fit(graph, bound, [1, 1], [PROCESS // 2] * 2)


def test_edges_of_a_graph_on_disk_may_stay_there(graph, tmp_path, monkeypatch):
    """What must fit is the vertices; the client reads no edges to see that."""
    gp.save(graph, tmp_path / "g")
    stored = opened(tmp_path / "g", 1 << 18)
    bound = bind(gp.apps.PageRank(), stored)
    cuts = cut(stored, 2)
    monkeypatch.setattr(memory, "SORTING", 0)
    monkeypatch.setattr(memory, "READING", 0)
    for module in memory, fitting:
        monkeypatch.setattr(module, "PROCESS", 0)
    needed = int(part_bytes(stored, cuts, bound, most_mirrors(stored, cuts)).max())
    assert needed < part_bytes(graph, cuts, bound).max() * 0.9
    with monkeypatch.context() as no_edges:
        no_edges.setattr(memory, "mirror_counts", None)
        cut_to_fit(stored, bound, [1, 1], [int(needed / LIMIT_SHARE) + 2] * 2)
    with pytest.raises(ClusterError, match=r"a part takes .* in a worker, even with its edges on disk, which may use"):
        cut_to_fit(stored, bound, [1, 1], [needed // 2] * 2)


def test_edges_of_a_graph_on_disk_are_in_memory_if_all_fit_in_sum(graph, tmp_path, monkeypatch):
    gp.save(graph, tmp_path / "g")
    stored = opened(tmp_path / "g", 1 << 18)
    bound = bind(gp.apps.PageRank(), stored)

    def in_memory(cuts):
        need = memory.part_needs(stored, cuts, bound, most_mirrors(stored, cuts))
        return np.maximum(need.raw, need.loading)

    equal = in_memory(cut(stored, 2))
    limits = [limit_of(0.85 * equal[0]), limit_of(1.5 * equal[1])]
    found = cut_to_fit(stored, bound, [1, 1], limits)
    assert (in_memory(found) <= memory.rooms(limits)).all()


def test_workers_that_get_a_part(graph, bound):
    small = gp.rmat(10, 16, seed=3)  # it has five pieces of work
    assert workers_for(small, bind(gp.apps.PageRank(), small), [1, 4, 1, 2, 2, 1, 2], [0] * 7) == [0, 1, 3, 4, 6]
    weighed = bind(gp.apps.PageRank(), graph)
    assert workers_for(graph, weighed, [1, 1, 1], [0, 1 << 40, 0]) == [0, 1, 2]
    assert workers_for(graph, weighed, [1, 1], [PROCESS // 2] * 2) == [0, 1]


def test_nobody_is_given_more_than_its_most():
    assert filled(np.array([1.0, 1.0, 2.0]), np.array([np.inf] * 3), 8.0).tolist() == [2.0, 2.0, 4.0]
    assert filled(np.array([1.0, 1.0, 2.0]), np.array([np.inf, 3.0, 1.0]), 8.0).tolist() == [4.0, 3.0, 1.0]
    assert filled(np.array([1.0, 1.0, 2.0]), np.array([np.inf, 2.0, 1.0]), 8.0).tolist() == [5.0, 2.0, 1.0]
    assert filled(np.array([1.0, 1.0]), np.array([3.0, 1.0]), 8.0).tolist() == [3.0, 1.0]
