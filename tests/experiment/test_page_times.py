"""Times of single pages on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import garaph_py as gp
from garaph_py import experiment
from garaph_py.executor.gpu import device
from garaph_py.experiment import page_times
from garaph_py.program import bind
from tests.support.numpy_gpu import Hops


@pytest.mark.gpu
@pytest.mark.parametrize(("replication", "work_items"), [(1, True), ("custom", True), ("custom", False)])
@pytest.mark.parametrize("all_vertices", [True, False])
def test_each_page_has_a_time(replication: int | str, work_items: bool, all_vertices: bool) -> None:
    graph = gp.rmat(12, 8, seed=1)
    total, rows = page_times.measure(graph, replication, 7, all_vertices, work_items)
    assert total["pages_made"] == len(rows)
    assert 5 <= len(rows) <= 8
    assert sum(row["page_edges"] for row in rows) == graph.m == total["graph_edges"]
    assert all(0 < row["seconds"] < 1 for row in rows)
    assert max(row["largest_in_degree"] for row in rows) == graph.in_degrees.max()
    assert total["seconds"] == pytest.approx(sum(row["seconds"] for row in rows))


def seconds(driver: Any, stream: Any, launch: Any) -> float:
    """As `device.seconds`, for a driver that times nothing."""
    launch()
    return 1.0


def test_an_experiment_says_which_vertices_of_a_shard_count(
    device_for: Any, spec_of: Any, no_machine: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the paper's count, which is the default, the mean degrees are lower, and so are the factors."""
    program, graph = Hops(0), gp.rmat(9, 12, seed=1)
    device_for(program, graph)
    monkeypatch.setattr(device, "seconds", seconds)
    monkeypatch.setattr(page_times, "bind", lambda given, graph: bind(program, graph))  # this driver runs no other
    given = 'kind = "pages"\nrepeats = 1\n[sweep]\ngraph = "rmat:9:12"\nreplication = "custom"\npages = 4\n'
    found = [
        experiment.run(spec_of(f"{given}{more}"), tmp_path / str(number))
        for number, more in enumerate(("", "all_vertices = true", "all_vertices = false"))
    ]
    default, papers, ours = ({(row["all_vertices"], row["mean_factor"]) for row in rows} for rows in found)
    assert default == papers
    ((counts, lower),), ((ignores, higher),) = papers, ours
    assert (counts, ignores) == (True, False)
    assert 1 < lower < higher
