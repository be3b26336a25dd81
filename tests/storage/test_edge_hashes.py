"""Every writer stores the hashes of the edges, and in-edges and out-edges that do not match are found."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import FormatError, GraphError
from garaph_py.graph.adjacency import Adjacency
from garaph_py.graph.arrays import GraphArrays
from garaph_py.graph.build import from_numbered_edges
from garaph_py.graph.generate import random_rmat, rmat
from garaph_py.graph.graph import Graph
from garaph_py.io import collect
from garaph_py.io.bulk import import_
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.storage import directory as store
from garaph_py.storage import edge_hashes
from garaph_py.storage.edge_hashes import NOT_REVERSED
from garaph_py.storage.lists import UNSORTED
from garaph_py.storage.manifest import EdgeHashes
from garaph_py.storage.restripe import restripe
from tests.support.command import garaph
from tests.support.graphs import small_graph
from tests.support.stored_graphs import dropping, edge_hash, forge, rewrite, rewrite_array, setting

ENCODINGS = pytest.mark.parametrize("encoding", ["raw", "packed"])


def assert_right(directory):
    """The manifest has the hashes of the graph in the directory, and `verify` agrees."""
    found = edge_hash(store.open(directory))
    assert store.info(directory).edge_hashes == EdgeHashes(found, found)
    assert store.verify(directory) == []


# Writers


@pytest.mark.spread
@ENCODINGS
@pytest.mark.parametrize("held", ["raw", "packed"])
@pytest.mark.parametrize("weights", [None, (1, 99)])
@pytest.mark.parametrize("directed", [True, False])
def test_save_stores_hashes(tmp_path, encoding, held, weights, directed):
    graph = rmat(9, directed=directed, weights=weights)
    store.save(graph.packed() if held == "packed" else graph, tmp_path / "g", encoding=encoding)
    assert_right(tmp_path / "g")


@pytest.mark.parametrize("graph", [small_graph(), from_numbered_edges([], [], 3), from_numbered_edges([], [], 0)])
def test_save_stores_hashes_of_floats_and_of_no_edges(tmp_path, graph):
    store.save(graph, tmp_path / "g")
    assert_right(tmp_path / "g")


@pytest.mark.full
@ENCODINGS
@pytest.mark.parametrize("out_of_core", [False, True])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, (1, 99)])
def test_generators_store_hashes(tmp_path, encoding, out_of_core, directed, weights, monkeypatch):
    if out_of_core:
        monkeypatch.setattr(collect, "SORTING", 1 << 50)
    options = ImportOptions(directed, encoding=encoding)
    import_.write_random(random_rmat(9, weights=weights), tmp_path / "g", options, memory="1GiB")
    assert_right(tmp_path / "g")


def test_imports_store_hashes(tmp_path):
    """Imports out of core make the same manifest: see tests/io/bulk/test_import.py."""
    np.savetxt(tmp_path / "edges.txt", np.random.default_rng(2).integers(0, 300, (2000, 3)), "%d")
    import_.import_file(tmp_path / "edges.txt", tmp_path / "g", ImportOptions())
    assert_right(tmp_path / "g")


def test_convert_and_restripe_store_hashes(tmp_path, monkeypatch):
    store.save(rmat(9, weights=(1, 9)), tmp_path / "raw", encoding="raw")
    for source, target in (("raw", "packed"), ("packed", "unpacked")):
        encoding = "packed" if target == "packed" else "raw"
        assert garaph(monkeypatch, "convert", tmp_path / source, tmp_path / target, "--encoding", encoding) == 0
        assert_right(tmp_path / target)
    (tmp_path / "disk").mkdir()
    restripe(tmp_path / "packed", [tmp_path / "disk"])
    assert_right(tmp_path / "packed")
    assert store.info(tmp_path / "packed").generation == 1


def test_a_graph_that_contradicts_itself_is_not_saved(tmp_path):
    one, other = rmat(6, seed=1), rmat(6, seed=2)
    with pytest.raises(GraphError, match="out-edges are not the in-edges reversed"):
        store.save(one._replace(out_edges=other._arrays.out_edges), tmp_path / "g")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_pieces(monkeypatch):
    """Three threads share pieces of 1,024 edges."""
    monkeypatch.setattr(edge_hashes, "CHUNK", 1024)
    monkeypatch.setattr(edge_hashes, "available_cores", lambda: 6)


@ENCODINGS
def test_the_hashes_of_pieces_add_up(tmp_path, small_pieces, encoding):
    graph = rmat(9, weights=(1, 99), directed=True)
    store.save(graph.packed() if encoding == "packed" else graph, tmp_path / "g")
    assert_right(tmp_path / "g")


@pytest.mark.parametrize("place", [1000, 1023])
def test_a_list_that_falls_is_not_saved(tmp_path, small_pieces, place):
    """Within a piece, and from one to the next."""
    graph = from_numbered_edges(range(1, 2501), [0] * 2500, 2501)
    into = graph._arrays.in_edges
    neighbours = np.array(into.neighbours)
    neighbours[[place, place + 1]] = neighbours[[place + 1, place]]
    with pytest.raises(GraphError, match=UNSORTED):
        store.save(graph._replace(in_edges=Adjacency(into.offsets, neighbours)), tmp_path / "g")
    assert list(tmp_path.iterdir()) == []


# Damage that carries right checksums


def test_shuffled_targets_are_found(tmp_path):
    """The same graph's targets in another order: some lists no longer ascend."""
    store.save(rmat(8), tmp_path / "g", encoding="raw")
    rewrite_array(tmp_path / "g", "out_targets", np.random.default_rng(1).shuffle)
    with pytest.raises(FormatError, match=r"out_targets\.data: .*not in ascending order"):
        store.open(tmp_path / "g")
    assert "not in ascending order" in str(store.verify(tmp_path / "g")[0])


