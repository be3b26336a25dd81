"""The engines that push along edge lists, on a device simulated with NumPy: the answers of the CPU, in every way."""

from collections import Counter

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.policy import POLICIES
from garaph_py.errors import DeviceError, DeviceMemoryError, ParameterError
from garaph_py.executor.decision import Decision
from garaph_py.executor.gpu import push_from_lists
from garaph_py.executor.gpu.device import FALLBACK, NoDriverError
from garaph_py.executor.gpu.settings import ACCESSED_BY, READ_MOSTLY
from garaph_py.executor.modes import COMPACTED, COPIED, PULL, PUSH, RESIDENT, ZERO_COPY
from garaph_py.executor.partitions import TransferTask
from garaph_py.output.recording import read_recording
from tests.support import numpy_lists, twins
from tests.support.numpy_deltas import Peeled, Weighed
from tests.support.numpy_gpu import FakeFunction, Lengths, Quiet, failing_once, held_after, when_iterations_begin
from tests.support.numpy_lists import FakeManaged
from tests.support.reports import Reader

from ...support.runs import run_with, ways_of

ENGINES = [
    "emogi", "emogi:merge=no", "emogi:align=no", "emogi:element_bytes=8", "emogi:listed=yes",
    "emogi:listed=yes,shared=yes", "emogi:unified=yes", "emogi:split=no", "etagraph", "etagraph:degree_limit=3,smp=no",
    "etagraph:um=no,degree_limit=1", "etagraph:prefetch=no", "grus", "grus:split=no", "grus:byte_map=no",
    "grus:placement=pf+ab", *(f"hytgraph:partition_bytes=2048{switches}" for switches in (
        "", ",transfers=copied", ",transfers=compacted", ",transfers=zero-copy", ",transfers=unified",
        ",transfers=copied,combine=no,overlap=no", ",transfers=copied,topology=no,priority=no",
        ",transfers=copied,recompute=no", ",transfers=copied,byte_map=no", ",transfers=compacted,split=no",
    )),
]  # fmt: skip
WITH_EACH = [
    "emogi", "etagraph", "grus", "hytgraph:partition_bytes=2048", "hytgraph:partition_bytes=2048,transfers=compacted",
]  # fmt: skip
PAIRS = [(engine, program) for program in (Quiet(0), Weighed(9)) for engine in ENGINES]
PAIRS += [(engine, program) for program in (Lengths(0), Peeled(4)) for engine in WITH_EACH]


@pytest.fixture(params=[True, pytest.param(False, marks=pytest.mark.full)], ids=["directed", "undirected"])
def graph(request):
    edges = twins.skewed(4, 3000, 12000)
    lengths = np.random.default_rng(7).integers(1, 20, len(edges.sources)).astype(np.int32)
    named = {"vertices": range(edges.n), "directed": request.param}
    return gp.from_edges(edges.sources, edges.targets, lengths, **named)


def expected(program, graph):
    return run_with(program, graph, device="cpu", mode=PULL, sync=True).values


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "program"), PAIRS, ids=lambda it: it if isinstance(it, str) else type(it).__name__)
def test_the_answer_is_the_cpus(device_with_lists, graph, program, engine):
    driver, wanted = device_with_lists(program, graph), expected(program, graph)
    for sync in (True, None) if isinstance(program, Peeled) else (True, False):
        for _ in range(2):  # the second run finds the lists there
            found = run_with(program, graph, engine=engine, sync=sync)
            assert found.stats.device == "NumPy"
            assert {row.mode for row in found.stats.iterations} == {PUSH}
            np.testing.assert_array_equal(found.values, wanted)
    assert held_after(driver, graph) == 0


