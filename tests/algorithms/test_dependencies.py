"""Dependencies by vertex programs: beside NetworkX's betweenness and the kernel's, on disk and on a GPU."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import betweenness_centrality, dependencies
from garaph_py.algorithms import runs as module
from garaph_py.algorithms.dependencies import Dependencies, Paths, blocks, summed_dependencies
from garaph_py.errors import GraphError
from tests.support.networkx_graphs import on_disk, pairs, random_pair, random_valued, valued_graphs
from tests.support.stored_graphs import with_memory

KINDS = {"undirected": False, "directed": True}
WAYS = {"by steps": False, "by length": True}


@pytest.fixture
def two_columns(monkeypatch):
    """Blocks have two sources, whose programs are compiled sooner than those of eight."""
    monkeypatch.setattr(dependencies, "width_of", lambda *_: 2)


def simple(graph):
    """The graph without parallel edges, but with its self-loops."""
    ends = graph.edges().to_pydict().values()
    return gp.from_edges(*map(np.array, ends), vertices=graph.ids, directed=graph.directed, drop_parallel=True)


def some_graph(kind, way, n=60, m=300):
    """A graph whose edges have values if paths are measured by length."""
    return simple(random_valued(3, n, m, KINDS[kind])[0] if WAYS[way] else random_pair(3, n, m, KINDS[kind]).ours)


def summed(graph, by_length=False, endpoints=False):
    return summed_dependencies(graph, np.arange(graph.n), by_length, endpoints, "cpu", 2)[0]


def by_kernel(graph, by_length=False):
    """The same sums, as the kernel in memory finds them."""
    found = betweenness_centrality(graph, weight=by_length, normalized=False, threads=2).values
    return found * (1 if graph.directed else 2)


def close(numbers):
    return pytest.approx(numbers, rel=1e-12, abs=1e-12)


@pytest.mark.full
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(), st.booleans())
@pytest.mark.usefixtures("two_columns")
def test_networkx_has_the_same(both, endpoints):
    if both.ours.m:
        wanted = nx.betweenness_centrality(both.theirs, normalized=False, endpoints=endpoints)
        found = summed(simple(both.ours), endpoints=endpoints) / (1 if both.ours.directed else 2)
        assert found.tolist() == close(list(wanted.values()))


@pytest.mark.full
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(valued_graphs(least=1))
@pytest.mark.usefixtures("two_columns")
def test_the_kernel_has_the_same_by_length(both):
    if both[0].m:
        graph = simple(both[0])
        assert summed(graph, by_length=True) == close(by_kernel(graph, by_length=True))


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", ["memory", "packed", "raw on disk", "packed on disk"])
@pytest.mark.usefixtures("two_columns")
def test_packed_and_on_disk(kind, kept, way, tmp_path):
    graph = some_graph(kind, way)
    wanted = by_kernel(graph, WAYS[way])
    graph = graph.packed() if "packed" in kept else graph
    graph = on_disk(graph, tmp_path / "g") if "disk" in kept else graph
    assert summed(graph, WAYS[way]) == close(wanted)


def test_without_sources_nothing_is_run():
    scores, runs = summed_dependencies(gp.from_edges([], []), np.arange(0), False, True, "cpu", 1)
    assert (scores.tolist(), runs.stats().iterations) == ([], [])


@pytest.mark.slow
def test_numbers_that_are_rounded_start_no_further_iterations():
    """Sums of an iteration that pulls and of one that notifies differ in their last bits."""
    graph = gp.rmat(14, 8, seed=1)
    for source in range(4):
        how = {"device": "cpu", "options": gp.Options(sync=True), "iterations": 100}
        paths = gp.run(Paths(source), graph, **how)
        found = gp.run(Dependencies(paths.column("distance"), paths.column("paths")), graph, **how)
        assert len(found.stats.iterations) == len(paths.stats.iterations) + 1
        assert {row.mode for row in found.stats.iterations} == {"pull", "notify-pull"}


def test_each_source_is_new_in_one_block_and_blocks_have_one_width():
    for count, width in [(0, 3), (1, 3), (3, 3), (4, 3), (9, 3), (11, 3), (5, 1)]:
        sources = list(range(count))
        found = list(blocks(sources, width))
        assert [source for block, done in found for source in block[done:]] == sources
        assert {len(block) for block, _ in found} == ({min(count, width)} if count else set())


@pytest.mark.slow
def test_with_little_memory_blocks_are_narrow_and_each_is_one_run(monkeypatch, tmp_path):
    graph = simple(gp.rmat(14, 4, seed=1, directed=False))
    stored, widths, counts = on_disk(graph, tmp_path / "g"), [], []
    wanted = betweenness_centrality(graph, k=9, seed=1).values
    width_of, in_blocks = dependencies.width_of, module.in_blocks

    def noted(*given):
        widths.append(width_of(*given))
        return widths[-1]

    def noting(programs, *given):
        made = list(in_blocks(programs, *given))
        counts.append((len(made), len(programs)))
        return made

    monkeypatch.setattr(dependencies, "width_of", noted)
    monkeypatch.setattr(module, "in_blocks", noting)
    for room in (10 << 20, 14 << 20, 1 << 26):
        counts.clear()
        found = betweenness_centrality(with_memory(stored, stored.nbytes + room), k=9, seed=1, threads=2)
        assert found.values == close(wanted)
        assert set(counts) == {(1, widths[-1])}
    assert widths[0] < widths[1] <= widths[2] == 8


def test_parallel_edges_are_refused_but_for_self_loops(tmp_path):
    ends = [5, 6, 7, 7], [6, 7, 7, 7]
    graph = on_disk(gp.from_edges(*ends), tmp_path / "g")
    assert dict(betweenness_centrality(graph, k=3)) == {5: 0, 6: 0.5, 7: 0}
    doubled = on_disk(gp.from_edges([*ends[0], 6], [*ends[1], 7]), tmp_path / "doubled")
    with pytest.raises(GraphError, match=r"^betweenness_centrality on a GPU.* parallel edges, and 6 -> 7 has some"):
        betweenness_centrality(doubled)


@pytest.mark.slow
@pytest.mark.usefixtures("two_columns")
def test_a_length_that_changes_no_distance_is_refused():
    graph = gp.from_edges([1, 2, 2], [2, 3, 4], weights=[1e20, 1.0, 1e20])
    with pytest.raises(GraphError, match=r"^betweenness_centrality: the last edge .* to 3 is so short .* 1e\+20, in"):
        summed(graph, by_length=True)


def test_programs_can_be_debugged():
    """Paths of 3 lead over two vertices or one of two: 1 -> 2 -> 3 -> 5, 1 -> 2 -> 4 -> 5."""
    graph = gp.from_edges([1, 2, 2, 3, 4, 5], [2, 3, 4, 5, 5, 1], vertices=[1, 2, 3, 4, 5, 6])
    paths = gp.run(Paths(1), graph, debug=True)
    assert paths.column("distance").tolist() == [0, 1, 2, 2, 3, np.inf]
    assert paths.column("paths").tolist() == [1, 1, 1, 1, 2, 0]
    found = gp.run(Dependencies(paths.column("distance"), paths.column("paths")), graph, debug=True)
    assert found.values.tolist() == [4, 3, 0.5, 0.5, 0, 0]


@pytest.fixture
def one_column_on_gpu(device_for, interpreting, monkeypatch):
    """Runs are on a simulated GPU, which only pulls, and knows no rows of several columns."""
    in_blocks = module.in_blocks

    def pulled(programs, graph, options, on_event):
        (program,) = programs
        device_for(program, graph)
        return in_blocks(programs, graph, replace(options, mode="pull"), on_event)

    # Before a run has made the GPU of its program, there is one.
    monkeypatch.setattr("garaph_py.executor.gpu.device.find", lambda number=0: None)
    monkeypatch.setattr(module, "in_blocks", pulled)
    monkeypatch.setattr(dependencies, "width_of", lambda *_: 1)


@pytest.mark.usefixtures("one_column_on_gpu")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_simulated_gpu_finds_the_same(kind, way):
    """It knows only lengths of 32 bits."""
    graph, how = some_graph(kind, way, 20, 40), {"weight": WAYS[way], "endpoints": True}
    if WAYS[way]:
        u, v, lengths = map(np.array, graph.edges().to_pydict().values())
        graph = gp.from_edges(u, v, (10 * lengths).round().astype(np.int32), directed=KINDS[kind])
    found = betweenness_centrality(graph, device="gpu", **how)
    assert found.values == close(betweenness_centrality(graph, **how).values)
    assert found.stats.device == "NumPy"


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_finds_the_same(kind, way, device):
    graph = some_graph(kind, way, 120, 600)
    how = {"weight": WAYS[way], "k": 20, "seed": 1}
    wanted = betweenness_centrality(graph, device="cpu", **how).values
    found = betweenness_centrality(graph, device=device, **how)
    assert found.values == close(wanted)
    if device == "gpu":
        assert found.stats.device != "cpu"


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_finds_the_same_in_a_large_graph(kind, tmp_path):
    ends = (np.random.default_rng(3).power(0.4, (2, 1_000_000)) * 100_000).astype(np.int64)
    graph, how = gp.from_edges(*ends, directed=KINDS[kind], drop_parallel=True), {"k": 11, "seed": 2}
    wanted = betweenness_centrality(graph, device="cpu", **how).values
    for each in graph, graph.packed(), with_memory(on_disk(graph, tmp_path / "g"), 96 << 20):
        found = betweenness_centrality(each, device="gpu", **how)
        assert np.allclose(found.values, wanted, rtol=1e-9, atol=1e-12)
        assert found.stats.device != "cpu"