@ENCODINGS
@pytest.mark.parametrize("named", [False, True])
def test_out_edges_of_another_graph_are_found(tmp_path, encoding, named, monkeypatch):
    graph, other = (from_numbered_edges(*np.random.default_rng(k).integers(0, 50, (2, 400)), 50) for k in (1, 2))
    forge(monkeypatch, graph, other._arrays.out_edges, tmp_path / "g", encoding=encoding)
    if named:
        rewrite(tmp_path / "g", setting("edge_hashes", "out", f"{edge_hash(other):016x}"))
    problems = map(str, store.verify(tmp_path / "g"))
    assert ["the out-edges are not the in-edges reversed" in problem for problem in problems] == [True]
    if named:
        with pytest.raises(FormatError, match=r"manifest\.json: edge_hashes: in and out differ"):
            store.open(tmp_path / "g")


@pytest.mark.slow
@pytest.mark.spread
@ENCODINGS
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_exchanged_values_are_found(tmp_path, encoding, dtype, monkeypatch):
    sources, targets = np.random.default_rng(1).integers(0, 50, (2, 400))
    graph = from_numbered_edges(sources, targets, 50, np.arange(400).astype(dtype))
    with gp.storage.directory.ThreadPool(1) as pool:
        out = graph._arrays.valued_out_edges(pool)
    values = out.values.copy()
    values[[3, 4]] = values[[4, 3]]
    changed = Adjacency(out.offsets, out.neighbours, values)
    forge(monkeypatch, graph, changed, tmp_path / "g", encoding=encoding)
    assert [NOT_REVERSED in str(problem) for problem in store.verify(tmp_path / "g")] == [True]


def test_edges_in_one_direction_are_found_in_an_undirected_graph(tmp_path):
    edges = from_numbered_edges([0, 1], [1, 2], 3)._arrays.in_edges
    store.save(Graph(GraphArrays(edges, edges, gp.graph.ids.VertexIds(3))), tmp_path / "g")
    assert [NOT_REVERSED in str(problem) for problem in store.verify(tmp_path / "g")] == [True]


def test_all_edges_of_another_graph_are_found(tmp_path):
    store.save(rmat(6), tmp_path / "g")
    rewrite(tmp_path / "g", setting("edge_hashes", {"in": "0" * 16, "out": "0" * 16}))
    assert ["edge_hashes are not those of the edges" in str(found) for found in store.verify(tmp_path / "g")] == [True]


def test_directories_without_hashes_open_and_are_verified(tmp_path, monkeypatch):
    graph, other = (from_numbered_edges(*np.random.default_rng(k).integers(0, 50, (2, 400)), 50) for k in (1, 2))
    store.save(graph, tmp_path / "g")
    forge(monkeypatch, graph, other._arrays.out_edges, tmp_path / "h")
    for name in "gh":
        rewrite(tmp_path / name, dropping("edge_hashes"))
        assert store.info(tmp_path / name).edge_hashes is None
        assert store.open(tmp_path / name).m == 400
    assert store.verify(tmp_path / "g") == []
    assert [NOT_REVERSED in str(problem) for problem in store.verify(tmp_path / "h")] == [True]
    restripe(tmp_path / "g", ["."])
    assert store.info(tmp_path / "g").edge_hashes is None


def test_values_that_only_in_edges_have_are_left_out(tmp_path):
    """As graphs were saved before 2026-11-22."""
    graph = rmat(6, weights=(1, 9))
    store.save(graph, tmp_path / "g", encoding="raw")
    rewrite(tmp_path / "g", dropping("arrays", "out_values"))
    rewrite(tmp_path / "g", dropping("edge_hashes"))
    assert store.verify(tmp_path / "g") == []
    rewrite_array(tmp_path / "g", "in_sources", lambda sources: sources.__setitem__(slice(None), 0))
    assert [NOT_REVERSED in str(problem) for problem in store.verify(tmp_path / "g")] == [True]


@pytest.mark.parametrize(
    "value", [None, 5, [], "0" * 16, {}, {"in": "0" * 16}, {"in": 0, "out": 0}, {"in": "0" * 16, "out": "0" * 15},
              {"in": "0" * 16, "out": "0" * 16, "more": 1}, {"in": "0" * 16, "out": "0" * 15 + "G"}],
)  # fmt: skip
def test_a_damaged_key_is_refused(tmp_path, value):
    store.save(rmat(4), tmp_path / "g")
    rewrite(tmp_path / "g", setting("edge_hashes", value))
    for call in (store.open, store.info):
        with pytest.raises(FormatError, match=r"manifest\.json: edge_hashes: .*; import the graph again"):
            call(tmp_path / "g")
