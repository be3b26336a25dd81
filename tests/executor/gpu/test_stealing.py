"""A GPU with nothing left to begin steals streamed pages from one that is late: the same answers, whichever fails."""

import random
from collections import deque
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu.edges import page_bytes, raw_layout
from garaph_py.executor.gpu.launch import UNTIL_DONE_NAMES
from garaph_py.executor.gpu.multi_gpu import MultiGpuExecutor
from garaph_py.executor.gpu.parts import divide
from garaph_py.executor.gpu.stealing import Stealing, Thief
from garaph_py.pages.layout import Page
from garaph_py.pages.queue import PageQueue
from tests.support import twins
from tests.support.late_gpu import LateDriver, SlowDriver, arm_when_initialized
from tests.support.numpy_gpu import GRAPH, HUB, Blend, Eager, Hops, Lengths, Quiet, memory_for
from tests.support.several_gpus import commit_and_compare, each_failure

from ...support.runs import run_with

PAGE_EDGES, SLOW = 2000, 1
APPLIES = "apply_vertices", *UNTIL_DONE_NAMES
counts = pytest.mark.parametrize("count", [2, 5])
ways = pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
processors = pytest.mark.parametrize("processor", ["gpu", "hybrid"])


class PromptDriver(LateDriver):
    """What is put on its streams happens as soon as it can."""

    def progress(self, chance):
        for stream in self.streams:
            stream.advance(9)


def drivers(rng, failing, fails_at):
    """What makes drivers for `devices_for`: a slow one, and others that are prompt."""

    def made(number):
        kind = SlowDriver if number == SLOW else PromptDriver
        return partial(kind, rng=random.Random(rng.random()), fails_at=fails_at if number == failing else None)

    return made


