"""Which partitions stay in the GPU's memory: those that are needed most, and only where their copies pay."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError
from garaph_py.executor.gpu.kept_partitions import NOBODY, KeptPartitions
from garaph_py.executor.modes import COPIED, RESIDENT
from garaph_py.executor.partitions import PartitionCounts, Partitions
from tests.support.numpy_deltas import Peeled, Weighed
from tests.support.numpy_gpu import Lengths, Quiet, held_after

from ...support import twins
from ...support.runs import run_with, ways_of

EDGES = 100
"""Edges of each partition; an edge has 4 bytes."""
SMALL = "hytgraph:partition_bytes=2048"


def kept(places, in_degrees=(5, 9, 1, 3)):
    """Places for partitions of 32 vertices and `EDGES` edges; the vertices of each have in-degrees of its own."""
    count = len(in_degrees)
    partitions = Partitions(32 * np.arange(count + 1), EDGES * np.arange(count + 1))
    in_offsets = np.append(0, np.cumsum(np.repeat(in_degrees, 32)))
    made = KeptPartitions(partitions, 4, 4 * EDGES, in_offsets)
    assert made.fit(places * 4 * EDGES + 399) == places * 4 * EDGES
    made.begin(made.made(), False)
    return made


def need(made, *active_edges):
    edges = np.array(active_edges)
    made.count_uses(PartitionCounts(np.full(len(edges), EDGES), edges, edges, edges))


def admitted(made, active, copied=()):
    return made.admit(np.isin(np.arange(made.partitions.count), list(active)), set(copied))


def test_hubs_come_first_before_anything_is_measured():
    made = kept(2)
    assert admitted(made, range(4), range(4)) == [0, 1]
    assert set(made.places) == {0, 1}


def test_those_that_are_needed_most_stay():
    made = kept(2)
    need(made, 10, 20, 90, 80)
    assert admitted(made, range(4), range(4)) == [2, 3]
    need(made, 200, 0, 0, 0)
    assert admitted(made, range(4), range(4)) == [0]
    assert set(made.places) == {0, 2}  # 3 was needed less than 2


def test_what_is_not_copied_anyway_comes_once_it_has_been_needed_for_as_many_bytes():
    made = kept(1)
    need(made, EDGES - 1, 0, 0, 0)
    assert admitted(made, [0]) == []
    need(made, 1, 0, 0, 0)
    assert admitted(made, [0]) == [0]


@pytest.mark.parametrize(("more", "comes"), [(EDGES, False), (EDGES + 1, True)])
def test_another_takes_its_place_if_that_saves_more_than_the_copy(more, comes):
    made = kept(1)
    need(made, EDGES, 0, 0, 0)
    admitted(made, [0])
    need(made, 50, EDGES + 50 + more, 0, 0)
    assert admitted(made, [0, 1]) == [1] * comes
    assert set(made.places) == {int(comes)}


def test_partitions_that_are_needed_equally_often_do_not_take_turns():
    made = kept(2)
    for _ in range(5):
        first = admitted(made, range(4), range(4))
        need(made, 50, 50, 50, 50)
        assert first == [0, 1] or set(made.places) == {0, 1}
    assert admitted(made, range(4), range(4)) == []


def test_what_is_not_active_does_not_come():
    made = kept(3)
    need(made, 900, 900, 900, 900)
    assert admitted(made, [2]) == [2]


def test_without_room_nothing_stays():
    made = kept(0)
    need(made, 900, 900, 900, 900)
    assert admitted(made, range(4), range(4)) == []


def test_memory_that_holds_something_else_is_forgotten_and_uses_are_not():
    made = kept(2)
    need(made, 900, 0, 0, 800)
    admitted(made, range(4))
    made.begin(made.uses, True)
    assert set(made.places) == {0, 3}
    made.begin(made.uses, False)
    assert made.uses.holders.tolist() == [NOBODY, NOBODY]
    assert admitted(made, range(4)) == [0, 3]


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request):
    edges = twins.skewed(4, 3000, 12000)
    lengths = np.random.default_rng(7).integers(1, 20, len(edges.sources)).astype(np.int32)
    return gp.from_edges(edges.sources, edges.targets, lengths, vertices=range(edges.n), directed=request.param)


@pytest.mark.full
@pytest.mark.parametrize("transfers", ["hybrid", "copied", "compacted", "zero-copy"])
@pytest.mark.parametrize("program", [Quiet(0), Lengths(0), Weighed(9), Peeled(4)], ids=lambda it: type(it).__name__)
def test_the_answer_is_the_cpus_however_much_stays(device_with_lists, graph, program, transfers):
    driver, wanted = device_with_lists(program, graph), run_with(program, graph, device="cpu", sync=True).values
    engine = f"{SMALL},keep=yes,transfers={transfers}"
    for budget in None, "194KiB", "214KiB", None:  # the places are other ones each time
        for sync in (True, None) if isinstance(program, Peeled) else (True, False):
            found = run_with(program, graph, engine=engine, sync=sync, gpu_memory=budget)
            assert found.stats.device == "NumPy"
            np.testing.assert_array_equal(found.values, wanted)
    assert held_after(driver, graph) == 0


def moved(found):
    return sum(row.to_device for row in found.stats.iterations)


def test_what_fits_is_copied_once_and_later_runs_find_it(device_with_lists, graph):
    device_with_lists(Quiet(0), graph)
    none, first, second = (
        run_with(Quiet(0), graph, engine=f"{SMALL},transfers=copied,keep={keep}", sync=True)
        for keep in ("no", "yes", "yes")
    )
    assert ways_of(none.stats.iterations) == {COPIED}
    assert ways_of(first.stats.iterations) == {COPIED, RESIDENT}
    assert moved(first) < 4 * graph.m + 1 < moved(none)
    assert ways_of(second.stats.iterations) == {RESIDENT}
    assert moved(second) == 0


@pytest.mark.full
def test_with_less_room_some_partitions_are_copied_again(device_with_lists, graph):
    device_with_lists(Quiet(0), graph)
    engine, how = f"{SMALL},transfers=copied,combine=no", {"sync": True, "gpu_memory": "170KiB"}
    for _ in range(2):
        found = run_with(Quiet(0), graph, engine=f"{engine},keep=yes", **how)
    assert ways_of(found.stats.iterations) == {COPIED, RESIDENT}
    assert 0 < moved(found) < moved(run_with(Quiet(0), graph, engine=engine, **how))


@pytest.mark.full
def test_a_run_of_another_engine_takes_the_memory(device_with_lists, graph):
    driver, wanted = device_with_lists(Quiet(0), graph), run_with(Quiet(0), graph, device="cpu").values
    for engine in f"{SMALL},keep=yes", "emogi", f"{SMALL},keep=yes", "auto", f"{SMALL},keep=yes":
        found = run_with(Quiet(0), graph, engine=engine, device="gpu", gpu_memory="500KiB")
        np.testing.assert_array_equal(found.values, wanted)
    assert held_after(driver, graph) == 0


def test_what_the_driver_moves_cannot_be_kept():
    with pytest.raises(ParameterError, match="no effect with transfers='unified'"):
        gp.HyTGraph("unified", keep=True)
