"""Times of single pages on a GPU."""

from __future__ import annotations

import pytest

import garaph_py as gp
from garaph_py.experiment import page_times

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("replication", "work_items"), [(1, True), ("custom", True), ("custom", False)])
def test_each_page_has_a_time(replication: int | str, work_items: bool) -> None:
    graph = gp.rmat(12, 8, seed=1)
    total, rows = page_times.measure(graph, replication, 7, work_items)
    assert total["pages_made"] == len(rows)
    assert 5 <= len(rows) <= 8
    assert sum(row["page_edges"] for row in rows) == graph.m == total["graph_edges"]
    assert all(0 < row["seconds"] < 1 for row in rows)
    assert max(row["largest_in_degree"] for row in rows) == graph.in_degrees.max()
    assert total["seconds"] == pytest.approx(sum(row["seconds"] for row in rows))
