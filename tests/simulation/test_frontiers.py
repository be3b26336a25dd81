"""Frontiers that are found here, against a slow search; and simulations of specs that ask for them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.hytgraph import choose_transfers, count_partitions
from garaph_py.errors import ParameterError
from garaph_py.program import bind
from garaph_py.simulation.frontiers import activities, bounds_of, frontiers
from garaph_py.simulation.workload import bind_for_types
from tests.support.command import Shell

from ..support.runs import run_with

SPEC = """machine = "machine.toml"
device = "gpu"
engine = "hytgraph:partition_bytes=4096"
[graphs.made]
source = "rmat:10:8:symmetric:weights"
[[runs]]
graph = "made"
program = { name = "SSSP", source = 5 }
active = "run"
"""
MACHINE = """cores = 2
gpu_memory = "1GiB"
[link]
to_device = 1e9
from_device = 1e9
[[work]]
processor = "cpu"
edge = 1e-9
[[work]]
processor = "gpu"
edge = 1e-10
"""


def graph_of() -> gp.Graph:
    return gp.rmat(10, 8, directed=False, weights=(1, 255))


def test_frontiers_as_runs_cut_short_have_them() -> None:
    graph = graph_of()
    found = list(frontiers(bind(gp.apps.SSSP(5), graph), graph))
    assert found[0].tolist() == np.flatnonzero(graph.ids.take(np.arange(graph.n)) == 5).tolist()
    before = run_with(gp.apps.SSSP(5), graph, iterations=1, device="cpu", sync=True).values
    for number in range(2, len(found) + 1):
        values = run_with(gp.apps.SSSP(5), graph, iterations=number, device="cpu", sync=True).values
        if number < len(found):
            assert found[number].tolist() == np.flatnonzero(values != before).tolist()
        before = values
    assert before.tolist() == gp.run(gp.apps.SSSP(5), graph, device="cpu").values.tolist()


def test_activities_are_those_of_a_run() -> None:
    graph = graph_of()
    rows = run_with(gp.apps.BFS(5), graph, device="cpu", sync=True, engine="garaph").stats.iterations
    found = activities(bind(gp.apps.BFS(5), graph), graph)
    assert [(one.active, round(one.active_edges / graph.m, 12)) for one in found] == [
        (row.active, round(row.f, 12)) for row in rows
    ]
    assert [one.reached for one in found] == np.cumsum([0, *(row.active for row in rows)])[:-1].tolist()
    assert all(one.counts is None for one in found)


def test_partitions_of_a_frontier_are_counted() -> None:
    graph, lists = graph_of(), gp.HyTGraph(partition_bytes=4096).lists
    bound = bind(gp.apps.SSSP(5), graph)
    offsets = graph._arrays.out_edges.offsets
    bounds = bounds_of(offsets, lists, 8)
    assert len(bounds) > 8
    for one, active in zip(activities(bound, graph, lists), frontiers(bound, graph), strict=True):
        assert one.counts is not None
        slow = count_partitions(bounds, offsets, active, 8)
        assert vars(one.counts).keys() == vars(slow).keys()
        assert all(
            np.array_equal(vars(one.counts)[name], value) for name, value in vars(slow).items() if name != "change"
        )
        assert int(one.counts.active_edges.sum()) == one.active_edges
    assert bounds_of(offsets, gp.Emogi().lists, 8).tolist() == [0, graph.n]


def test_what_has_no_frontier_is_refused() -> None:
    with pytest.raises(ParameterError, match="the simulation cannot find the frontiers of PageRank"):
        list(frontiers(bind_for_types(gp.apps.PageRank(), False), graph_of()))


def test_a_spec_that_runs_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(monkeypatch, capsys)
    (tmp_path / "machine.toml").write_text(MACHINE)
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC)
    graph, lists = graph_of(), gp.HyTGraph(partition_bytes=4096).lists
    expected = [
        [choose_transfers(one.counts, alpha=most, beta=most).count("compacted") for one in
         activities(bind(gp.apps.SSSP(5), graph), graph, lists) if one.counts is not None]
        for most in (0.1, 50.0)
    ]  # fmt: skip
    assert expected[0] != expected[1]
    for engine, compacted in zip((None, "hytgraph:partition_bytes=4096,alpha=50,beta=50"), expected, strict=True):
        status, out, err = shell("simulate", spec, "--json", *(() if engine is None else ("--engine", engine)))
        assert status == 0, err
        (run,) = json.loads(out)["runs"]
        assert [row["pages_compacted"] for row in run["iterations"]] == compacted
    assert shell("simulate", spec, "--engine", "auto", "--device", "cpu", "--iterations", "2")[0] == 0
    spec.write_text(SPEC.replace('source = "rmat:10:8:symmetric:weights"', "vertices = 10\nedges = 20"))
    assert 'active = "run" needs a graph with a source' in shell("simulate", spec)[2]
