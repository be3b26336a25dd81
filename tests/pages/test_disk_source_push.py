"""Push over edges that stay on disk: along out-edges, and with their values."""

import re
from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DamagedGraphError, GraphError, ParameterError
from garaph_py.graph import Adjacency
from garaph_py.storage import directory as store
from garaph_py.storage.files import GraphDirectory
from garaph_py.storage.fit import RUN_BYTES, bytes_held, fitted
from garaph_py.storage.manifest import serialize
from tests.support import twins
from tests.support.graphs import equal
from tests.support.stored_graphs import forge, hub, opened

from ..support.runs import run_with


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("room", [150_000, 500_000])
def test_push_follows_out_edges_from_disk(saved, room, sync):
    graph, path, _ = saved
    stored, how = opened(path, room), {"device": "cpu", "mode": "push", "sync": sync}
    programs = [gp.apps.BFS(hub(graph)), gp.apps.SSSP(hub(graph))]
    if not graph.directed:
        programs.append(gp.apps.ConnectedComponents())
    for program in programs:
        for threads in (1, 2):
            here = run_with(program, graph, threads=threads, **how)
            there = run_with(program, stored, threads=threads, page_edges=5000, **how)
            np.testing.assert_array_equal(there.values, here.values)
            if sync:
                assert [(i.mode, i.active, i.f, i.edges) for i in there.stats.iterations] == [
                    (i.mode, i.active, i.f, i.edges) for i in here.stats.iterations
                ]


@pytest.mark.full
def test_auto_pushes_from_disk_and_takes_no_turns(saved):
    graph, path, _ = saved
    stored = opened(path, 300_000)
    pushes = {type(p).__name__: gp.run(p, stored, device="cpu").stats.iterations for p in (
        gp.apps.BFS(hub(graph)), gp.apps.SSSP(hub(graph)))}  # fmt: skip
    assert all("push" in {step.mode for step in steps} for steps in pushes.values())
    in_turns = gp.run(gp.apps.SSSP(hub(graph)), graph, device="cpu").stats.iterations
    assert len(pushes["SSSP"]) < len(in_turns)


def wide(edges):
    """Lengths of which 1024 that stand together fit 32 bits among in-edges, and do not among out-edges."""
    return edges.targets.astype(np.int64) << 20


def fractions(edges):
    return np.random.default_rng(3).random(len(edges.targets))


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("lengths", [wide, fractions])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_push_with_values_that_are_not_packed(tmp_path, graph_of, encoding, lengths):
    """The out-edges are on two disks; the graph in memory gives the same bits."""
    edges = twins.skewed(71, 9000, 30000)
    graph = graph_of(replace(edges, weights=lengths(edges)))
    for disk in ("a", "b"):
        (tmp_path / disk).mkdir()
    path = tmp_path / "graph"
    store.save(graph, path, encoding=encoding, block_bytes=8192, disks=[tmp_path / "a", tmp_path / "b"])
    arrays = store.info(path).arrays
    assert arrays["out_values"].encoding == ("raw", 1)
    assert arrays["in_values"].encoding == (encoding if lengths is wide else "raw", 1)
    program = gp.apps.SSSP(hub(graph))
    expected = run_with(program, graph, mode="pull", sync=True).values
    for there in (opened(path, 200_000), store.open(path, encoding=encoding)):
        for how in ({"mode": "push", "sync": True}, {"mode": "push", "sync": False}, {}):
            found = run_with(program, there, device="cpu", **how)
            assert found.values.tobytes() == expected.tobytes()
            assert "push" in {step.mode for step in found.stats.iterations}


@pytest.mark.slow
@pytest.mark.parametrize("saved", [(True, "raw"), (True, "packed")], indirect=True, ids=str)
def test_a_graph_saved_without_values_of_out_edges(saved, tmp_path):
    """Older versions saved all graphs so: such a graph can be read, and programs that need no values can push."""
    graph, _, encoding = saved
    old = tmp_path / "old"
    store.save(graph, old, encoding=encoding, block_bytes=8192)
    info = store.info(old)
    for name in ("out_values.data", "out_values.index"):
        (old / name).unlink()
    arrays = {name: array for name, array in info.arrays.items() if name != "out_values"}
    (old / "manifest.json").write_bytes(serialize(replace(info, edge_hashes=None, arrays=arrays)))
    assert store.verify(old) == []
    assert equal(graph, store.open(old))
    stored, sssp = opened(old, 300_000), gp.apps.SSSP(hub(graph))
    assert "push" in {step.mode for step in gp.run(gp.apps.BFS(hub(graph)), stored, device="cpu").stats.iterations}
    found = gp.run(sssp, stored, device="cpu")
    np.testing.assert_array_equal(found.values, gp.run(sssp, graph, device="cpu").values)
    assert "push" not in {step.mode for step in found.stats.iterations}
    for mode in ("push", "pull-tiled"):
        with pytest.raises(
            ParameterError, match=rf"mode='{mode}'.*saved without those of its out-edges; import it again"
        ):
            run_with(sssp, stored, mode=mode)


