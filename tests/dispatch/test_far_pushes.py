"""The choice between reading lists in host memory and copying an edge list, by what both cost."""

import math

import pytest

from garaph_py.dispatch.far_pushes import FarPushes
from garaph_py.dispatch.push_cost import LEAST_EDGES
from garaph_py.executor.costs import EXPECTED
from garaph_py.executor.far_lists import SECTOR, FarLists

LISTS = FarLists(1.0, 4.0, 8, 16)
MANY = 10 * LEAST_EDGES


def seconds_at(rate, active, edges, lists=LISTS):
    """The time of a push whose kernels read sectors at this rate (bytes/s)."""
    return lists.zero_copy(active, edges, rate)


def after_slow_push(active=MANY, edges=MANY, rate=4e9):
    return FarPushes(LISTS).after(False, active, edges, seconds_at(rate, active, edges))


@pytest.mark.parametrize("active", [1, MANY // 100, MANY])
@pytest.mark.parametrize("threads", [1, 16])
def test_at_the_expected_rates_kernels_read_lists(active, threads):
    far = FarPushes(LISTS._replace(threads=threads))
    assert not far.compacts(active, MANY)
    assert far.least == math.inf


def test_a_slow_link_makes_edge_lists_cheaper():
    far = after_slow_push()
    assert far.reading == pytest.approx(4e9)
    assert far.compacts(MANY, MANY)
    assert not far.compacts(10, 100)  # the host would take longer to begin
    assert 10 < far.least < MANY
    assert far.compacts(least := math.ceil(far.least) + 1, least)


@pytest.mark.parametrize(("threads", "reading", "copying", "best"), [
    (16, 4e9, 4e9, 1.0),  # a list costs a kernel more than the host
    (4, 4e9, 2e10, 0.0),  # a list costs the host more than a kernel
    (4, 2.5e9, 8e9, 0.03),  # but copies take longer than writing lists of more than 31 edges
])  # fmt: skip
def test_the_fewest_edges_are_those_of_the_best_lists(threads, reading, copying, best):
    """With few threads, edge lists pay where lists are long, even if they would not where lists are short."""
    far = FarPushes(LISTS._replace(threads=threads), reading, copying)
    below, above = (int(factor * far.least) for factor in (0.99, 1.01))
    shares = [k / 1000 for k in range(1001)]
    assert not any(far.compacts(int(share * below), below) for share in shares)
    found = [share for share in shares if far.compacts(int(share * above), above)]
    assert found
    assert min(found) - 0.05 <= best <= max(found) + 0.05
    assert far.compacts(MANY, MANY) == (best == 1)


def test_one_thread_writes_too_slowly():
    lists = LISTS._replace(threads=1)
    far = FarPushes(lists).after(False, MANY, MANY, seconds_at(4e9, MANY, MANY))
    assert not far.compacts(MANY, MANY)


def test_long_lists_are_compacted_only_if_edge_lists_are_copied_faster():
    """An edge takes twice the bytes in an edge list."""
    far = after_slow_push()
    assert not far.compacts(MANY // 1000, MANY)  # copies have not been measured yet
    for rate, compacts in (4e9, False), (2e10, True), (4e9, True):  # the best rate counts
        far = far.after(True, MANY // 1000, MANY, MANY / EXPECTED.push + 8 * MANY / rate)
        assert far.compacts(MANY // 1000, MANY) == compacts
    assert far.copying == pytest.approx(2e10)


def test_the_best_rates_count():
    far = after_slow_push().after(False, MANY, MANY, seconds_at(2e9, MANY, MANY))
    assert far.reading == pytest.approx(4e9)
    assert far.after(False, MANY, MANY, seconds_at(4e10, MANY, MANY)).reading == pytest.approx(4e10)


def test_fast_reads_promise_no_faster_copies():
    far = after_slow_push(rate=10 * EXPECTED.sectors)
    assert far.reading == pytest.approx(10 * EXPECTED.sectors, rel=0.2)
    assert far._rates == (far.reading, EXPECTED.link)


def test_moving_takes_half_of_a_push_at_least():
    quick = MANY / EXPECTED.push  # as long as the edges take alone
    far = FarPushes(LISTS).after(True, MANY, MANY, quick)
    assert far.copying == pytest.approx(LISTS.copied_bytes(MANY) / (quick / 2))


@pytest.mark.parametrize(("active", "edges", "seconds"), [(1, LEAST_EDGES - 2, 1.0), (MANY, MANY, 0.0)])
def test_what_says_nothing_about_rates(active, edges, seconds):
    for compacted in False, True:
        assert FarPushes(LISTS).after(compacted, active, edges, seconds) == FarPushes(LISTS)


def test_without_lists_in_host_memory():
    far = FarPushes(None)
    assert far.after(False, MANY, MANY, 100.0) == far
    assert not far.compacts(MANY, MANY)
    assert far.least == math.inf


def test_the_share_that_the_gpu_has_costs_no_reads():
    half = LISTS._replace(share=0.5)
    assert half.read_bytes(2, 10) == LISTS.read_bytes(2, 10) / 2 == (10 * 4 + 2 * SECTOR) / 2
    assert half.copied_bytes(10) == 40
