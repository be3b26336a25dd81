"""Runs as tables have them."""

import pytest

from garaph_py.simulation.recorded import recorded_of


@pytest.fixture
def result():
    """A row of results.parquet."""
    return {
        "program": "PageRank", "parameters": None, "graph": "x", "device": "auto", "engine": "auto", "mode": "auto",
        "sync": None, "iterations": 2, "deterministic": True, "vertices": 100, "graph_edges": 10, "gpu_memory": None,
        "threads_used": 2,
    }  # fmt: skip


def test_a_deterministic_run_whose_gpu_failed(result):
    rows = [{"device": device, "mode": "pull", "f": 1.0, "active": 3, "edges": 10} for device in ("gpu", "cpu")]
    recorded = recorded_of(result, rows, None)
    assert recorded.options.device == "hybrid"
    assert recorded.workload.traits.synchronous