def commit_and_look(self, state, mode):
    """After an iteration, the frontier on all GPUs has the vertices that have changed."""
    commit_and_compare(self, state, mode)
    if state.synchronous:
        gpu, n = self.gpus[0], self._graph.n
        new, old = (gpu.device.driver.array(gpu.address(name), np.int64, n) for name in ("values", "next_values"))
        bits = gpu.device.driver.array(gpu.address("frontier"), np.uint8, -(-n // 8))
        np.testing.assert_array_equal(bits, np.packbits(new != old, bitorder="little"))


@pytest.fixture
def run(devices_for, graph_of, cut_small_graphs, all_work):
    """A function that runs on GPUs of which one is slow and one may fail, and checks the answer; the drivers, the
    result, and the first vertices of the pages that others have stolen from the slow one."""

    def begin(rng, count, processor, sync, failing=None, fails_at=None, program=None, encoding="raw"):  # wide
        program = program or Hops(HUB)
        weighted, more = isinstance(program, (Lengths, Blend)), {"iterations": 5} if isinstance(program, Blend) else {}
        graph = graph_of(GRAPH, weighted=weighted, directed=not isinstance(program, Eager))
        expected = run_with(program, graph, device="cpu", sync=True, **more)
        devices_for(program, graph, 1)
        gather = "packed" if encoding == "packed" else "segmented"
        room = memory_for(program, graph, 0, gather=gather) + 4 * 8 * PAGE_EDGES
        room -= 0 if sync else 8 * graph.n  # of `next_values`
        found = devices_for(program, graph, count, drivers(rng, failing, fails_at))
        with pytest.MonkeyPatch.context() as armed:
            arm_when_initialized(armed, MultiGpuExecutor)
            armed.setattr(MultiGpuExecutor, "commit", commit_and_compare if more else commit_and_look)
            result = run_with(
                program, graph, device=processor, gpus=count, sync=sync, gather="auto", mode="pull", streams=2,
                threads=2, encoding=encoding, page_edges=PAGE_EDGES, gpu_memory=room, **more,
            )  # fmt: skip
        if sync or not more:  # Blend does not converge
            np.testing.assert_array_equal(result.values, expected.values)
        if sync:
            assert [row.active for row in result.stats.iterations] == [row.active for row in expected.stats.iterations]
        part = divide(graph._arrays.in_edges.offsets, [1.0] * count)[SLOW]
        launched = (each for driver in found if not isinstance(driver, SlowDriver) for each in driver.launched)
        stolen = {first for name, first in launched if name in APPLIES and part.first <= first < part.last}
        return found, result, stolen

    return begin


@counts
@processors
@ways
@pytest.mark.parametrize(
    "program", [Hops(HUB), Quiet(HUB), Eager(HUB), Lengths(HUB), Blend(3)], ids=lambda each: type(each).__name__
)
def test_others_take_the_pages_of_a_late_gpu(run, program, sync, processor, count):
    _, result, stolen = run(random.Random(3), count, processor, sync, program=program)
    assert result.stats.note is None or "short" in result.stats.note
    assert len(stolen) > 1


@ways
def test_packed_pages_too(run, sync):
    *_, stolen = run(random.Random(3), 2, "gpu", sync, encoding="packed")
    assert len(stolen) > 1


def test_floats_have_the_same_bits(devices_for, graph_of, interpreting, monkeypatch):
    """Of a deterministic run on one GPU: sums, and totals of pages."""
    program, graph = gp.apps.PageRank(dtype=np.float64, weighted=False), graph_of(twins.skewed(3, 1500, 9000))
    devices_for(program, graph, 1)
    how = {"deterministic": True, "iterations": 3, "page_edges": 500, "streams": 2, "threads": 2}
    room = memory_for(program, graph, 0) + 4 * 4 * 500
    one = run_with(program, graph, device="gpu", gpus=1, gpu_memory=room, **how)
    devices_for(program, graph, 2, drivers(random.Random(3), None, None))
    pop, stolen = Thief.pop, []
    monkeypatch.setattr(Thief, "pop", lambda self, copying: stolen.append(pop(self, copying)) or stolen[-1])
    two = run_with(program, graph, device="gpu", gpus=2, gpu_memory=room, **how)
    assert one.values.tobytes() == two.values.tobytes()
    assert sum(page is not None for page in stolen) > 5


def test_totals_are_added_up_in_the_same_order(run, monkeypatch):
    process, found = MultiGpuExecutor.process, []

    def noted(self, *how):
        results = process(self, *how)
        found.append(np.concatenate([each.partials for each in results if each.partials is not None]))
        return results

    monkeypatch.setattr(MultiGpuExecutor, "process", noted)
    *_, stolen = run(random.Random(3), 2, "gpu", True)
    assert stolen
    with_thieves = found[:]
    found.clear()
    monkeypatch.setattr(Stealing, "allow", lambda *_: None)
    *_, stolen = run(random.Random(3), 2, "gpu", True)
    assert not stolen
    assert [each.tolist() for each in with_thieves] == [each.tolist() for each in found]
    assert len(np.unique(np.concatenate(found))) > 5


@pytest.mark.full
@processors
@ways
def test_no_answer_is_lost_with_a_gpu_wherever_it_fails(run, processor, sync):
    """The thief, or the one whose pages it takes, at every 23rd call."""
    thefts = 0

    def failing(*how):
        nonlocal thefts
        found, result, stolen = run(*how)
        thefts += bool(stolen)
        return found, result

    for result in each_failure(failing, 23, processor, sync):
        assert "failed" in result.stats.note
        assert result.stats.device == "NumPy"
    assert thefts > 9


@pytest.mark.slow
@counts
@ways
def test_the_others_go_on_when_a_thief_fails(run, count, sync):
    (thief, *_), *_ = run(random.Random(3), count, "gpu", sync)
    for share in 0.4, 0.7:
        found, result, _ = run(random.Random(3), count, "gpu", sync, 0, int(share * thief.calls))
        assert found[0].failed
        assert "failed" in result.stats.note


def pages_of(*sizes, first=0):
    """Adjacent pages with so many edges, 64 vertices each."""
    found = []
    for number, size in enumerate(sizes):
        found.append(Page(number, 64 * (first + number), 64 * (first + number + 1), 0, size))
    return found


def thief_with(room, tallies, own, *others):
    """A thief with so many bytes of room, and queues of the pages of other GPUs, which follow its `own` pages."""
    every = [*own, *(page for each in others for page in each)]
    pages = [Page(k, page.first_vertex, page.last_vertex, 0, page.edges) for k, page in enumerate(every)]
    gpu = SimpleNamespace(
        edges=SimpleNamespace(arrays=raw_layout()), residency=SimpleNamespace(buffer_bytes=room, pages=own),
        launches=SimpleNamespace(tallies=[None] * tallies),
    )  # fmt: skip
    thief, first = Thief(gpu, 0, pages), len(own)
    for each in others:
        thief.victims.append((PageQueue.of(each, {}, {}), first))
        first += len(each)
    return thief


OWN = pages_of(10, 10)


def test_a_thief_takes_the_last_page_of_who_has_most_left():
    second, third = pages_of(10, 20, 30, first=2), pages_of(25, 26, first=5)
    thief = thief_with(1 << 20, 9, OWN, second, third)
    assert thief.peek(0) == Page(2, 256, 320, 0, 30)  # behind its own two
    assert thief.pop(0) == Page(2, 256, 320, 0, 30)
    assert thief.pop(0) == Page(3, 384, 448, 0, 26)
    assert thief.of_all(Page(3, 384, 448, 0, 26)).number == 6
    assert thief.of_all(OWN[1]) == OWN[1]
    assert [queue.streamed_pages() for queue, _ in thief.victims] == [second[:2], third[:1]]
    assert thief.divided([OWN[1], Page(3, 384, 448, 0, 26)]) == ([OWN[1]], [Page(3, 384, 448, 0, 26)])


def test_a_thief_leaves_what_it_would_begin_later():
    thief = thief_with(1 << 20, 9, OWN, pages_of(10, 20, first=2))
    assert thief.peek(30) is thief.pop(30) is None
    assert thief.peek(29).edges == thief.pop(29).edges == 20
    assert thief.pop(10) is None


def test_a_thief_takes_whole_pages_that_fit():
    sizes = 9000, 3000, 9000, 2000
    pages = pages_of(*sizes, first=2)
    thief = thief_with(page_bytes(pages[1], raw_layout()), 9, OWN, pages)
    (queue, _), *_ = thief.victims
    queue.streamed[3] = Page(3, 320, 330, 0, 500)  # the host has taken the rest
    assert thief.pop(0).edges == 3000
    assert thief.peek(0) is None
    assert thief_with(0, 9, OWN, pages_of(0, 10, first=2)).peek(0) is None  # it has no buffer


def test_a_stolen_page_keeps_its_number_and_there_are_as_many_as_tallies():
    pages = pages_of(10, 10, 10, first=2)
    thief = thief_with(1 << 20, 4, OWN, pages)
    assert [thief.pop(0).number for _ in range(2)] == [2, 3]
    assert thief.peek(0) is None
    thief.victims = [(PageQueue.of([pages[1], pages[0], pages[2]], {}, {}), 2)]  # in another pull
    assert [thief.pop(0) for _ in range(3)] == [Page(2, 256, 320, 0, 10), Page(3, 192, 256, 0, 10), None]


def test_a_stolen_page_stays_while_it_is_in_a_buffer():
    """Unless its own GPU has it in a buffer, too, or must process it."""
    pages = pages_of(10, 20, 30, first=2)
    thief = thief_with(1 << 20, 9, OWN, pages)
    taken = [thief.pop(0) for _ in range(3)]
    held = [SimpleNamespace(page=page) for page in (OWN[0], taken[0], None, taken[2], taken[1])]
    queue, free = PageQueue.of(OWN, {}, {}), deque(held)
    thief.victims = [(PageQueue.of(pages, {pages[1]: "buffer"}, {}, None, frozenset({0})), 2)]
    thief.keep(queue, free)
    assert [*queue.buffered] == [(taken[0], held[1])]
    assert [*free] == [held[0], *held[2:]]
    assert thief.victims[0][0].streamed_pages() == [pages[0]]


def test_a_device_goes_on_with_what_others_have_left():
    queue, other = PageQueue.of([], {}, {}), PageQueue.of(pages_of(10, 20, first=2), {}, {})
    queue.others = thief_with(1 << 20, 9, OWN, pages_of(10, 20, first=2))
    queue.others.victims = [(other, 2)]
    assert not queue.is_empty
    assert queue.peek_streamed().edges == queue.pop_streamed().edges == queue.edges == 20
    assert queue.peek_streamed() is queue.pop_streamed() is None  # it copies more than is left
    assert not queue.is_empty
    queue.arrived(Page(2, 192, 256, 0, 20))
    assert queue.pop_streamed().edges == 10
    assert queue.is_empty


def test_speeds_are_those_of_a_gpu_s_own_pages():
    gpus = [SimpleNamespace(residency=SimpleNamespace(edges=edges, pages=[])) for edges in (100, 100, 0)]
    works = [SimpleNamespace(ways={"copied": [2, edges, 0]}) for edges in (150, 50)] + [SimpleNamespace(ways={})]
    stealing = Stealing([], [], [])
    stealing._gpus = gpus
    assert stealing.seconds_of_own([3.0, 2.0, 1.0], works) == [2.0, 4.0, np.inf]
