"""Runs that one call makes: their statistics, and the memory that is left for them."""

import weakref

import pytest

import garaph_py as gp
from garaph_py.algorithms.runs import Runs, by_programs
from garaph_py.runtime import many_blocks
from tests.support.networkx_graphs import on_disk


def test_a_gpu_and_edges_on_disk_need_programs(tmp_path):
    graph = gp.from_edges([0, 1], [1, 2])
    assert [by_programs(graph, device) for device in ("auto", "cpu", "gpu", "hybrid")] == [False, False, True, True]
    assert by_programs(on_disk(graph, tmp_path / "g"), "cpu")


def test_the_answer_has_the_statistics_of_all_runs():
    graph = gp.from_edges([0, 0, 1, 2], [2, 3, 2, 0])
    runs, program = Runs(graph, "cpu", 1, 0), gp.apps.PageRank(stop="never")
    ranks = [runs(program, iterations=iterations) for iterations in (2, 1)]
    for iterations, found in zip((2, 1), ranks, strict=True):
        assert (found == gp.run(program, graph, iterations=iterations, device="cpu", threads=1).values).all()
    result = runs.result(ranks[1], "twice")
    assert [row.number for row in result.stats.iterations] == [0, 1, 2]
    assert (result.stats.edges, result.stats.threads, result.stats.device) == (12, 1, "cpu")
    assert result.stats.seconds >= sum(row.seconds for row in result.stats.iterations) > 0
    assert result.stats.converged
    assert not runs.stats(converged=False).converged
    assert result.program == "twice"
    assert result.ids.tolist() == list(graph.ids)


def test_without_runs_there_are_no_iterations():
    stats = Runs(gp.from_edges([0], [1]), "auto", 3, 0).stats()
    assert (stats.iterations, stats.seconds, stats.threads, stats.converged) == ([], 0.0, 3, True)


def test_a_table_has_what_many_runs_report():
    graph = gp.rmat(8, 4, seed=1, weights=(1, 9))
    for kind, count in ((gp.apps.BFS, 3), (gp.apps.SSSP, 3), (gp.apps.SSSP, 1)):
        runs = Runs(graph, "cpu", 1, 0)
        (table,) = runs.tables([kind(v) for v in range(count)])
        expected = gp.run_many(kind, graph, range(count), device="cpu", threads=1)
        assert table.tolist() == expected.values.tolist()
        assert runs.stats().edges == expected[0].stats.edges > 0


def test_a_table_takes_no_memory_while_the_next_programs_run(monkeypatch):
    run, kept, freed = many_blocks.as_bits, [], []

    def noted(*given, **how):
        freed.append([table() is None for table in kept])
        return run(*given, **how)

    monkeypatch.setattr(many_blocks, "as_bits", noted)
    for table in Runs(gp.rmat(8, 4, seed=1), "cpu", 1, 0).tables([gp.apps.BFS(v) for v in range(190)]):
        kept.append(weakref.ref(table.base))
        del table
    assert freed == [[], [True], [True, True]]


@pytest.mark.slow
def test_what_the_caller_keeps_takes_memory_of_a_graph_on_disk(tmp_path):
    graph = on_disk(gp.rmat(12, 4, seed=1), tmp_path / "g")
    Runs(graph, "cpu", 1, 0)(gp.apps.PageRank(), iterations=1)
    with pytest.raises(gp.errors.GraphError, match="allow"):
        Runs(graph, "cpu", 1, 1 << 20)(gp.apps.PageRank(), iterations=1)


def test_devices_are_checked_before_a_run():
    with pytest.raises(gp.errors.ParameterError, match="device='gqu'"):
        Runs(gp.from_edges([0], [1]), "gqu", None, 0)


def test_numbers_of_threads_are_checked():
    with pytest.raises(gp.errors.ParameterError, match="threads=0"):
        Runs(gp.from_edges([0], [1]), "auto", 0, 0)
