"""EMOGI, EtaGraph, Grus and HyTGraph on a GPU: every switch gives the CPU's answers, over lists of any length."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DeviceMemoryError
from garaph_py.executor.modes import PUSH
from tests.support import twins

from ...support.runs import run_with

pytestmark = [pytest.mark.gpu]

ENGINES = [
    "emogi", "emogi:merge=no", "emogi:align=no", "emogi:element_bytes=8", "emogi:listed=yes",
    "emogi:listed=yes,shared=yes", "emogi:unified=yes", "emogi:split=no", "etagraph", "etagraph:degree_limit=48",
    "etagraph:degree_limit=1", "etagraph:degree_limit=7,smp=no", "etagraph:um=no", "etagraph:prefetch=no", "grus",
    "grus:byte_map=no", "grus:split=no", "grus:placement=um", "grus:placement=ab", "grus:placement=pl",
    "grus:placement=rm", "grus:placement=pf+ab", "grus:placement=pf+pl", "grus:placement=pf+rm", "hytgraph",
    *(f"hytgraph:partition_bytes=65536{switches}" for switches in (
        "", ",transfers=copied", ",transfers=compacted", ",transfers=zero-copy", ",transfers=unified", ",combine=no",
        ",transfers=copied,recompute=no", ",overlap=no", ",transfers=copied,topology=no",
        ",transfers=compacted,split=no", ",transfers=copied,byte_map=no,split=no",
        ",keep=yes", ",keep=yes,transfers=copied", ",keep=yes,transfers=compacted,overlap=no",
    )),
]  # fmt: skip


def graph_of(directed):
    """Skewed degrees, from 0 to thousands."""
    edges = twins.skewed(5, 50_000, 400_000)
    weights = np.random.default_rng(3).integers(1, 60, len(edges.sources)).astype(np.int32)
    return gp.from_edges(edges.sources, edges.targets, weights, vertices=range(edges.n), directed=directed)


class StoppedError(Exception):
    """Ends a run."""


@pytest.fixture(scope="module")
def graphs():
    return {directed: graph_of(directed) for directed in (True, False)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("called", ["BFS", "SSSP", "SSWP", "ConnectedComponents"])
def test_integers_are_the_cpus(graphs, called, directed, engine):
    if directed and called == "ConnectedComponents":
        pytest.skip("components of a directed graph are not defined here")
    graph = graphs[directed]
    made = getattr(gp.apps, called)
    program = made() if called == "ConnectedComponents" else made(0)
    expected = run_with(program, graph, device="cpu").values
    for sync in True, None:
        found = run_with(program, graph, engine=engine, sync=sync)
        assert {row.mode for row in found.stats.iterations} == {PUSH}
        if called == "BFS":
            np.testing.assert_array_equal(found.values["level"], expected["level"])
            gp.check(program, graph, found)
        elif called in ("SSSP", "SSWP") and expected.dtype.names:
            np.testing.assert_array_equal(found.values[expected.dtype.names[0]], expected[expected.dtype.names[0]])
            gp.check(program, graph, found)
        else:
            np.testing.assert_array_equal(found.values, expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("directed", [True, False])
def test_deltas_give_the_cpus_ranks(graphs, directed, engine):
    program = gp.apps.DeltaPageRank()
    expected = run_with(program, graphs[directed], device="cpu").values
    found = run_with(program, graphs[directed], engine=engine, sync=True)
    assert {row.mode for row in found.stats.iterations} == {PUSH}
    np.testing.assert_allclose(found.values, expected, rtol=1e-6)
    found = run_with(program, graphs[directed], engine=engine)  # HyTGraph applies deltas in turn
    gp.check(program, graphs[directed], found)


def test_grus_keeps_to_a_budget(graphs):
    graph, program = graphs[False], gp.apps.SSSP(0)
    expected = run_with(program, graph, device="cpu").values
    found = run_with(program, graph, engine="grus", gpu_memory="4MiB")
    np.testing.assert_array_equal(found.values, expected)
    with pytest.raises(DeviceMemoryError, match="allow more with gpu_memory"):
        run_with(program, graph, engine="etagraph", gpu_memory="4MiB")


@pytest.mark.parametrize("called", ["SSSP", "DeltaPageRank"])
def test_partitions_that_stay_are_copied_once(graphs, called):
    graph, engine = graphs[False], "hytgraph:partition_bytes=65536,transfers=copied"
    program = gp.apps.SSSP(0) if called == "SSSP" else gp.apps.DeltaPageRank()
    graph.release()
    moved = []
    for keep in "keep=no", "keep=yes", "keep=yes":
        found = run_with(program, graph, engine=f"{engine},{keep}", sync=True)
        gp.check(program, graph, found)
        moved.append(sum(row.to_device for row in found.stats.iterations))
    assert moved[0] > 2 * moved[1]
    assert 0 < moved[1] <= 8 * graph.m
    assert moved[2] == 0


@pytest.mark.parametrize("engine", ["emogi", "etagraph", "grus", "hytgraph:partition_bytes=65536"])
def test_a_run_goes_on_from_a_checkpoint(graphs, tmp_path, engine):
    def stop(event):
        if isinstance(event, gp.events.Checkpoint) and event.iterations >= 3:
            raise StoppedError

    for program in gp.apps.SSSP(0), gp.apps.DeltaPageRank():
        graph, where = graphs[False], tmp_path / type(program).__name__
        whole = run_with(program, graph, device="cpu").values
        how = {"engine": engine, "checkpoint": where}
        with pytest.raises(StoppedError):
            run_with(program, graph, checkpoint_every=1, on_event=stop, **how)
        found = run_with(program, graph, resume=True, **how)
        assert found.stats.resumed == 3
        if engine.startswith("hytgraph") and program.sum is gp.add:  # it applies deltas in turn
            gp.check(program, graph, found)
        else:
            np.testing.assert_allclose(found.values, whole, rtol=1e-6)
