"""Runs over packed edges give the answer of raw ones, with the same bits if both add in the same order."""

import ctypes
import mmap

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.format import GROUP, RECORD, RUN
from garaph_py.codec.pack import unpack_run, views
from garaph_py.errors import GraphError, ParameterError
from garaph_py.executor.cpu import edges as readers
from garaph_py.executor.modes import NOTIFY_PULL, PULL, PULL_TILED, PUSH
from garaph_py.native import Kernel, numbers_of_packed, sums_of_packed
from garaph_py.pages.memory_source import MemoryPageSource
from tests.support import twins
from tests.support.cases import EXACT, FLOAT, assert_close, assert_exact, columns, hub, mostly_full

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

MODES = (PULL, NOTIFY_PULL)
WAYS = [(1, None), (2, 3000), (3, 700)]
"""Threads, and bounds on pages, that begin and end within runs."""
ITERATIONS = 5

OTHERS = ("SSSP-float", "SSWP-int")
"""Of the exact programs, what two others together do: to compile each over packed edges takes seconds."""

modes = pytest.mark.parametrize("mode", MODES)
floats = pytest.mark.parametrize("case", mostly_full(FLOAT, "PageRank"))


def heavy(weights=None, m=30000):
    """A third of the edges at one vertex: a list over many runs, cut by every bound."""
    edges = twins.skewed(41, 5000, m, weights)
    targets = edges.targets.copy()
    targets[: m // 3] = 2500
    return twins.Edges(edges.n, edges.sources, targets, edges.weights)


def assert_same_bits(one, other):
    for a, b in zip(columns(one), columns(other), strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.fixture(scope="module")
def both(graph_of):
    """A function that gives for a case the edges, as its twin sees them, and the graph, raw and packed."""
    made = {}

    def get(case):
        symmetric = getattr(case, "symmetric", False)
        key = case.weights, symmetric
        if key not in made:
            edges = heavy(case.weights)
            graph = graph_of(edges, directed=not symmetric)
            made[key] = edges.both_ways() if symmetric else edges, graph, graph.packed(2)
        return made[key]

    return get


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("mode", ["auto", *MODES])
@pytest.mark.parametrize("case", mostly_full((case for case in EXACT if case.name not in OTHERS), "SSSP-int"))
def test_exact_answers(both, case, mode, sync):
    edges, _, packed = both(case)
    expected = case.twin(edges)
    for threads, page_edges in WAYS:
        run = run_with(case.program(edges), packed, mode=mode, sync=sync, threads=threads, page_edges=page_edges)
        assert_exact(run, expected)
        assert run.stats.encoding == "packed"
        assert {i.mode for i in run.stats.iterations} <= {*MODES, PUSH}


@pytest.mark.full
@pytest.mark.slow
@modes
@floats
def test_floats_have_the_same_bits(both, case, mode):
    edges, raw, packed = both(case)
    expected = case.twin(edges, ITERATIONS)
    for threads, page_edges in WAYS:
        options = {"mode": mode, "threads": threads, "page_edges": page_edges, "iterations": ITERATIONS}
        found, other = (run_with(case.program(edges), graph, **options) for graph in (packed, raw))
        assert_close(found, expected)
        assert_same_bits(found, other)
        assert [i.edges for i in found.stats.iterations] == [i.edges for i in other.stats.iterations]


@pytest.mark.slow
@floats
def test_asynchronous_floats_on_one_thread_have_the_same_bits(both, case):
    edges, raw, packed = both(case)
    options = {"sync": False, "threads": 1, "mode": PULL, "iterations": ITERATIONS, "page_edges": 3000}
    assert_same_bits(*(run_with(case.program(edges), graph, **options) for graph in (packed, raw)))


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    ("weights", "mode"),
    [
        ("int32", PULL),
        ("int32", NOTIFY_PULL),
        ("float32", PULL),
        pytest.param("uint32", PULL, marks=pytest.mark.full),
        pytest.param("int64", NOTIFY_PULL, marks=pytest.mark.full),
    ],
)
def test_edge_values(graph_of, weights, mode, directed):
    graph = graph_of(heavy(weights), directed=directed)
    source = int(graph.out_degrees.argmax())
    for threads, page_edges in WAYS:
        options = {"mode": mode, "threads": threads, "page_edges": page_edges}
        assert_same_bits(*(run_with(gp.apps.SSSP(source), g, **options) for g in (graph.packed(1), graph)))


@pytest.mark.slow
@pytest.mark.parametrize("mode", mostly_full(["auto", "pull"], "pull"))
def test_integers_that_do_not_fit_stay_raw(graph_of, mode):
    edges = heavy("int64")
    edges = edges.weighted(edges.weights + (np.arange(len(edges.weights)) % 2 << 40))
    packed = graph_of(edges).packed(1)
    assert packed._arrays.in_edges.value_array.codec == "raw"
    assert_exact(run_with(gp.apps.SSSP(hub(edges)), packed, threads=2, mode=mode), twins.sssp(edges, hub(edges)))


@pytest.mark.full
@pytest.mark.spread
@modes
@pytest.mark.parametrize("engine", ["auto", "garaph"])
def test_the_papers_engine(both, mode, engine):
    for case in (EXACT[0], FLOAT[0]):
        edges, raw, packed = both(case)
        options = {"engine": engine, "mode": mode, "threads": 3, "iterations": 3}
        assert_same_bits(*(run_with(case.program(edges), graph, **options) for graph in (packed, raw)))


@pytest.mark.full
@pytest.mark.spread
@modes
@pytest.mark.parametrize(
    "edges",
    [
        twins.Edges(0, np.empty(0, np.int64), np.empty(0, np.int64)),
        twins.Edges(5, np.empty(0, np.int64), np.empty(0, np.int64)),
        twins.Edges(9000, np.array([8999]), np.array([0])),
        twins.Edges(3, np.zeros(5 * RUN, np.int64), np.full(5 * RUN, 2)),
    ],
    ids=["empty", "no edges", "one edge", "one list"],
)
def test_small_graphs(graph_of, edges, mode):
    graph = graph_of(edges)
    for threads in (1, 3):
        options = {"mode": mode, "threads": threads, "iterations": 3}
        assert_same_bits(*(run_with(gp.apps.PageRank(), g, **options) for g in (graph.packed(1), graph)))


def test_an_encoding_for_one_run(graph_of):
    graph = graph_of(twins.skewed(3, 500, 5000))
    for given, wanted, stored in (
        (graph, "auto", "raw"), (graph, "packed", "packed"), (graph.packed(1), "auto", "packed"),
        (graph.packed(1), "raw", "raw"),
    ):  # fmt: skip
        run = run_with(gp.apps.PageRank(), given, encoding=wanted, iterations=2, threads=2)
        assert run.stats.encoding == stored
    with pytest.raises(ParameterError, match="encoding='zip': choose from auto, raw, packed"):
        run_with(gp.apps.PageRank(), graph, encoding="zip")


@pytest.mark.parametrize("case", mostly_full((case for case in FLOAT if case.name != "HeatSimulation"), "PageRank"))
def test_tiles(both, case):
    edges, raw, packed = both(case)
    how = {"mode": PULL_TILED, "iterations": 4, "threads": 2}
    expected = run_with(case.program(edges), raw, **how)
    for given, encoding in ((packed, "auto"), (raw, "packed"), (packed, "raw")):
        run = run_with(case.program(edges), given, encoding=encoding, **how)
        assert_same_bits(run, expected)
        assert {i.mode for i in run.stats.iterations} == {PULL_TILED}


@pytest.mark.parametrize("sync", [True, pytest.param(False, marks=pytest.mark.full)], ids=["sync", "async"])
@pytest.mark.parametrize("case", mostly_full(EXACT, "SSSP-int"))
def test_push(both, case, sync):
    edges, raw, packed = both(case)
    options = {"mode": PUSH, "sync": sync}
    for threads, _ in WAYS:
        found, other = (run_with(case.program(edges), g, threads=threads, **options) for g in (packed, raw))
        assert_exact(found, case.twin(edges))
        if sync:
            assert [i.edges for i in found.stats.iterations] == [i.edges for i in other.stats.iterations]


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", ["int32", "float32"])
def test_push_along_edges_with_values(graph_of, weights, directed):
    graph = graph_of(heavy(weights), directed=directed)
    program = gp.apps.SSSP(int(graph.out_degrees.argmax()))
    for threads, _ in WAYS:
        options = {"mode": PUSH, "threads": threads, "sync": True}
        assert_same_bits(*(run_with(program, g, **options) for g in (graph.packed(1), graph)))


@pytest.mark.slow
def test_a_run_unpacks_no_array(graph_of, monkeypatch):
    """It unpacks only a window at a time of what it reads."""
    packed = graph_of(heavy("int32")).packed(1)
    monkeypatch.setattr("garaph_py.graph.adjacency.decoded", None)
    gp.run(gp.apps.SSSP(0), packed, threads=2)
    gp.run(gp.apps.PageRank(), packed, threads=2, iterations=2)


@pytest.mark.slow
def test_negative_values_are_named(graph_of):
    edges = twins.Edges(3, np.array([0, 1]), np.array([1, 2]), np.array([4, -7]))
    with pytest.raises(GraphError, match="the edge 1 -> 2 has -7"):
        gp.run(gp.apps.SSSP(0), graph_of(edges).packed(1))


# The windows.


def test_sums_of_packed_numbers_of_every_width():
    def sums_of_all(words, begins, sums, told):
        for width in range(33):
            last, wrapped = sums_of_packed(words, width, width, begins[width], np.uint32(3000000000), sums, 32 * width)
            told[2 * width], told[2 * width + 1] = last, wrapped
        return 0

    rng = np.random.default_rng(8)
    words, kernel = rng.integers(0, 2**32, 70, np.uint32), Kernel("u32* u32* u32* u32*", sums_of_all)
    few = rng.integers(0, 2**32, (4, 33), np.uint32)
    for begins in (0 * few[0], few[0] & few[1] & few[2], few[3], few[0] | few[1] | few[2], ~(0 * few[0])):
        found, wanted = np.zeros((2, 33 * 32 + 66), np.uint32)
        kernel(words, begins, found[66:], found[:66])
        kernel.function(words, begins, wanted[66:], wanted[:66])
        np.testing.assert_array_equal(found, wanted)


def test_numbers_of_every_width():
    def all_numbers(words, numbers):
        for width in range(33):
            numbers_of_packed(words, width, width, numbers, 32 * width)
        return 0

    words, kernel = np.random.default_rng(9).integers(0, 2**32, 70, np.uint32), Kernel("u32* u32*", all_numbers)
    found, wanted = np.zeros((2, 33 * 32), np.uint32)
    kernel(words, found)
    kernel.function(words, wanted)
    np.testing.assert_array_equal(found, wanted)


def test_words_beyond_the_last_number_need_not_exist():
    def sums_up_to(words, end, sums):
        for width in range(33):
            sums_of_packed(words, end - width, width, np.uint32(0), np.uint32(0), sums, 32 * width)
        return 0

    size, rng = mmap.PAGESIZE, np.random.default_rng(10)
    memory = mmap.mmap(-1, 2 * size)
    words = np.frombuffer(memory, np.uint32)
    words[:] = rng.integers(0, 2**32, len(words), np.uint32)
    unreadable = ctypes.c_void_p(words.ctypes.data + size), ctypes.c_size_t(size), 0
    assert ctypes.CDLL(None).mprotect(*unreadable) == 0
    kernel = Kernel("u32* i64 u32*", sums_up_to)
    for end in range(size // 4 - 40, size // 4 + 1):
        found, wanted = np.zeros((2, 33 * 32), np.uint32)
        kernel(words, end, found)
        kernel.function(words, end, wanted)
        np.testing.assert_array_equal(found, wanted)


def test_the_place_of_a_group_is_the_sum_of_the_widths_before_it():
    records, rng = np.zeros(3, RECORD), np.random.default_rng(4)
    records["first_word"] = 5, 1 << 40, 7
    records["widths"] = rng.integers(0, 33, (3, RUN // GROUP))
    records["widths"][2] = 32
    kernel = Kernel("i64* u8* i64 i64", readers.place)
    for run, group in np.ndindex(3, RUN // GROUP):
        wanted = int(records["first_word"][run]) + int(records["widths"][run, :group].sum())
        assert kernel(*views(records), run, group) == wanted
        assert readers.place(*views(records), run, group) == wanted


def test_the_first_number_of_a_list_is_its_first_source():
    rng = np.random.default_rng(11)
    records = np.zeros(1, RECORD)
    records["widths"] = np.append(np.arange(31), 32)
    words = rng.integers(0, 2**32, int(records["widths"].sum()), np.uint32)
    numbers = np.zeros(RUN, np.uint32)
    unpack_run(*views(records), 0, words, 0, numbers)
    first_of_list = readers.first_of_list

    def number_of(records, widths, words, first_word, base, e):
        return np.int64(first_of_list((records, widths, words, first_word, base), e))

    kernel = Kernel("i64* u8* u32* i64 i64 i64", number_of)
    for e in range(RUN):
        assert kernel(*views(records), words, 0, 7168, 7168 + e) == numbers[e]
        assert number_of(*views(records), words, 0, 7168, 7168 + e) == numbers[e]


@pytest.mark.parametrize("ends", [False, True])
def test_a_walk_of_parts_may_end_after_the_first_edge_of_a_list(graph_of, ends):
    graph = graph_of(heavy(None, m=9000))
    packed, offsets = graph.packed(1), graph._arrays.in_edges.offsets
    reader, asked, alone = readers.reader_of(packed._arrays.in_edges, None), [], 0

    def segment(acc, begin, end, sources, base, last, before, values, values_base, context):
        return acc + [int(readers.source_of(sources, e - base, before)) for e in range(begin, end)], end - begin

    def is_done(acc, context):
        asked.append(context)
        return ends

    walk = reader.walk(segment, readers.PARTS_OF_LISTS, is_done)
    (page,) = MemoryPageSource(packed._arrays.in_edges, 1 << 20).pages
    arguments = reader.arguments(1, reader).of(MemoryPageSource(packed._arrays.in_edges, 1 << 20).edges(page))
    edges = tuple(a.array[0] if isinstance(a, readers.PerCall) else a for a in arguments)
    for v in np.random.default_rng(3).integers(0, graph.n, 40):
        begin, end = map(int, offsets[v : v + 2])
        asked.clear()
        found, visited = walk([], offsets, v, begin, end, edges, ("context",))
        wanted = graph._arrays.in_edges.neighbours[begin : begin + 1 if asked and ends else end].tolist()
        assert (found, visited, asked) == (wanted, len(wanted), [("context",)] * len(asked))
        alone += len(asked)
    assert 0 < alone <= 40


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("how", [readers.IN_ORDER, readers.WHOLE_LISTS, readers.PARTS_OF_LISTS])
@pytest.mark.parametrize("weights", [None, "int64", "float32"])
def test_a_walk_meets_the_edges_of_its_list(graph_of, monkeypatch, weights, how):
    graph = graph_of(heavy(weights, m=9000))
    packed, rng = graph.packed(1), np.random.default_rng(2)
    dtype, offsets = packed.edge_dtype, graph._arrays.in_edges.offsets
    reader = readers.reader_of(packed._arrays.in_edges, dtype)
    met = []

    def segment(acc, begin, end, sources, base, last, before, values, values_base, context):
        if how == readers.IN_ORDER:
            following = np.arange(begin, min(end + readers.AHEAD, page.last_edge))
            np.testing.assert_array_equal(sources[following - base], graph._arrays.in_edges.neighbours[following])
        for e in range(begin, end):
            met.append(
                (e, readers.source_of(sources, e - base, before), 0 if dtype is None else values[e - values_base])
            )
        return acc, end - begin

    walk = reader.walk(segment, how)
    source = MemoryPageSource(packed._arrays.in_edges, 2500)
    for page in source.pages:
        arguments = reader.arguments(1, reader).of(source.edges(page))
        edges = tuple(a.array[0] if isinstance(a, readers.PerCall) else a for a in arguments)
        some = rng.integers(page.first_vertex, page.last_vertex, 12)
        in_a_row = np.arange(page.first_vertex, min(page.first_vertex + 12, page.last_vertex))
        for v in np.sort(np.append(some, in_a_row)):
            first, last = map(int, offsets[v : v + 2])
            begin, end = sorted(map(int, rng.integers(first, last + 1, 2)))
            met.clear()
            assert walk(0, offsets, v, begin, end, edges, ()) == (0, end - begin)
            numbers = [0] * (end - begin) if dtype is None else graph._arrays.in_edges.values[begin:end].tolist()
            wanted = zip(range(begin, end), graph._arrays.in_edges.neighbours[begin:end].tolist(), numbers, strict=True)
            assert met == list(wanted)