@pytest.mark.spread
@pytest.mark.parametrize("engine", ["emogi", "etagraph", "grus"])
def test_supersteps_are_those_of_the_cpu(device_with_lists, graph, engine):
    program = Quiet(0)
    device_with_lists(program, graph)
    found, other = (
        run_with(program, graph, sync=True, **how) for how in ({"engine": engine}, {"device": "cpu", "mode": PUSH})
    )
    rows = [[(row.active, row.f, row.edges) for row in each.stats.iterations] for each in (found, other)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(("engine", "width"), [("emogi", 4), ("emogi:element_bytes=8", 8), ("grus", 0)])
def test_bytes_that_kernels_read_in_host_memory_are_counted(device_with_lists, graph, engine, width):
    program = Quiet(0)
    device_with_lists(program, graph)
    rows = run_with(program, graph, engine=engine).stats.iterations
    assert [row.to_device for row in rows] == [row.edges * width for row in rows]


def test_without_a_gpu_an_engine_that_needs_none_is_named(graph, monkeypatch):
    def find(number=0):
        raise NoDriverError(f"no NVIDIA driver; {FALLBACK}")

    monkeypatch.setattr("garaph_py.executor.gpu.device.find", find)
    with pytest.raises(DeviceError, match=r"or use engine='auto' \(--engine auto\)$"):
        run_with(Quiet(0), graph, engine="emogi")


def test_the_record_says_how_edges_came(device_with_lists, graph):
    program = Quiet(0)
    device_with_lists(program, graph)
    ways = {
        engine: ways_of(run_with(program, graph, engine=engine).stats.iterations)
        for engine in ("emogi", "emogi:unified=yes", "etagraph:um=no")
    }
    assert ways == {"emogi": {"zero-copy"}, "emogi:unified=yes": {"unified"}, "etagraph:um=no": {"resident"}}


def test_the_trace_and_the_report_say_how_edges_came(device_with_lists, graph, tmp_path):
    program, engine = Quiet(0), "hytgraph:partition_bytes=2048,transfers=copied,keep=yes"
    device_with_lists(program, graph)
    rows = run_with(program, graph, engine=engine, trace=tmp_path / "t", report=tmp_path / "r").stats.iterations
    assert ways_of(rows) == {COPIED, RESIDENT}
    assert [row.groups for row in read_recording(tmp_path / "t").stats.iterations] == [row.groups for row in rows]
    heading, *lines = Reader((tmp_path / "r").read_text()).cells
    shown = [line[heading.index("ways")] for line in lines]
    assert shown == [", ".join(f"{group.pages} {group.transfer}" for group in row.groups) for row in rows]


def test_an_engine_may_be_an_object(device_with_lists, graph):
    program = Quiet(0)
    device_with_lists(program, graph)
    found = run_with(program, graph, engine=gp.Emogi(align=False))
    np.testing.assert_array_equal(found.values, expected(program, graph))


class Dense(gp.HyTGraph):
    def plan(self, counts):
        dense = 2 * counts.active_edges > counts.edges
        order = [int(k) for k in counts.active_edges.argsort()[::-1] if counts.active_edges[k]]
        return [TransferTask(COPIED if dense[k] else ZERO_COPY, (k,)) for k in order]


def test_a_policy_of_the_users_decides_how_each_partition_is_transferred(device_with_lists, graph):
    program = Quiet(0)
    device_with_lists(program, graph)
    found = run_with(program, graph, engine=Dense(partition_bytes=2048), sync=True)
    np.testing.assert_array_equal(found.values, run_with(program, graph, device="cpu", sync=True).values)
    assert ways_of(found.stats.iterations) == {COPIED, ZERO_COPY}
    for row in found.stats.iterations:
        dense = row.partitions.active_edges * 2 > row.partitions.edges
        assert {group.transfer: group.pages for group in row.groups}.get(COPIED, 0) == np.count_nonzero(dense)


def test_the_driver_is_told_what_the_engine_says(device_with_lists, graph):
    program = Quiet(0)
    device_with_lists(program, graph)
    run_with(program, graph, engine="emogi:unified=yes")
    assert FakeManaged.made.pop().told == [READ_MOSTLY]
    run_with(program, graph, engine="grus:placement=pf+ab")
    nbytes = 4 * graph.m
    assert FakeManaged.made.pop().told == [(0, nbytes), ACCESSED_BY]
    run_with(program, graph, engine="grus")
    assert FakeManaged.made.pop().told == [(0, nbytes)]


@pytest.mark.parametrize("tau", [0.5, 1.0])
def test_grus_fills_a_part_of_the_memory_around_the_source(device_with_lists, graph, tau, monkeypatch):
    def pushes(*arguments):
        FakeManaged.made[-1].told.append("push")
        list_frontier(*arguments)

    list_frontier = push_from_lists.list_frontier
    monkeypatch.setattr(push_from_lists, "list_frontier", pushes)
    source = graph.n // 2
    program = Quiet(source)
    device_with_lists(program, graph)
    found = run_with(program, graph, engine=f"grus:tau={tau}", gpu_memory="160KiB")
    np.testing.assert_array_equal(found.values, expected(program, graph))
    hint, (first, last), *later = FakeManaged.made.pop().told
    assert hint == ACCESSED_BY
    assert later == ["push"] * len(found.stats.iterations)  # no superstep is timed with the move
    edge = 4 * int(graph._arrays.out_edges.offsets[source])
    assert first <= edge < last
    assert 0 < last - first <= tau * (160 << 10)


def test_lists_that_do_not_fit_are_refused_before_anything_is_moved(device_with_lists, graph):
    program = Quiet(0)
    device_with_lists(program, graph)
    least = {"etagraph": "200KiB", "etagraph:um=no": "200KiB", "emogi:unified=yes": "130KiB"}  # for the vertices
    for engine, budget in least.items():
        with pytest.raises(DeviceMemoryError, match=r"lists take .* allow more with gpu_memory"):
            run_with(program, graph, engine=engine, gpu_memory=budget)
    assert not FakeManaged.made
    run_with(program, graph, engine="emogi", gpu_memory="130KiB")


def test_memory_that_cannot_be_pinned_is_an_error(device_for, graph):
    program = Quiet(0)
    device_for(program, graph)  # it maps nothing
    with pytest.raises(DeviceError, match="pinned; raise the limit"):
        run_with(program, graph, engine="emogi")


def test_a_device_that_fails_costs_no_answer(device_with_lists, monkeypatch, graph):
    program = Quiet(0)
    driver = device_with_lists(program, graph)
    left = failing_once(driver, "memcpy_dtoh")
    when_iterations_begin(monkeypatch, lambda: left.__setitem__(0, 2) if left[0] <= 0 else None)
    found = run_with(program, graph, engine="grus")
    assert "the CPU" in found.stats.note
    np.testing.assert_array_equal(found.values, expected(program, graph))


def test_lists_that_are_there_take_no_room_from_later_runs(device_with_lists, monkeypatch, graph):
    """Memory that the driver counts as used by unified memory is the next run's own."""
    program, free = Quiet(0), 560_000
    driver = device_with_lists(program, graph)
    monkeypatch.setattr(driver, "mem_get_info", lambda: (free - driver.held, free))
    for _ in range(2):
        for engine in "etagraph", "grus", "emogi":
            found = run_with(program, graph, engine=engine)
            np.testing.assert_array_equal(found.values, expected(program, graph))
            if engine == "grus":
                assert [array.told for array in FakeManaged.made[-1:]] == [[(0, 4 * graph.m)]]
    assert len(FakeManaged.made) == 4
    run_with(program, graph, engine="grus")
    run_with(program, graph, device="gpu")
    assert held_after(driver, graph) == 0


def test_grus_fills_memory_anew_for_another_source(device_with_lists, graph):
    device_with_lists(Quiet(0), graph)
    ends = [5, graph.n - 5]
    for source in ends:
        found = run_with(Quiet(source), graph, engine="grus", gpu_memory="160KiB")
        np.testing.assert_array_equal(found.values, expected(Quiet(source), graph))
    (array,) = FakeManaged.made
    for source, (first, last) in zip(ends, array.told[1:], strict=True):
        assert first <= 4 * int(graph._arrays.out_edges.offsets[source]) < last


def test_a_policy_of_the_user_need_not_know_of_lists(graph, monkeypatch):
    class Mine(gp.Policy):
        name = "mine"

        def decide(self, seen):
            return Decision("pull", "always", seen.device)

    monkeypatch.setitem(POLICIES, "mine", Mine())
    for engine in "mine", POLICIES["mine"]:
        found = run_with(Quiet(0), graph, engine=engine, device="cpu")
        np.testing.assert_array_equal(found.values, expected(Quiet(0), graph))
    with pytest.raises(ParameterError, match="has no switches"):
        gp.Options(engine="mine:x=1")


class StoppedError(Exception):
    """Ends a run."""


@pytest.mark.spread
@pytest.mark.parametrize("engine", ["emogi", "etagraph", "grus"])
@pytest.mark.parametrize("program", [Lengths(0), Weighed(9)], ids=lambda program: type(program).__name__)
def test_a_run_goes_on_from_a_checkpoint(device_with_lists, graph, tmp_path, program, engine):
    def stop(event):
        if isinstance(event, gp.events.Checkpoint) and event.iterations >= 2:
            raise StoppedError

    device_with_lists(program, graph)
    how = {"engine": engine, "checkpoint": tmp_path / "c"}
    with pytest.raises(StoppedError):
        run_with(program, graph, checkpoint_every=1, on_event=stop, **how)
    found = run_with(program, graph, resume=True, **how)
    assert found.stats.resumed == 2
    np.testing.assert_array_equal(found.values, expected(program, graph))


class Sums(gp.VertexProgram):
    """It can neither relax nor push deltas."""

    value = np.float32
    sum = gp.add

    def init(self):
        return 1.0

    def gather(self, src):
        return src

    def apply(self, acc):
        return acc


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"program": Sums()}, "Sums cannot push.*engine='auto'"),
        ({"device": "cpu"}, "for a GPU alone"),
        ({"device": "hybrid"}, "for a GPU alone"),
        ({"encoding": "packed"}, "raw edge lists"),
        ({"gpu_order": "hub"}, "has no effect"),
        ({"gather": "segmented"}, "has no effect"),
        ({"page_edges": 5000}, "has no effect"),
        ({"mode": "pull"}, "only pushes; leave mode='pull' out"),
        ({"debug": True}, "leave engine='emogi' out"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_an_engine_cannot_do_is_refused(graph, given, problem):
    with pytest.raises(ParameterError, match=problem):
        run_with(**{"program": Quiet(0), "graph": graph, "engine": "emogi"} | given)


def test_packed_graphs_are_refused(graph):
    with pytest.raises(ParameterError, match="encoding='raw'"):
        run_with(Quiet(0), graph.packed(), engine="grus")


def launched_with(driver, monkeypatch, program, graph, switches, **how):
    """How often a run of hytgraph launches each kernel, and the streams of its copies and kernels."""
    streams, launches, copies = set(), FakeFunction.prepared_async_call, driver.memcpy_htod_async

    def launch(function, grid, block, stream, *told, **how):
        if function.name == "push_vertices":
            streams.add(("kernels", id(stream)))
        launches(function, grid, block, stream, *told, **how)

    def copy(place, array, stream=None):
        streams.add(("copies", id(stream)))
        copies(place, array, stream)

    monkeypatch.setattr(FakeFunction, "prepared_async_call", launch)
    monkeypatch.setattr(driver, "memcpy_htod_async", copy)
    driver.launched.clear()
    run_with(program, graph, engine=f"hytgraph:partition_bytes=2048,transfers=copied{switches}", **how)
    return Counter(name for name, _ in driver.launched), streams


def test_each_technique_of_hytgraph_has_its_switch(device_with_lists, graph, monkeypatch):
    program = Weighed(9)
    driver = device_with_lists(program, graph)

    def launched(switches="", program=program, **how):
        return launched_with(driver, monkeypatch, program, graph, switches, **how)

    usual, streams = launched()
    assert {"push_vertices", "push_pieces", "take_frontier", "apply_in_turn"} <= set(usual)
    assert "push_listed" not in usual
    assert len({stream for _, stream in streams}) == 2
    assert len({stream for _, stream in launched(",overlap=no")[1]}) == 1
    assert launched(",topology=no")[0]["push_listed"]
    assert not {"take_frontier", "apply_in_turn"} & set(launched(",recompute=no")[0])
    assert "push_pieces" not in launched(",split=no")[0]
    assert launched(",combine=no")[0]["push_vertices"] > usual["push_vertices"]
    driver = device_with_lists(Quiet(0), graph)
    again = [launched(switches, Quiet(0), sync=sync)[0]["take_frontier"] > 0
             for switches, sync in (("", False), (",recompute=no", False), ("", True))]  # fmt: skip
    assert again == [True, False, False]


@pytest.mark.spread
@pytest.mark.parametrize("program", [Quiet(0), Weighed(9)], ids=lambda program: type(program).__name__)
@pytest.mark.parametrize("transfers", [COPIED, COMPACTED, ZERO_COPY])
def test_bytes_of_each_way_of_hytgraph_are_counted(device_with_lists, graph, program, transfers):
    device_with_lists(program, graph)
    engine = f"hytgraph:partition_bytes=2048,transfers={transfers}"
    for row in run_with(program, graph, engine=engine).stats.iterations:
        counts = row.partitions
        assert (counts.change is None) == (program == Quiet(0))  # of what priority orders partitions by
        active, needed = counts.active_edges > 0, int(counts.active_edges.sum()) * counts.edge_bytes
        if transfers == COPIED:
            assert row.to_device == counts.edges[active].sum() * counts.edge_bytes
        elif transfers == COMPACTED:
            assert row.to_device == counts.compacted_bytes.sum()
        else:
            assert needed <= row.to_device <= counts.requests.sum() * 128


@pytest.mark.spread
@pytest.mark.parametrize("switches", ["", ",transfers=copied", ",transfers=zero-copy"])
@pytest.mark.parametrize("program", [Quiet(0), Weighed(9)], ids=lambda program: type(program).__name__)
def test_hytgraph_records_all_edges_that_it_follows(device_with_lists, graph, monkeypatch, program, switches):
    """Also those of what it processes once more, and of vertices that become active meanwhile."""
    followed, works = [], numpy_lists.push_ranges

    def counted(driver, context, page, vertices, copies, ranges):
        followed.append(sum(end - begin for begin, end in ranges))
        works(driver, context, page, vertices, copies, ranges)

    monkeypatch.setattr(numpy_lists, "push_ranges", counted)
    device_with_lists(program, graph)
    found = run_with(program, graph, engine=f"hytgraph:partition_bytes=2048{switches}")
    assert found.stats.edges == sum(followed)
