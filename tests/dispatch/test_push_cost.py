"""What a push costs beside a pull: as expected until both have been measured."""

import pytest

from garaph_py.dispatch.push_cost import LEAST_EDGES, PushCost
from garaph_py.executor.costs import EXPECTED
from garaph_py.executor.modes import COMPONENTS, NOTIFY_PULL, PULL, PULL_TILED, PUSH

EDGES = 100 * LEAST_EDGES


def test_one_measurement_does_not_count():
    cost = PushCost(7.0)
    assert cost.ratio(EDGES) == 7.0
    assert cost.after(PULL, EDGES, 0.1).ratio(EDGES) == 7.0
    assert cost.after(PUSH, LEAST_EDGES, 0.1).ratio(EDGES) == 7.0


def test_both_do():
    cost = PushCost(7.0).after(PULL, EDGES, 0.1).after(PUSH, LEAST_EDGES, 0.01)
    assert round(cost.ratio(EDGES), 9) == 10  # a hundredth of the edges took a tenth of the time
    pull, push = ("".join(mode) for mode in (PULL, PUSH))  # a user's policy has names of its own
    assert PushCost(7.0).after(pull, EDGES, 0.1).after(push, LEAST_EDGES, 0.01) == cost


def test_small_pushes_and_slower_pulls_do_not():
    cost = PushCost(7.0).after(PULL, EDGES, 0.1).after(PUSH, LEAST_EDGES, 0.01)
    assert cost.after(PUSH, LEAST_EDGES - 1, 1.0) == cost
    assert cost.after(PULL, EDGES, 0.2) == cost  # it has copied pages that now stay
    assert cost.after(PULL, EDGES, 0.05).ratio(EDGES) == 2 * cost.ratio(EDGES)


def test_a_push_of_a_million_edges_is_measured():
    assert PushCost(7.0).after(PUSH, 1 << 20, 1.0).edge == 1 / (1 << 20)
    assert PushCost(7.0).after(PUSH, (1 << 20) - 1, 1.0) == PushCost(7.0)
    assert PushCost(7.0).after(PUSH, 1 << 21, 1.0).edge == 1 / (1 << 21)


@pytest.mark.parametrize("seconds", [0.0, -0.5])
def test_an_iteration_that_has_only_compiled_says_nothing(seconds):
    cost = PushCost(7.0, pull=0.1, edge=1e-8)
    assert cost.after(PULL, EDGES, seconds) == cost.after(PUSH, EDGES, seconds) == cost


@pytest.mark.parametrize("mode", [NOTIFY_PULL, PULL_TILED, COMPONENTS])
def test_neither_do_other_modes(mode):
    assert PushCost(7.0).after(mode, EDGES, 0.1) == PushCost(7.0)


def test_a_push_reads_from_disk_until_a_pull_has_copied_the_edges():
    """However cheap it is later, and although some have been measured."""
    cost = PushCost(1.25, from_disk=True).after(PUSH, EDGES, 0.01)
    assert cost.ratio(EDGES) == EXPECTED.push_from_disk
    assert cost.copied().ratio(EDGES) == 1.25
