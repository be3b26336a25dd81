"""Core numbers beside NetworkX's, and by the properties that define them."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import garaph_py as gp
from tests.support.cases import mostly_full
from tests.support.networkx_graphs import on_disk, pairs, random_pair

ALGORITHMS = gp.algorithms


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs())
def test_networkx_has_the_same(threads, both):
    assert dict(ALGORITHMS.core_number(both.ours, threads=threads)) == nx.core_number(both.theirs)


@pytest.mark.parametrize("directed", [False, True])
def test_cores_have_the_properties_that_define_them(directed, threads):
    both = random_pair(1, 400, 3000, directed)
    result = ALGORITHMS.core_number(both.ours.packed(), threads=threads)
    assert dict(result) == nx.core_number(both.theirs)
    for k in np.unique(result.values).tolist():
        core = both.theirs.subgraph(result.ids[result.values >= k].tolist())
        assert min(degree for _, degree in core.degree()) >= k
    assert result.values.dtype == np.int64
    assert (result.stats.device, result.stats.threads, result.stats.converged) == ("cpu", threads, True)
    assert result.stats.edges > both.ours.m
    assert 0 < result.stats.seconds < 60


def test_a_path_is_peeled_from_both_ends(threads):
    path = gp.from_edges(np.arange(999), np.arange(1, 1000), directed=False)
    assert set(ALGORITHMS.core_number(path, threads=threads).values) == {1}


@pytest.mark.slow
@pytest.mark.parametrize("directed", mostly_full([False, True], "False"))
def test_edges_may_be_on_disk(directed, tmp_path):
    theirs = random_pair(1, 400, 3000, directed).theirs
    result = ALGORITHMS.core_number(on_disk(gp.from_networkx(theirs), tmp_path / "g"), threads=1)
    assert dict(result) == nx.core_number(theirs)
    assert result.values.dtype == np.int64
    assert sum(row.from_disk for row in result.stats.iterations) > 0


@pytest.mark.usefixtures("no_gpu")
def test_the_device_is_passed_on():
    with pytest.raises(gp.errors.DeviceError):
        ALGORITHMS.core_number(gp.from_edges([0, 1], [1, 2]), device="gpu")


def test_bad_arguments_are_refused():
    graph = gp.from_edges([1], [2])
    with pytest.raises(gp.errors.ParameterError, match=r"core_number takes a Graph, not networkx.*from_networkx"):
        ALGORITHMS.core_number(nx.path_graph(3))
    with pytest.raises(gp.errors.ParameterError, match="core_number has no argument k"):
        ALGORITHMS.core_number(graph, k=1)
    with pytest.raises(gp.errors.ParameterError, match="threads=0"):
        ALGORITHMS.core_number(graph, threads=0)
    with pytest.raises(AttributeError, match="did you mean core_number"):
        _ = ALGORITHMS.core_numbers
