"""Distances from the nearest of several vertices, beside NetworkX's."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import multi_source_dijkstra_path_length
from garaph_py.algorithms.multi_source_dijkstra_path_length import NearestSSSP
from garaph_py.apps.sssp import has_distance
from tests.support.networkx_graphs import valued_graphs


@given(valued_graphs(), st.sets(st.integers(0, 7), min_size=1), st.sampled_from([None, "weight"]))
def test_networkx_has_the_same(both, sources, weight):
    ours, theirs = both
    found = multi_source_dijkstra_path_length(ours, sorted(sources), weight=weight is not None, threads=1)
    expected = nx.multi_source_dijkstra_path_length(theirs, sources, weight=weight or (lambda *_: 1))
    reached = has_distance(found.values)
    assert {v: found[v] for v in ours.ids[reached]} == expected


def test_the_program_verifies_its_answer():
    graph = gp.rmat(6, 4, weights=(0, 9))
    starts = np.zeros(graph.n, np.int32)
    starts[[3, 7]] = 1
    gp.run(NearestSSSP(3, starts), graph, verify=True)
    program, result = NearestSSSP(3, starts), gp.run(NearestSSSP(3, starts), graph)
    result.values[7] = 1
    with pytest.raises(gp.errors.VerificationError, match="distance of the source is not 0"):
        program.verify(graph, result)


def test_bad_sources_are_refused():
    graph = gp.from_edges([1], [2])
    with pytest.raises(gp.errors.ParameterError, match="sources is empty"):
        multi_source_dijkstra_path_length(graph, [])
    with pytest.raises(gp.errors.UnknownVertexError):
        multi_source_dijkstra_path_length(graph, [1, 9])
