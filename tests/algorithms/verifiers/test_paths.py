"""Wrong distances, paths and walks are refuted."""

from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.algorithms import (
    multi_source_dijkstra_path_length,
    random_walks,
    shortest_path,
    shortest_path_tree,
    single_source_shortest_path,
)
from tests.support.wrong_answers import assert_refuted, changed

GRAPH = gp.from_edges([0, 0, 1, 2, 1, 5], [1, 2, 2, 3, 4, 0], [1, 5, 2, 0, 0, 1])
"""0 -> 1 -> 2 -> 3 and 1 -> 4, and a long edge 0 -> 2; nothing leads to 5."""
FAR = np.iinfo(np.int64).max


def test_other_distances_are_refuted():
    name, found = "multi_source_dijkstra_path_length", multi_source_dijkstra_path_length(GRAPH, [0])
    assert found.values.tolist() == [0, 1, 3, 3, 1, FAR]
    for place, value in (0, 1), (2, 5), (2, 2), (3, FAR), (5, 0):
        with pytest.raises(gp.errors.VerificationError):
            gp.check(multi_source_dijkstra_path_length, GRAPH, changed(found, place, value), sources=[0])
    with pytest.raises(gp.errors.VerificationError):
        gp.check(getattr(gp.algorithms, name), GRAPH, found, sources=[0], cutoff=2)


@pytest.mark.parametrize(
    ("place", "parent", "problem"),
    [
        (2, 0, "vertex 2 is reached by a way that is longer"),
        (3, 1, "there is no edge 1 -> 3"),
        (3, -1, "vertex 3 has a parent, or none"),
        (5, 0, "vertex 5 has a parent, or none"),
        (0, 5, "the source is not its own parent"),
    ],
)
def test_other_trees_are_refuted(place, parent, problem):
    found = shortest_path_tree(GRAPH, 0)
    wrong = found.values.copy()
    wrong["parent"][place] = parent
    assert_refuted("shortest_path_tree", GRAPH, replace(found, values=wrong), problem, source=0)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ([0, 2, 3], "vertex 2 is reached by a way that is longer"),
        ([0, 1, 3], "there is no edge 1 -> 3"),
        ([0, 1, 2], "the path to 3 does not lead from 0 to there"),
        ([1, 2, 3], "the path to 3 does not lead from 0 to there"),
        ([], "the path to 3 does not lead from 0 to there"),
        ([0, 1, 2, 3, 3], "the path to 3 has a vertex twice"),
        ([0, 9, 3], ".*9"),
    ],
)
def test_other_paths_are_refuted(path, problem):
    right = shortest_path(GRAPH, 0, 3, weight=True)
    assert right == [0, 1, 2, 3]
    assert_refuted("shortest_path", GRAPH, path, problem, source=0, target=3, weight=True)
    assert_refuted("shortest_path", GRAPH, right, "vertex 2 is reached by a way that is longer", source=0, target=3)
    paths = {0: [0], 3: path}
    given = {"source": 0, "targets": [0, 3], "weight": True}
    assert_refuted("single_source_shortest_path", GRAPH, paths, problem, **given)


def test_missing_paths_and_paths_to_others_are_refuted():
    name, found = "single_source_shortest_path", single_source_shortest_path(GRAPH, 0)
    less = {target: path for target, path in found.items() if target != 4}
    assert_refuted(name, GRAPH, less, "vertex 4 lacks a path, or has one to no target", source=0)
    assert_refuted(name, GRAPH, found, "vertex . lacks a path, or has one to no target", source=0, targets=[3])
    with pytest.raises(gp.errors.ParameterError, match="check takes the dict of single_source_shortest_path, not list"):
        gp.check(single_source_shortest_path, GRAPH, [[0]], source=0)


@pytest.mark.parametrize(
    ("walk", "problem"),
    [
        ([1, 2, 2], "a walk begins elsewhere"),
        ([0, 3, 3], "vertex 0 is left along no edge"),
        ([0, 0, 0], "vertex 0 is left along no edge, or stays"),
        ([0, 2, 3], "vertex 2 is left along no edge"),  # its edge weighs 0
        ([0, 1], r"the walks have the shape \(1, 2\), not \(1, 3\)"),
        ([0, 9, 9], ".*9"),
    ],
)
def test_other_walks_are_refuted(walk, problem):
    for right in [[0, 2, 2]], [[0, 1, 2]]:
        gp.check(random_walks, GRAPH, np.array(right), starts=[0], length=2)
    gp.check(random_walks, GRAPH, np.array([[0, 2, 3]]), starts=[0], length=2, weight=False)
    assert_refuted("random_walks", GRAPH, np.array([walk]), problem, starts=[0], length=2)
