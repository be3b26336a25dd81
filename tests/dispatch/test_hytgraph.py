"""HyTGraph's costs, selection and task combining, against the paper's formulas taken vertex by vertex."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.dispatch.hytgraph import (
    by_change,
    choose_transfers,
    combine_tasks,
    compaction_costs,
    copy_costs,
    count_partitions,
    cut_last,
    zero_copy_costs,
)
from garaph_py.executor.modes import COMPACTED, COPIED, ZERO_COPY
from garaph_py.executor.partitions import PartitionCounts, TransferTask

M, MR = 128, 256


def counted(edges, active_vertices, active_edges, requests):
    return PartitionCounts(*(np.array([one]) for one in (edges, active_vertices, active_edges, requests)))


def chosen_for(*counts):
    return choose_transfers(counted(*counts))[0]


def test_costs_are_the_papers():
    counts = counted(1_000_000, 1000, 250_000, 10_000)
    assert copy_costs(counts) == math.ceil(1_000_000 * 4 / M / MR) == 123
    assert compaction_costs(counts) == math.ceil((250_000 * 4 + 1000 * 8) / M / MR) == 31
    assert zero_copy_costs(counts) == pytest.approx(math.ceil(10_000 / MR) * (0.625 + 0.375 / 4))


def test_each_way_where_the_paper_prefers_it():
    edges = 8_388_608  # 32 MB
    assert chosen_for(edges, 260_000, 8_000_000, 300_000) == COPIED  # most edges are active
    assert chosen_for(edges, 1_000, 100_000, 4_000) == ZERO_COPY  # few edges, in long lists
    assert chosen_for(edges, 500_000, 1_000_000, 500_000) == COMPACTED  # few edges, in short lists
    assert chosen_for(edges, 0, 0, 0) is None
    assert chosen_for(edges, 9, 0, 0) is None  # vertices without edges


# A copy takes 1,000 round trips, zero copy far more.
@pytest.mark.parametrize(("compacted", "compacts"), [(799, True), (800, False), (801, False)])
def test_compaction_must_take_less_than_alpha_of_a_copy(compacted, compacts):
    edges, active = 1000 * M * MR // 4, (compacted - 1) * M * MR // 4
    vertices = (M * MR - 8) // 8  # their index takes all but 8 bytes of the last round trip
    found = counted(edges, vertices, active, 10**8)
    assert compaction_costs(found) == compacted
    assert (choose_transfers(found)[0] == COMPACTED) == compacts


# Compaction takes 160 round trips, a tenth of the edges is active: 0.4 N (0.625 + 0.0375) exceeds 160 from N = 604 on.
@pytest.mark.parametrize(("trips", "compacts"), [(603, False), (604, True)])
def test_compaction_must_take_less_than_beta_of_zero_copy(trips, compacts):
    edges = 1600 * M * MR // 4
    found = counted(edges, 0, edges // 10, trips * MR)
    assert compaction_costs(found) == 160
    assert zero_copy_costs(found)[0] == pytest.approx(trips * 0.6625)
    assert (choose_transfers(found)[0] == COMPACTED) == compacts


def test_the_cheaper_of_zero_copy_and_a_copy():
    edges = 100 * M * MR // 4  # a copy takes 100; with all edges active, zero copy as many as its requests fill
    for trips, way in (99, ZERO_COPY), (100, ZERO_COPY), (101, COPIED):
        assert chosen_for(edges, 1000, edges, trips * MR) == way


def test_compaction_that_takes_just_beta_of_zero_copy_is_no_gain():
    """With a third of the edges active, zero copy takes 10 x 0.75 round trips, and compaction 3: 0.4 of that."""
    edges = 9 * M * MR // 4
    found = counted(edges, 0, edges // 3, 10 * MR)
    assert (compaction_costs(found), zero_copy_costs(found), copy_costs(found)) == (3, 7.5, 9)
    assert choose_transfers(found) == [ZERO_COPY]


@pytest.mark.parametrize("way", [COPIED, COMPACTED, ZERO_COPY])
def test_the_only_way(way):
    counts = PartitionCounts(*(np.array(each) for each in ([9, 9, 9], [1, 0, 2], [1, 0, 9], [1, 0, 2])))
    assert choose_transfers(counts, (way,)) == [way, None, way]
    assert choose_transfers(counts, (way, way))[1] is None  # a choice between two is made by cost


def test_a_partition_of_one_edge_has_a_cost():
    assert zero_copy_costs(counted(1, 1, 1, 1)) == 1.0
    assert zero_copy_costs(counted(0, 0, 0, 0)) == 0.0
    assert chosen_for(1, 1, 1, 1) == ZERO_COPY


def test_copies_whose_deltas_are_large_come_first():
    tasks = [TransferTask(COPIED, (0, 1)), TransferTask(COPIED, (2,)), TransferTask(COPIED, (5,)),
             TransferTask(ZERO_COPY, (3,)), TransferTask(COMPACTED, (4,))]  # fmt: skip
    counts = counted(1, 1, 1, 1)
    assert by_change(tasks, counts) == tasks
    counts = replace(counts, change=np.array([1, 2, 4, 9, 9, 3], np.float32))
    assert by_change(tasks, counts) == [tasks[1], tasks[0], tasks[2], *tasks[3:]]


def test_tasks_copy_up_to_four_adjacent_partitions():
    tasks = combine_tasks([COPIED] * 9 + [None, COPIED, ZERO_COPY, COMPACTED, COPIED, ZERO_COPY])
    assert [(task.transfer, task.partitions) for task in tasks] == [
        (COPIED, (0, 1, 2, 3)), (COPIED, (4, 5, 6, 7)), (COPIED, (8,)), (COPIED, (10,)), (COPIED, (13,)),
        (ZERO_COPY, (11, 14)), (COMPACTED, (12,)),
    ]  # fmt: skip


def test_the_last_copies_are_single():
    """Nothing is copied while kernels process the last one."""
    before = [TransferTask(COPIED, (4, 5, 6, 7)), TransferTask(COPIED, (0, 1, 2))]
    after = [TransferTask(ZERO_COPY, (3, 8)), TransferTask(COMPACTED, (9,))]
    single = [TransferTask(COPIED, (k,)) for k in (0, 1, 2)]
    assert cut_last(before + after) == [before[0], *single, *after]
    assert cut_last(after) == after
    assert cut_last([]) == []


@given(st.lists(st.sampled_from([COPIED, ZERO_COPY, COMPACTED, None]), max_size=40))
def test_no_partition_is_dropped_or_done_twice(chosen):
    tasks = combine_tasks(chosen)
    assert sorted(k for task in tasks for k in task.partitions) == [k for k, way in enumerate(chosen) if way]
    assert all(chosen[k] == task.transfer for task in tasks for k in task.partitions)


@given(
    st.lists(st.sampled_from([0, 1, 7, 31, 32, 33, 200]), min_size=1, max_size=60),
    st.lists(st.booleans(), min_size=60, max_size=60),
    st.sets(st.integers(1, 59)),
    st.sampled_from([4, 8]),
)
def test_counts_are_those_of_each_vertex(degrees, flags, cuts, width):
    offsets = np.append(0, np.cumsum(degrees))
    n = len(degrees)
    active = np.flatnonzero(flags[:n])
    bounds = np.array([0, *sorted(cut for cut in cuts if cut < n), n])
    found = count_partitions(bounds, offsets, active, width)
    for k, (first, last) in enumerate(itertools.pairwise(bounds)):
        own = [v for v in active if first <= v < last and degrees[v]]
        lines = [{e * width // M for e in range(offsets[v], offsets[v + 1])} for v in own]
        expected = sum(degrees[first:last]), len(own), sum(degrees[v] for v in own), sum(map(len, lines))
        assert (found.edges[k], found.active_vertices[k], found.active_edges[k], found.requests[k]) == expected
