"""The division of destinations among GPUs."""

import numpy as np
import pytest

from garaph_py.executor.gpu.parts import Part, divide, divide_pages, nearest
from garaph_py.pages.layout import layout

RNG = np.random.default_rng(5)
OFFSETS = np.append(0, np.cumsum(RNG.integers(0, 9, 10_007)))


def edges_of(parts, offsets=OFFSETS):
    return [int(offsets[part.last] - offsets[part.first]) for part in parts]


@pytest.mark.parametrize("speeds", [[1.0], [1.0, 1.0], [3.0, 1.0], [1.0] * 5, [1.0, 2.0, 4.0]])
def test_edges_are_in_proportion_to_speeds(speeds):
    parts = divide(OFFSETS, speeds)
    assert [parts[0].first, *(part.last for part in parts)] == [*(part.first for part in parts), 10_007]
    assert all(part.first % 64 == 0 for part in parts)
    m = OFFSETS[-1]
    for edges, speed in zip(edges_of(parts), speeds, strict=True):
        assert abs(edges - m * speed / sum(speeds)) <= 64 * 8


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 3, 64, 20_000])
def test_the_nearest_of_every_so_many_numbers(step):
    places = [*range(0, len(OFFSETS) - 1, step), len(OFFSETS) - 1]
    values = RNG.random(500) * OFFSETS[-1]
    for value, found in zip(values, nearest(OFFSETS, values, step), strict=True):
        assert found in places
        assert abs(OFFSETS[found] - value) == np.abs(OFFSETS[places] - value).min()


def test_small_graphs_leave_gpus_without_a_part():
    parts = divide(np.arange(11), [1.0] * 4)
    assert sum(part.last > part.first for part in parts) == 1
    assert parts[-1].last == 10
    assert divide(np.zeros(1, np.int64), [1.0, 1.0]) == [Part(0, 0)] * 2


def test_parts_of_whole_pages():
    pages = layout(OFFSETS, 3000, 64)
    parts = divide_pages(pages, [1.0, 2.0, 1.0])
    assert [page for part in parts for page in part.pages] == pages
    assert [part.first for part in parts] == [part.pages[0].first_vertex for part in parts]
    for edges, share in zip(edges_of(parts), (0.25, 0.5, 0.25), strict=True):
        assert abs(edges - share * OFFSETS[-1]) <= 3000
    assert divide_pages([], [1.0, 1.0]) == [Part(0, 0, ())] * 2


@pytest.mark.parametrize(("first", "last", "most"), [(0, 128, 1), (64, 128, 2), (0, 0, 3), (0, 130, 0)])
def test_the_most_pages_of_other_parts(first, last, most):
    """Of 130 vertices: those that end at 128 have whole words, and the last page has two vertices."""
    assert Part(first, last).most_others(130) == most


def test_the_bits_of_a_part():
    assert Part(64, 200).bits == (8, 24)
    assert Part(0, 10).bits == (0, 8)
    assert Part(10, 10).bits == (0, 0)
