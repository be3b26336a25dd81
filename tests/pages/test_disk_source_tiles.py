"""Pull by tiles of edges on disk: the same answers as in memory, within the memory that a run may take."""

import re
import threading
import weakref

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import GraphError
from garaph_py.executor import memory as footprint
from garaph_py.executor.cpu import pull_tiled
from garaph_py.executor.modes import PULL, PULL_TILED
from garaph_py.graph import tiles as tiling
from garaph_py.pages.memory import PASS_VERTEX_BYTES
from garaph_py.program import bind
from garaph_py.runtime import carry_out as runtime
from garaph_py.storage import directory as store
from garaph_py.storage.fit import bytes_held
from garaph_py.system.sizes import show_bytes
from tests.support import twins
from tests.support.cases import mostly_full
from tests.support.stored_graphs import STORED, hub, with_memory

from ..support.runs import run_with

N, M = 2 * 65536 + 1000, 60_000
NUMBERS = np.random.default_rng(8).random(N)


@pytest.fixture(scope="module", params=STORED)
def saved(request, tmp_path_factory, graph_of):
    """Graphs of three blocks by the type of their edge values, and the directories they are in, on one disk and two."""
    directed, encoding = request.param
    folder, made = tmp_path_factory.mktemp("tiles"), {}
    for name in ("a", "b"):
        (folder / name).mkdir()
    for weights, disks in ((None, ["."]), ("int32", [folder / "a", folder / "b"]), ("float64", ["."])):
        graph, path = graph_of(twins.skewed(61, N, M, weights), directed=directed), folder / f"graph-{weights}"
        store.save(graph, path, encoding=encoding, block_bytes=8192, disks=disks)
        made[weights] = graph, path
    return made


def opened(path, program, room):
    """The graph in `path`, whose edges stay there; `room` is left beside vertices and tiles, of both of which it says
    how many bytes they take."""
    offsets = store.info(path).arrays["in_offsets"].raw_bytes
    graph = store.read_graph(path, "auto", 3 * offsets, None, gp.events.ignore, on_disk=True)
    bound = bind(program, graph)
    needs = footprint.vertex_bytes(bound, graph, arrays=2), footprint.tile_bytes(bound, graph)
    return with_memory(graph, sum(needs) + room), *needs


def programs(graph):
    yield None, gp.apps.PageRank(stop="never")
    yield "int32", gp.apps.PageRank(stop="never", weighted=False)  # which reads no values
    yield "int32", gp.apps.SSSP(hub(graph))
    yield "float64", gp.apps.SSSP(hub(graph))
    yield "float64", gp.apps.NeuralNetwork(NUMBERS)
    if not graph.directed:
        yield None, gp.apps.ConnectedComponents()


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("room", mostly_full([100_000, 2_000_000], "100000"))
def test_answers_are_those_of_memory(saved, room):
    how = {"iterations": 4, "mode": PULL_TILED}
    for weights, program in programs(saved[None][0]):
        graph, path = saved[weights]
        stored, *_ = opened(path, program, room)
        here = run_with(program, graph, threads=2, **how)
        for threads, page_edges in ((1, None), (3, None), (2, 1000)):
            there = run_with(program, stored, threads=threads, page_edges=page_edges, **how)
            assert there.values.tobytes() == here.values.tobytes()
            steps = there.stats.iterations
            assert [(step.mode, step.f, step.edges) for step in steps] == [
                (step.mode, step.f, step.edges) for step in here.stats.iterations
            ]
            assert [step.from_disk > 0 for step in steps] == [True, *[False] * (len(steps) - 1)]


@pytest.mark.slow
def test_tiles_are_for_one_run(saved, monkeypatch):
    """The verifier and later runs can use their memory; a later run does not make tiles unless asked."""
    graph, path = saved["int32"]
    program = gp.apps.SSSP(hub(graph))
    stored, *_ = opened(path, program, 300_000 + PASS_VERTEX_BYTES * N)

    made, left = [], []

    def make_tiles(*given):
        tiles = tiling.make_tiles(*given)
        made.append(weakref.ref(tiles))
        return tiles

    monkeypatch.setattr(pull_tiled, "make_tiles", make_tiles)
    monkeypatch.setattr(runtime, "verifier_of", lambda program: lambda *_: left.append(made[0]()))
    there = run_with(program, stored, mode=PULL_TILED, verify=True, threads=2)
    assert (len(made), left) == (1, [None])
    np.testing.assert_array_equal(there.values, gp.run(program, graph, threads=2).values)
    assert not stored._arrays.has_tiles(weighted=True)
    assert PULL_TILED not in {
        step.mode for step in gp.run(program, stored, device="cpu", options=gp.Options(sync=True)).stats.iterations
    }


@pytest.mark.full
def test_no_room_for_tiles_is_named_before_the_run(saved):
    graph, path = saved["float64"]
    program = gp.apps.SSSP(hub(graph))
    _, _, tiles = opened(path, program, 0)
    stored, vertices, _ = opened(path, program, 300_000 - tiles)
    named = (
        rf"takes {show_bytes(tiles)} of memory for tiles of the edges, {show_bytes(vertices)} for the vertices and .* "
        rf"may take {show_bytes(vertices + 300_000)}; allow .* when the graph is opened .*, or choose another mode"
    )
    with pytest.raises(GraphError, match=named):
        run_with(program, stored, mode=PULL_TILED)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("garaph-disk")]
    found = run_with(program, stored, mode=PULL, sync=True, device="cpu")
    np.testing.assert_array_equal(found.values, gp.run(program, graph).values)


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("kind", mostly_full(["int32", "float64"], "int32"))
def test_tiles_that_have_no_room_in_memory_are_refused(graph_of, tmp_path, kind, encoding):
    """From the least memory that opens the graph: following the advice of the message once is enough."""
    graph, refused = graph_of(twins.skewed(61, 70_000, 900_000, kind)), []
    gp.save(graph, tmp_path / "g", encoding=encoding)
    for program in (gp.apps.SSSP(hub(graph)), gp.apps.PageRank(stop="never", weighted=False)):
        expected = run_with(program, graph, device="cpu", sync=True, iterations=2).values
        for memory in range(bytes_held(graph) // 3, 4 * bytes_held(graph), bytes_held(graph) // 3):
            found = gp.open(tmp_path / "g", memory=memory)
            try:
                run_with(program, found, mode=PULL_TILED, iterations=2)
            except GraphError as error:
                refused.append(found.on_disk)
                advised = re.search(r"allow (.*) when the graph is opened", str(error))[1]
                again = run_with(program, gp.open(tmp_path / "g", memory=advised), mode=PULL_TILED, iterations=2)
                np.testing.assert_allclose(again.values, expected, rtol=1e-12)
    assert True in refused
    assert False in refused
