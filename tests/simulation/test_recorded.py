"""Runs as tables have them."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from garaph_py.errors import FormatError
from garaph_py.graph.shape import Shape
from garaph_py.simulation.recorded import gpus_of, read_results, recorded_of, recorded_runs
from tests.support.numpy_gpu import GRAPH, HUB, Quiet

from ..support.runs import run_with


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
    recorded = recorded_of(result, rows)
    assert recorded.options.device == "hybrid"
    assert recorded.workload.traits.synchronous


@pytest.mark.parametrize("mode", ["pull", "components"])
def test_runs_of_a_cpu_that_found_components_are_left_out(result, mode):
    result |= {"combination": 0, "repeat": 0, "error": None, "encoding_used": "raw", "device_used": "cpu"}
    row = {"device_used": "cpu", "mode_used": mode, "iteration": 0, "f": 1.0, "active": 3, "edges": 10}
    found = list(recorded_runs([result], [row | {"combination": 0, "repeat": 0}]))
    assert len(found) == (mode == "pull")


@pytest.mark.parametrize(("used", "device", "mode", "gpus"), [
    ("NVIDIA H200", "gpu", "components", 1), ("2 x NVIDIA H200", "gpu", "components", 2),
    ("NVIDIA H200, NVIDIA H100", "gpu", "pull", 2), ("2 x NVIDIA H200", "auto", "pull", 2),
    ("2 x NVIDIA H200", "hybrid", "pull", None), ("NVIDIA H200", "hybrid", "pull", 1),
    ("2 x NVIDIA H200", "gpu", "notify-pull", None), ("NVIDIA H200", "gpu", "notify-pull", 1),
])  # fmt: skip
def test_how_many_gpus_divided_the_graph(result, used, device, mode, gpus):
    """Nothing is simulated beside several, nor their gathers for notified vertices."""
    result |= {"combination": 0, "repeat": 0, "error": None, "encoding_used": "raw", "device_used": used}
    result |= {"device": device, "gather": "segmented"}
    row = {"device_used": "gpu", "mode_used": mode, "iteration": 0, "f": 1.0, "active": 3, "edges": 10}
    found = list(recorded_runs([result], [row | {"combination": 0, "repeat": 0}]))
    assert [run.gpus for run in found] == [gpus] * (gpus is not None)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_run_names_as_many_gpus_as_it_uses(devices_for, graph_of, count):
    program, graph = Quiet(HUB), graph_of(GRAPH, directed=False)
    devices_for(program, graph, count)
    assert gpus_of(run_with(program, graph, device="gpu", gpus=count).stats.device) == count


@pytest.mark.parametrize(("device", "engine", "mode", "left"), [
    ("cpu", "auto", "auto", False), ("gpu", "auto", "auto", False), ("cpu", "garaph", "auto", True),
    ("hybrid", "auto", "auto", False), ("hybrid", "garaph", "auto", True),
    ("cpu", "auto", "pull", True), ("gpu", "hytgraph", "auto", True),
])  # fmt: skip
def test_runs_that_may_push_deltas_are_left_out(result, device, engine, mode, left):
    result |= {"combination": 0, "repeat": 0, "error": None, "encoding_used": "raw", "device_used": device}
    result |= {"program": "DeltaPageRank", "device": device, "engine": engine, "mode": mode, "gather": "segmented"}
    processor = "both" if device == "hybrid" else device
    row = {"device_used": processor, "mode_used": "pull", "iteration": 0, "f": 1.0, "active": 3, "edges": 10}
    assert len(list(recorded_runs([result], [row | {"combination": 0, "repeat": 0}]))) == left


def test_the_memory_that_a_run_used_counts(result):
    """An experiment may give it as a share of the edges."""
    bounded = recorded_of(result | {"gpu_memory": "1/2", "gpu_memory_used": 1 << 20}, [])
    assert bounded.room == (1 << 20) - bounded.workload.fixed
    assert recorded_of(result | {"gpu_memory": "1MiB"}, []).room == bounded.room  # a table of an earlier version
    assert recorded_of(result, []).room is None


def test_the_shape_of_the_graph_is_in_the_table(result):
    earlier = {"graph_lists": 1000, "graph_turns": 900, "graph_near": 0.5, "graph_far": 0.25}
    shape = earlier | {"graph_irregular": 0.75, "graph_imbalance": 1.25}
    assert recorded_of(result | shape, []).workload.shape == Shape(1000, 900, 0.5, 0.25, 0.75, 1.25)
    assert recorded_of(result | earlier, []).workload.shape == Shape(1000, 900, 0.5, 0.25, 1.0, 1.0)
    assert recorded_of(result, []).workload.shape == Shape.expected(100, 10)


def test_whether_sources_are_nearby_is_in_the_table(result):
    found = [recorded_of(result | {"graph_nearby": one}, []).workload.nearby for one in (True, False, None)]
    assert found == [True, False, True]  # the graph has 100 vertices


def test_whether_the_graph_is_directed_is_in_the_table(result):
    """A GPU has more for a directed graph. A graph in a file may be undirected, though its name does not say so."""
    directed, undirected = (recorded_of(result | {"graph_directed": one}, []).workload for one in (True, False))
    assert directed.vertex_bytes > undirected.vertex_bytes
    assert recorded_of(result, []).workload == directed  # a table of an earlier version
    assert recorded_of(result | {"graph": "rmat:8:symmetric"}, []).workload == undirected


@pytest.fixture
def tables(result, tmp_path):
    """The folder of an experiment with one run of two iterations."""
    done = result | {"combination": 0, "repeat": 0, "error": None, "encoding_used": "raw", "device_used": "cpu"}
    shape = {"graph_lists": 90, "graph_turns": 80, "graph_near": 0.5, "graph_far": 0.25, "graph_imbalance": 1.0}
    row = {"combination": 0, "repeat": 0, "device_used": "cpu", "mode_used": "pull", "f": 1.0, "seconds": 0.5}
    rows = [row | {"iteration": number, "active": 100, "edges": 10} for number in (0, 1)]
    for name, table in (("results", [done | shape]), ("iterations", rows)):
        parquet.write_table(pa.Table.from_pylist(table), tmp_path / f"{name}.parquet")
    return tmp_path


def test_the_runs_of_a_folder(tables):
    (run,) = read_results(tables)
    assert (run.seconds, run.threads, len(run.rows)) == (1.0, 2, 2)


@pytest.mark.parametrize(("table", "column", "value"), [
    ("results", "threads_used", None), ("results", "threads_used", 0), ("results", "graph", None),
    ("results", "vertices", -5), ("results", "graph_near", "x"), ("results", "graph_turns", "x"),
    ("results", "graph_imbalance", {"a": 1}), ("iterations", "seconds", None), ("iterations", "seconds", "long"),
    ("iterations", "seconds", float("nan")), ("iterations", "seconds", -1.0), ("iterations", "mode_used", ["pull"]),
    ("iterations", "active", -1), ("iterations", "iteration", 0.5),
])  # fmt: skip
def test_damaged_tables_are_refused(tables, table, column, value):
    path = tables / f"{table}.parquet"
    found = parquet.read_table(path)
    changed = pa.array([value] * len(found))
    parquet.write_table(found.set_column(found.column_names.index(column), column, changed), path)
    with pytest.raises(FormatError, match="its tables are not those of an experiment of runs; measure anew"):
        read_results(tables)
