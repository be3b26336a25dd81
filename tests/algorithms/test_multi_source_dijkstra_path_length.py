"""Distances from the nearest of several vertices, beside NetworkX's."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import multi_source_dijkstra_path_length
from garaph_py.algorithms.multi_source_dijkstra_path_length import CutSSSP, NearestSSSP
from garaph_py.apps.sssp import has_distance
from tests.support.networkx_graphs import valued_graphs

CUTOFFS = [None, 0, 1, 2.5, 4, 1e300, np.inf]


@pytest.mark.full
@given(
    valued_graphs(),
    st.sets(st.integers(0, 7), min_size=1),
    st.sampled_from([None, "weight"]),
    st.sampled_from(CUTOFFS),
)
def test_networkx_has_the_same(both, sources, weight, cutoff):
    ours, theirs = both
    found = multi_source_dijkstra_path_length(
        ours, sorted(sources), cutoff=cutoff, weight=weight is not None, threads=1
    )
    expected = nx.multi_source_dijkstra_path_length(theirs, sources, cutoff=cutoff, weight=weight or (lambda *_: 1))
    reached = has_distance(found.values)
    assert {v: found[v] for v in ours.ids[reached]} == expected


@pytest.mark.slow
def test_the_program_verifies_its_answer():
    graph = gp.rmat(6, 4, weights=(0, 9))
    starts = np.zeros(graph.n, np.int32)
    starts[[3, 7]] = 1
    gp.run(NearestSSSP(3, starts), graph, verify=True)
    program, result = NearestSSSP(3, starts), gp.run(NearestSSSP(3, starts), graph)
    result.values[7] = 1
    with pytest.raises(gp.errors.VerificationError, match="distance of the source is not 0"):
        program.verify(graph, result)


def test_the_program_with_a_cutoff_verifies_its_answer_and_ends_the_search():
    graph = gp.from_edges(range(9), range(1, 10), weights=range(1, 10))
    program = CutSSSP(0, np.eye(1, 10, dtype=np.int32)[0], 6)
    result = gp.run(program, graph, verify=True)
    assert result.values[:4].tolist() == [0, 1, 3, 6]
    assert not has_distance(result.values[4:]).any()
    assert len(result.stats.iterations) <= 4
    for vertex, value, problem in (4, 10, "no path"), (3, 2**62, "shorter way"):
        wrong = result.values.copy()
        wrong[vertex] = value
        with pytest.raises(gp.errors.VerificationError, match=problem):
            program.verify(graph, replace(result, values=wrong))


@pytest.mark.parametrize(("cutoff", "reached"), [(2**53, 2), (2**53 + 1, 3), (2**53 + 2, 3), (10**400, 3)])
def test_a_cutoff_of_lengths_that_no_float_holds(cutoff, reached):
    graph = gp.from_edges([0, 1], [1, 2], weights=[2**53, 1])
    found = multi_source_dijkstra_path_length(graph, [0], cutoff=cutoff)
    assert has_distance(found.values).sum() == reached


def test_bad_sources_are_refused():
    graph = gp.from_edges([1], [2])
    with pytest.raises(gp.errors.ParameterError, match="sources is empty"):
        multi_source_dijkstra_path_length(graph, [])
    with pytest.raises(gp.errors.UnknownVertexError):
        multi_source_dijkstra_path_length(graph, [1, 9])
    with pytest.raises(gp.errors.ParameterError, match=r"path_length\(cutoff=-1\): give a number"):
        multi_source_dijkstra_path_length(graph, [1], cutoff=-1)
