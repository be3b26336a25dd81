"""Whether sources have ids near those of their destinations."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.cpu.nearby import NAME, NEARBY, has_nearby_sources
from tests.support.runs import run_with

N = 4 * NEARBY


def ring(distance):
    """Each vertex has an edge to the one whose id is so much larger, in a circle."""
    return gp.from_edges(np.arange(N), (np.arange(N) + distance) % N, vertices=np.arange(N))


@pytest.mark.parametrize(("distance", "nearby"), [(1, True), (NEARBY // 8, True), (2 * NEARBY, False)])
def test_a_graph_is_looked_at_once(distance, nearby):
    graph = ring(distance)
    assert has_nearby_sources(graph._arrays) == nearby
    assert graph._arrays.derived.find(NAME) == nearby
    assert not has_nearby_sources(graph.packed()._arrays)


def test_a_few_distant_sources_do_not_matter():
    here, there = np.arange(N), np.roll(np.arange(N), 1)
    there[::50] = (there[::50] + 2 * NEARBY) % N
    assert has_nearby_sources(gp.from_edges(there, here, vertices=np.arange(N))._arrays)


def test_a_graph_without_edges_has_none():
    assert not has_nearby_sources(gp.from_edges([], [], vertices=[0, 1, 2])._arrays)


@pytest.mark.parametrize("distance", [1, 2 * NEARBY])
def test_a_pull_gives_the_same_answers(distance):
    run = run_with(gp.apps.PageRank(stop="never"), ring(distance), mode="pull", iterations=3)
    assert np.allclose(run.values, 1 / N)
