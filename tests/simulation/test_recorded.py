"""Runs as tables have them."""

import pytest

import garaph_py as gp
from garaph_py.errors import FormatError
from garaph_py.simulation.recorded import read_trace, recorded_of, recorded_runs


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


@pytest.mark.parametrize("sync", [None, False])
def test_only_runs_in_supersteps_can_be_followed(tmp_path, sync):
    graph = gp.rmat(8, directed=False)
    gp.run(gp.apps.ConnectedComponents(), graph, options=gp.Options(trace=tmp_path / "trace.json", sync=sync))
    if sync is False:
        assert len(read_trace(tmp_path / "trace.json").rows) > 1
    else:
        with pytest.raises(FormatError, match="found components in one iteration; record one with --async or --sync"):
            read_trace(tmp_path / "trace.json")


@pytest.mark.parametrize("mode", ["pull", "components"])
def test_runs_that_found_components_are_left_out(result, mode):
    result |= {"combination": 0, "repeat": 0, "error": None, "encoding_used": "raw", "device_used": "cpu"}
    row = {"device_used": "cpu", "mode_used": mode, "iteration": 0, "f": 1.0, "active": 3, "edges": 10}
    found = list(recorded_runs([result], [row | {"combination": 0, "repeat": 0}], None))
    assert len(found) == (mode == "pull")
