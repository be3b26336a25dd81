"""Runs that one call makes: their statistics, and the memory that is left for them."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.algorithms.edge_sums import SumIn, SumOut
from garaph_py.algorithms.runs import Runs, by_programs
from tests.support.networkx_graphs import on_disk


def test_a_gpu_and_edges_on_disk_need_programs(tmp_path):
    graph = gp.from_edges([0, 1], [1, 2])
    assert [by_programs(graph, device) for device in ("auto", "cpu", "gpu", "hybrid")] == [False, False, True, True]
    assert by_programs(on_disk(graph, tmp_path / "g"), "cpu")


def test_the_answer_has_the_statistics_of_all_runs():
    graph = gp.from_edges([0, 0, 1], [2, 3, 2]).packed()
    runs = Runs(graph, "cpu", 1, 0)
    sums = runs(SumIn(np.arange(4)), iterations=1), runs(SumOut(1.0), iterations=1)
    result = runs.result(sums[1], "twice")
    assert [found.tolist() for found in sums] == [[0, 0, 1, 0], [2, 1, 0, 0]]
    assert [row.number for row in result.stats.iterations] == [0, 1]
    assert (result.stats.edges, result.stats.threads, result.stats.encoding) == (6, 1, "packed")
    assert result.stats.seconds == pytest.approx(sum(row.seconds for row in result.stats.iterations), rel=0.5)
    assert result.stats.converged
    assert not runs.stats(converged=False).converged
    assert result.program == "twice"


def test_without_runs_there_are_no_iterations():
    stats = Runs(gp.from_edges([0], [1]), "auto", 3, 0).stats()
    assert (stats.iterations, stats.seconds, stats.threads, stats.converged) == ([], 0.0, 3, True)


def test_what_the_caller_keeps_takes_memory_of_a_graph_on_disk(tmp_path):
    graph = on_disk(gp.rmat(12, 4, seed=1), tmp_path / "g")
    Runs(graph, "cpu", 1, 0)(SumIn(1.0), iterations=1)
    with pytest.raises(gp.errors.GraphError, match="allow"):
        Runs(graph, "cpu", 1, 1 << 20)(SumIn(1.0), iterations=1)


def test_numbers_of_threads_are_checked():
    with pytest.raises(gp.errors.ParameterError, match="threads=0"):
        Runs(gp.from_edges([0], [1]), "auto", 0, 0)
