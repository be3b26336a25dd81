"""What ``garaph run`` prints of an answer."""

import dataclasses

import pytest

import garaph_py as gp
from garaph_py.cli import show


@pytest.mark.parametrize(("weights", "value"), [([2], "2"), ([0.5], "0.5")])
def test_vertices_that_are_not_reached_are_named(capsys, weights, value):
    graph = gp.from_edges(["a"], ["b"], weights=weights, vertices=["a", "b", "c"])
    show.top(gp.run(gp.apps.SSSP("a"), graph, device="cpu"), 3)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert lines == [["b", value], ["a", "0"], ["c", "unreached"]]


@pytest.mark.parametrize(("threads", "said"), [(1, "on cpu, 1 thread"), (2, "on cpu, 2 threads")])
def test_threads_are_counted(threads, said):
    stats = gp.run(gp.apps.PageRank(), gp.from_edges([0], [1]), iterations=1, device="cpu").stats
    assert show.ending(dataclasses.replace(stats, threads=threads)).endswith(said)
