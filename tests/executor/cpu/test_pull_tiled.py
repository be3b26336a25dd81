"""Pull by tiles: the same answers as by pages, over blocks of 65,536 vertices."""

from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.dispatch.observation import Observation
from garaph_py.dispatch.policy import POLICIES
from garaph_py.errors import ParameterError
from garaph_py.executor.cpu import pull_tiled
from garaph_py.executor.cpu.pull_tiled import tiles_of
from garaph_py.executor.modes import NOTIFY_PULL, PULL, PULL_TILED, PUSH
from garaph_py.graph import tiles as making_tiles
from garaph_py.native.kernel import address_of
from garaph_py.native.threads import ThreadPool
from garaph_py.runtime import tiling
from garaph_py.runtime.tiling import suits_tiles
from garaph_py.system.memory import on_own_pages
from tests.support import twins
from tests.support.cases import EXACT, FLOAT, assert_close, assert_exact, mostly_kept

from ...support.runs import run_with

N = 3 * 65536 - 1000  # three blocks, the last one partial, and of its last words none or part


@example(degrees=[1] * 164, scale=400, few=1 << 16)  # its bounds are multiples of more than they were rounded to
@example(degrees=[*[1] * 31, 3000] * 9, scale=1, few=100)  # hubs are the last of 16
@given(
    degrees=st.lists(st.integers(0, 3000), max_size=300),
    scale=st.sampled_from([1, 64, 400]),
    few=st.sampled_from([100, 1 << 16]),
)
def test_blocks_of_destinations_have_even_shares_of_the_edges(degrees, scale, few):
    """But for blocks that would have more than 65,536 vertices, their bounds are as near to even shares as can be."""
    degrees = np.repeat(np.array(degrees, np.int64), scale)
    offsets = np.append(0, np.cumsum(degrees))
    with mock.patch.object(making_tiles, "FEW_EDGES", few):
        bounds = making_tiles.destination_bounds(offsets)
    n, sizes = len(degrees), np.diff(bounds)
    assert (bounds[0], bounds[-1]) == (0, n)
    assert ((sizes > 0) & (sizes <= 1 << 16)).all()
    count = min(max(offsets[-1] // few, 1), making_tiles.BLOCKS)
    even = np.arange(1, count) * offsets[-1] // count
    off = np.abs(offsets[bounds] - even[:, None]).min(1)

    def may_be(granule):
        """Whether the bounds are those multiples of the granule that are nearest to even shares."""
        has_enough = granule == 16 or (len(sizes) >= count and (sizes[:-1] >= 8 * granule).all())
        may = offsets[np.append(np.arange(0, n, granule), n)]
        is_nearest = (off == np.abs(may - even[:, None]).min(1)).all()
        return has_enough and (bounds[:-1] % granule == 0).all() and is_nearest

    assert any(may_be(1 << bits) for bits in range(4, 14))


@pytest.mark.parametrize(("n", "blocks"), [(1 << 22, 128), (9_000_000, 160), (1 << 24, 288)])
def test_there_are_as_many_blocks_of_destinations_for_each_of_16_threads(n, blocks):
    """Also of graphs whose blocks would have too many vertices, if they were 128."""
    offsets = np.arange(n + 1, dtype=np.int64) * 16
    bounds = making_tiles.destination_bounds(offsets)
    assert len(bounds) - 1 == blocks
    assert np.diff(bounds).max() <= 1 << 16
    assert np.diff(bounds).max() <= 1.1 * n / blocks


@given(degrees=st.lists(st.integers(0, 3000), max_size=300), scale=st.sampled_from([1, 64, 400]))
def test_pieces_have_few_edges_and_lie_in_one_block_of_sources(degrees, scale):
    offsets = np.append(0, np.cumsum(np.repeat(degrees, scale))).astype(np.int64)
    pieces = making_tiles.piece_bounds(offsets)
    most = max(offsets[-1] // making_tiles.PIECES, making_tiles.FEW_EDGES)
    assert (pieces[0], pieces[-1]) == (0, len(offsets) - 1)
    assert (np.diff(pieces) > 0).all()
    assert (pieces[:-1] >> 16 == pieces[1:] - 1 >> 16).all()
    assert ((np.diff(offsets[pieces]) <= most + np.diff(offsets).max(initial=0)) | (np.diff(pieces) == 1)).all()


def test_pieces_with_the_most_edges_come_first():
    offsets, rows = np.array([0, 5, 6, 20, 20, 29]), np.arange(8).reshape(4, 2)
    begin, end, own = making_tiles.pieces_of(1, 5, np.array([0, 2, 3, 4, 5]), offsets, rows)
    assert (begin.tolist(), end.tolist()) == ([2, 4, 1, 3], [3, 5, 2, 4])  # 14, 9, 1 and 0 edges
    assert [own.array[start : start + 2].tolist() for start in own.starts] == rows[[1, 3, 0, 2]].tolist()


@pytest.mark.parametrize("kind", ["float32", "float64", [("a", "f4"), ("b", "f8")]], ids=str)
@pytest.mark.parametrize("n", [0, 1, 1000])
def test_sums_begin_with_a_cache_line(n, kind):
    sums = pull_tiled.in_lines(n, np.dtype(kind))
    assert (len(sums), sums.dtype) == (n, np.dtype(kind))
    assert not n or address_of(sums) % 64 == 0


@pytest.mark.full
def test_order_does_not_change_the_sums(graph_of, monkeypatch):
    """A sum has the same terms in the same order however destinations are divided."""
    graph = graph_of(twins.skewed(67, N, 120_000), directed=False)
    rank = gp.apps.PageRank(weighted=False)
    whole = run_with(rank, graph, mode="pull-tiled", threads=2, iterations=4)
    graph.release()
    monkeypatch.setattr(making_tiles, "FEW_EDGES", 700)
    for threads in 1, 3:
        divided = run_with(rank, graph, mode="pull-tiled", threads=threads, iterations=4)
        np.testing.assert_allclose(divided.values, whole.values, rtol=1e-12)  # but for the order of the total's parts


def example_of(graph_of, case, n=N, m=120_000):
    edges = twins.skewed(61, n, m, case.weights)
    if getattr(case, "symmetric", False):
        return edges.both_ways(), graph_of(edges, directed=False)
    return edges, graph_of(edges)


@pytest.mark.spread
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("size", "few"), [(1, 1 << 16), (3, 1 << 16), (3, 500)])
def test_tiles_hold_every_edge_once_and_in_order(graph_of, monkeypatch, weighted, size, few):
    """Also where blocks of destinations are divided, down to 16 vertices, because they have many edges."""
    monkeypatch.setattr(making_tiles, "FEW_EDGES", few)
    edges = twins.skewed(62, N, 50_000, "int32")
    graph = graph_of(edges, weighted=weighted)
    with ThreadPool(size) as pool:
        tiles = tiles_of(graph._arrays, weighted, None, pool)
    rows = len(tiles.bounds) - 1
    assert (rows == 3) == (few > graph.m)
    tile = np.repeat(np.arange(3 * rows), np.diff(tiles.starts))
    targets = tiles.bounds[tile // 3] + (tiles.edges >> 16)
    sources = ((tile % 3) << 16) + (tiles.edges & 0xFFFF)
    assert (np.lexsort((targets, sources, tile)) == np.arange(graph.m)).all()
    columns = [sources, targets, tiles.values] if weighted else [sources, targets]
    given = [edges.sources, edges.targets, edges.weights][: len(columns)]
    assert sorted(zip(*(c.tolist() for c in columns), strict=True)) == sorted(
        zip(*(c.tolist() for c in given), strict=True)
    )


def test_many_threads_make_the_same_tiles_in_small_pages(graph_of, monkeypatch):
    small = []

    def noted(length, dtype, sparse=False):
        small.append((length, dtype.name, sparse))
        return on_own_pages(length, dtype, sparse)

    monkeypatch.setattr(making_tiles, "on_own_pages", noted)
    graph = graph_of(twins.skewed(66, N, 20_000, "int32"))
    made = []
    for size in 2, making_tiles.MANY_THREADS:
        with ThreadPool(size) as pool:
            made.append(tiles_of(graph._arrays, True, None, pool))
        graph.release()
        assert len(small) == (2 if size > 2 else 0)
    assert small == [(graph.m, "uint32", True), (graph.m, "int32", True)]
    for name in "edges", "values", "starts":
        assert getattr(made[0], name).tobytes() == getattr(made[1], name).tobytes()


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("weights", [None, "int32", "float64"])
def test_tiles_of_packed_edges_are_the_same(graph_of, monkeypatch, weights, directed):
    """Edges are also unpacked in parts of several blocks, and in parts of one block."""
    monkeypatch.setattr(pull_tiled, "UNPACKED", 7000)
    graph = graph_of(twins.skewed(65, N, 50_000, weights), directed=directed)
    packed = graph.packed(1)
    with ThreadPool(2) as pool:
        one, other = (tiles_of(g._arrays, weights is not None, None, pool) for g in (graph, packed))
    assert one.edges.tobytes() == other.edges.tobytes()
    assert one.starts.tobytes() == other.starts.tobytes()
    assert weights is None or (one.values.dtype == weights and one.values.tobytes() == other.values.tobytes())
    assert packed._arrays.has_tiles(weights is not None)


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (2, 5), (3, 1003), (0, 1 << 14)])
@pytest.mark.parametrize("n", [pull_tiled.CACHED, pull_tiled.CACHED + 1])
def test_a_tile_adds_each_edge_once_and_prefetches_the_next_block(n, begin, end):
    """The values of the next block, from its first to its last, or only the first if all are cached anyway."""
    rng, fetched = np.random.default_rng(68), []
    program = SimpleNamespace(
        gather=lambda parameters, value, edge, destination, source: value * edge + source,
        sum=lambda a, b: a + b,
        edge_at=lambda values, e: values[e],
        value=SimpleNamespace(load=lambda values, v: values[v], fetch=lambda values, v: fetched.append(v)),
        accumulator=SimpleNamespace(load=lambda sums, v: sums[v], store=np.ndarray.__setitem__),
    )
    first_source, first = 2 << 16, 32
    places, sources = rng.integers(0, 50, end), rng.integers(0, 1 << 16, end)
    t = SimpleNamespace(
        n=n, parameters=None, sums=np.zeros(100, np.int64), tile_values=rng.integers(0, 9, end),
        values=rng.integers(0, 9, 3 << 16), tiles=(places << 16 | sources).astype(np.uint32),
    )  # fmt: skip
    pull_tiled.make_pull_tile(program)(t, begin, end, first_source, first)
    expected, tile = np.zeros(100, np.int64), slice(begin, end)
    added = (t.values[first_source + sources] * t.tile_values + first_source + sources)[tile]
    np.add.at(expected, first + places[tile], added)
    np.testing.assert_array_equal(t.sums, expected)
    assert len(fetched) == (end - begin) // pull_tiled.UNROLLED
    step = (pull_tiled.UNROLLED << 16) // max(end - begin, 1) if n > pull_tiled.CACHED else 0
    assert fetched == [(3 << 16) + step * k for k in range(len(fetched))]
    assert all(v < 4 << 16 for v in fetched)


@pytest.mark.full
def test_prefetching_leaves_answers_as_they_are(graph_of, monkeypatch):
    program, graph = gp.apps.PageRank(), graph_of(twins.skewed(69, N, 120_000, "float32"))
    expected = run_with(program, graph, mode="pull-tiled", iterations=4)
    monkeypatch.setattr(pull_tiled, "CACHED", 0)
    monkeypatch.setattr("garaph_py.executor.cpu.program._known", {})  # kernels that prefetch
    assert run_with(program, graph, mode="pull-tiled", iterations=4).values.tobytes() == expected.values.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("case", mostly_kept(case for case in FLOAT if case.name != "HeatSimulation"))
def test_floats_equal_their_twin_and_themselves(graph_of, case):
    edges, graph = example_of(graph_of, case)
    expected = case.twin(edges, 4)
    runs = [run_with(case.program(edges), graph, mode="pull-tiled", threads=k, iterations=4) for k in (1, 2, 7)]
    for run in runs:
        assert_close(run, expected)
        assert run.values.tobytes() == runs[0].values.tobytes()
        assert {i.mode for i in run.stats.iterations} == {PULL_TILED}


@pytest.mark.full
@pytest.mark.parametrize("case", mostly_kept(case for case in EXACT if case.name != "BFS"))
def test_exact_answers_are_the_same(graph_of, case):
    edges, graph = example_of(graph_of, case, m=400_000)
    run = run_with(case.program(edges), graph, mode="pull-tiled", threads=2)
    assert_exact(run, case.twin(edges))


@pytest.mark.full
def test_synchronous_iterations_by_tiles_see_the_values_of_the_last(graph_of):
    chain = twins.Edges(65540, np.array([0, 5]), np.array([5, 65537])).both_ways()
    graph = graph_of(chain, directed=False)
    for iterations in range(1, 4):
        tiled, paged = (
            run_with(gp.apps.ConnectedComponents(), graph, mode=mode, sync=True, iterations=iterations, threads=2)
            for mode in ("pull-tiled", "pull")
        )
        assert tiled.values.tobytes() == paged.values.tobytes()
    assert tiled.values[65537] == 0


@pytest.mark.full
@pytest.mark.parametrize(("deterministic", "sparse"), [(True, NOTIFY_PULL), (False, PUSH)])
def test_tiled_and_other_iterations_take_turns(graph_of, deterministic, sparse):
    """Dense iterations use tiles, sparse ones notify or push; each continues from the state that the other left."""
    edges = twins.skewed(63, 3000, 40_000)
    graph = graph_of(edges)
    assert PULL_TILED not in {
        i.mode for i in gp.run(gp.apps.PageRank(weighted=False), graph, threads=1).stats.iterations
    }
    run_with(
        gp.apps.PageRank(weighted=False), graph, mode="pull-tiled", iterations=1
    )  # makes tiles, which the graph keeps
    program, how = gp.apps.DeltaPageRank(tolerance=0.05, weighted=False), {"iterations": 60, "threads": 1}
    run = run_with(program, graph, deterministic=deterministic, **how)
    modes = [i.mode for i in run.stats.iterations]
    assert modes[0] == PULL_TILED
    assert sparse in modes
    assert_close(run, twins.delta_pagerank(edges, len(modes), tolerance=0.05))


def test_a_long_run_makes_tiles_by_itself(graph_of, monkeypatch):
    monkeypatch.setattr(tiling, "LEAST_TILED_EDGES", 1 << 17)
    edges = twins.skewed(70, N, 150_000)
    graph, program = graph_of(edges), gp.apps.PageRank(weighted=False, stop="never")
    least = tiling.LEAST_TILED_ITERATIONS
    short = gp.run(program, graph, iterations=least - 1, device="cpu", threads=2)
    assert {i.mode for i in short.stats.iterations} == {PULL}
    run = gp.run(program, graph, iterations=least, device="cpu", threads=2)
    assert {i.mode for i in run.stats.iterations} == {PULL_TILED}
    np.testing.assert_allclose(run.values, twins.pagerank(edges, least), rtol=1e-12)
    graph.release()
    assert not graph._arrays.has_tiles(False)


@pytest.mark.parametrize(
    ("program", "options"),
    [
        (gp.apps.BFS(0), {}),
        (gp.apps.HeatSimulation(), {}),
        (gp.apps.PageRank(), {"sync": False}),
    ],
    ids=["done", "dst", "asynchronous"],
)
def test_programs_that_cannot_use_tiles_are_refused(graph_of, program, options):
    graph = graph_of(twins.skewed(64, 50, 200), directed=False)
    with pytest.raises(ParameterError, match=r"mode='pull-tiled' is for synchronous runs.*choose another mode"):
        run_with(program, graph, mode="pull-tiled", **options)


def mode_of(engine="auto", active_edges=900, tiles=True):
    return POLICIES[engine].decide(Observation(100, 1000, 50, active_edges, tiles=tiles)).mode


def test_dense_iterations_use_tiles_where_there_are_some():
    assert mode_of() == PULL_TILED
    assert mode_of(tiles=False) == PULL
    assert mode_of(engine="garaph") == PULL
    assert mode_of(active_edges=400) == PULL


@pytest.mark.full
def test_tiles_without_values_do_not_lead_to_tiles_with_them(graph_of):
    graph = graph_of(twins.skewed(66, 500, 3000, "float64"))
    run_with(gp.apps.PageRank(weighted=False), graph, mode="pull-tiled", iterations=1)
    assert suits_tiles(graph._arrays, False, 1)
    assert PULL_TILED not in {
        i.mode for i in gp.run(gp.apps.CircuitSimulation(), graph, iterations=2, threads=1).stats.iterations
    }


@pytest.mark.parametrize(
    ("has_tiles", "hub_share", "threads", "suits"),
    [(True, 0.1, 2, True), (False, 0.1, 2, False), (True, 0.8, 2, False), (True, 0.8, 1, True)],
)
def test_tiles_are_not_used_if_one_thread_would_have_most_work(has_tiles, hub_share, threads, suits):
    n, m = 1 << 20, 32 << 20
    offsets = np.linspace(m * hub_share, m, n + 1).astype(np.int64)
    offsets[0] = 0
    ends = offsets[making_tiles.destination_bounds(offsets)]
    starts = np.stack([ends, np.append((ends[1:] + ends[:-1]) // 2, 0)], 1).ravel()[:-1]  # two blocks of sources
    tiles = making_tiles.Tiles(2, making_tiles.destination_bounds(offsets), starts, np.empty(0, np.uint32), None)
    assert tiles.edges_of_largest == np.diff(ends).max()
    arrays = SimpleNamespace(m=m, made_tiles=lambda weighted: tiles if has_tiles else None)
    assert suits_tiles(arrays, False, threads) == suits


def test_a_graph_without_vertices_has_no_largest_block():
    none = np.zeros(1, np.int64)
    assert making_tiles.Tiles(0, none, none, np.empty(0, np.uint32), None).edges_of_largest == 0