@pytest.mark.slow
@pytest.mark.parametrize("saved", [(True, "raw"), (True, "packed")], indirect=True, ids=str)
def test_values_of_out_edges_are_made_in_memory_where_there_is_room(saved):
    graph, path, _ = saved
    sssp, held = gp.apps.SSSP(hub(graph)), bytes_held(graph)
    more = graph.m * 4 + 8 * graph.n
    for memory, pushes in ((held + more, True), (held + more - 1, False)):
        loaded = store.open(path, encoding="raw", memory=memory)
        found = gp.run(sssp, loaded, device="cpu")
        np.testing.assert_array_equal(found.values, gp.run(sssp, graph, device="cpu").values)
        assert ("push" in {step.mode for step in found.stats.iterations}) == pushes
    with pytest.raises(ParameterError, match=r"mode='push'.*out-edges do not fit its memory; allow more"):
        run_with(sssp, loaded, mode="push")


@pytest.mark.full
@pytest.mark.parametrize("saved", [(True, "raw"), (True, "packed")], indirect=True, ids=str)
def test_no_memory_between_two_that_do_is_refused(saved):
    """A push reads edge values, with amounts of memory from the least that opens the graph to enough for all values."""
    graph, path, _ = saved
    beside = RUN_BYTES * graph.n
    sssp, most = gp.apps.SSSP(hub(graph)), bytes_held(graph) + graph.m * 4 + 8 * graph.n + beside
    expected, places = gp.run(sssp, graph, device="cpu").values, []
    packed = bytes_held(store.open(path, encoding="packed")) + beside
    for memory in sorted({*range(most // 8, most, most // 16), packed - 1, packed, most - 1, most}):
        try:
            loaded = store.open(path, memory=memory)
            found = run_with(sssp, loaded, device="cpu", mode="push", threads=1)
        except GraphError:
            assert not places
            continue
        np.testing.assert_array_equal(found.values, expected)
        places.append("disk" if loaded.on_disk else loaded.encoding)
    assert sorted(places, key=["disk", "packed", "raw"].index) == places
    assert set(places) == {"disk", "packed", "raw"}


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_packed_where_its_out_edges_have_no_room_for_values(packed, graph_of):
    """The lists are so dense that packed edges leave room to make the values, and raw edges do not."""
    n = np.arange(2000)
    graph = graph_of(twins.Edges(2000, np.repeat(n, 8), (n[:, None] + np.arange(1, 9)).ravel() % 2000,
                                 np.ones(16000, np.int32)))  # fmt: skip
    limit = bytes_held(graph) + graph._arrays.bytes_to_reverse - packed
    loaded = fitted(graph, "a file", "auto", limit, 1)
    assert loaded.encoding == ("packed" if packed else "raw")
    assert "push" in {step.mode for step in run_with(gp.apps.SSSP(0), loaded, mode="push").stats.iterations}


@pytest.mark.slow
@pytest.mark.parametrize("saved", [(True, "raw"), (True, "packed")], indirect=True, ids=str)
def test_forged_values_of_out_edges(saved, tmp_path, monkeypatch):
    """The checksums are valid; a push along negative values would never end."""
    graph, _, encoding = saved
    out = graph._arrays.out_edges
    path, lies = tmp_path / "graph", Adjacency(out.offsets, out.neighbours, np.full(graph.m, -5, graph.edge_dtype))
    forge(monkeypatch, graph, lies, path, encoding=encoding, block_bytes=8192)
    with pytest.raises(GraphError, match=r"needs edge values of 0 or more, but out-edges have -5.*import the"):
        gp.run(gp.apps.SSSP(hub(graph)), opened(path, 500_000), device="cpu")
    with pytest.raises(GraphError, match="but out-edges have -5"):
        gp.run(gp.apps.SSSP(hub(graph)), store.open(path, encoding="packed"), device="cpu")


@pytest.mark.slow
@pytest.mark.parametrize("saved", [(True, "raw"), (True, "packed")], indirect=True, ids=str)
def test_damage_to_the_values_of_out_edges(saved, tmp_path):
    """A run that reads these values finds it; one that pulls, or has raw edges in memory, does not read them."""
    graph, _, encoding = saved
    path, sssp = tmp_path / "graph", gp.apps.SSSP(hub(graph))
    store.save(graph, path, encoding=encoding, block_bytes=8192)
    with GraphDirectory(path) as folder:
        block = int(store.reader_of(folder, store.info(path), "out_values").index["offset"][3])
    data = bytearray((path / "out_values.data").read_bytes())
    data[block + 5] ^= 1
    (path / "out_values.data").write_bytes(data)
    named = rf"out_values.data: block 3, at byte {block} of the file: the block that begins there"
    assert [re.search(named, str(problem)) is not None for problem in store.verify(path)] == [True]
    expected = gp.run(sssp, graph, device="cpu").values
    np.testing.assert_array_equal(run_with(sssp, store.open(path), mode="push").values, expected)
    with pytest.raises(DamagedGraphError, match=named):
        store.open(path, encoding="packed")
    stored = opened(path, 200_000)
    gp.run(gp.apps.BFS(hub(graph)), stored, device="cpu")
    with pytest.raises(DamagedGraphError, match=named):
        run_with(sssp, stored, device="cpu", mode="push")
    np.testing.assert_array_equal(run_with(sssp, stored, device="cpu", mode="pull").values, expected)
