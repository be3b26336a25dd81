"""The shape of lists: counted by hand, found by a slow count of what a cache would have lost, and expected."""

from __future__ import annotations

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.format import RUN
from garaph_py.graph.adjacency import Adjacency
from garaph_py.graph.shape import LINE, SAMPLES, Shape, equal_lengths, irregular, lost, since_last


def lists_of(*lists: list[int]) -> Adjacency:
    offsets = np.cumsum([0, *map(len, lists)])
    return Adjacency(offsets, np.array([v for one in lists for v in one], np.uint32))


def test_a_shape_by_hand() -> None:
    found = Shape.of(lists_of([1, 2], [0, 3], [], [16]))
    assert (found.lists, found.turns) == (3, 2)
    assert found.near == found.far == 2 / 5  # two lines, each read for the first time once
    assert found.irregular == 1
    assert found.imbalance == 4 / 3  # half of the edges are in the first list and in the half of the second


def test_the_half_of_the_edges_with_more_lists() -> None:
    one_and_four = Shape.of(lists_of([1, 2, 3, 4], [], [0], [0], [0], [0]))
    assert one_and_four.imbalance == 4 / 2.5
    assert [one_and_four.imbalance_of(count) for count in (1, 2, 4)] == pytest.approx([1, 1.6, 1.6**2])
    assert Shape.of(lists_of([1], [0])).imbalance == 1


def test_lists_that_are_those_before_with_all_ids_one_larger() -> None:
    lists = lists_of([1, 4], [2, 5], [3, 6], [3, 7], [], [], [9], [10], [11, 12])
    assert irregular(lists) == 1 - 3 / 6  # the first list has none before it
    assert irregular(lists_of([], [5])) == 1
    assert irregular(lists_of(list(range(1, 40_000)), [7])) == 1  # the second sample has only a part of a list


def test_only_the_border_of_a_grid_is_irregular() -> None:
    numbers = np.arange(100 * 100).reshape(100, 100)
    pairs = (numbers[:, :-1], numbers[:, 1:]), (numbers[:-1], numbers[1:])
    ends = [np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1)]
    grid = gp.from_edges(*ends, vertices=np.arange(numbers.size), directed=False)
    assert Shape.of(grid._arrays.in_edges).irregular == pytest.approx(0.03, abs=0.01)
    assert Shape.of(gp.uniform(12, 4, seed=1)._arrays.in_edges).irregular > 0.99


def test_no_edges() -> None:
    assert Shape.of(lists_of([], [], [])) == Shape.expected(3, 0)
    assert Shape.expected(0, 0).lists == 0


def test_when_a_line_was_read_last() -> None:
    never = np.iinfo(np.int64).max
    assert since_last(np.array([7, 3, 7, 7, 3])).tolist() == [never, never, 2, 1, 3]


def test_lost_lines_as_a_slow_count_has_them() -> None:
    """Samples of a window and the next: of the edges in the second, those whose line the window before has not."""
    window, edges = 1 << 9, gp.uniform(10, 4, seed=1)._arrays.in_edges
    lines = (edges.neighbours // LINE).tolist()
    firsts = sorted({int(first) // RUN * RUN for first in np.linspace(0, len(lines) - 2 * window, SAMPLES)})
    slow = [
        np.mean([lines[k] not in lines[k - window : k] for k in range(first + window, first + 2 * window)])
        for first in firsts
    ]
    assert len(firsts) > 1
    assert lost(edges, window) == pytest.approx(np.mean(slow))


def test_packed_edges_have_the_same_shape() -> None:
    graph = gp.rmat(11, 8, seed=1)
    assert Shape.of(graph.packed()._arrays.in_edges) == Shape.of(graph._arrays.in_edges)


def test_a_random_graph_has_the_expected_shape() -> None:
    found, expected = Shape.of(gp.uniform(15, 4, seed=1)._arrays.in_edges), Shape.expected(1 << 15, 4 << 15)
    assert found.lists == pytest.approx(expected.lists, rel=0.02)
    assert found.turns == pytest.approx(expected.turns, rel=0.02)
    assert found.near == pytest.approx(expected.near, abs=0.03)
    assert found.far == pytest.approx(expected.far, abs=0.03)


@pytest.mark.parametrize("mean", [0.5, 4.0, 15.9, 16.1, 60.0])
def test_the_chance_of_equal_lengths(mean: float) -> None:
    drawn = np.random.default_rng(1).poisson(mean, (2, 200_000))
    assert equal_lengths(mean) == pytest.approx((drawn[0] == drawn[1]).mean(), rel=0.03)


def test_neighbours_in_order_are_not_lost() -> None:
    ring = lists_of(*([(v + 1) % 4096] for v in range(4096)))
    assert Shape.of(ring).near == pytest.approx(1 / LINE, rel=0.1)
    assert Shape.of(ring).turns == 0
