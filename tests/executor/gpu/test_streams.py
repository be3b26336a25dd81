"""Pages on streams, with a fake driver that copies at once: contents of buffers, stolen pages, and faults."""

import itertools
import time
from functools import partial

import numpy as np
import pytest

from garaph_py.errors import DeviceError
from garaph_py.executor.gpu.device import failing
from garaph_py.executor.gpu.timeline import TO_DEVICE, TO_HOST, Timeline
from garaph_py.pages.layout import Page, cut
from tests.support.page_streams import SKEWED, FakeDriver, Work, found_in, streams_over


@pytest.fixture
def setting(graph_of):
    """`streams_over` a graph."""
    return partial(streams_over, graph_of(SKEWED))


@pytest.mark.parametrize("share", [0, 0.5, 2])
def test_every_page_finds_its_edges(setting, share):
    device, streams, source = setting(share)
    resident = [page for page in source.pages if page.number < len(streams.buffers.staying)]
    assert len(resident) == {0: 0, 2: len(source.pages)}.get(share, len(resident))
    left = {}  # by buffer: the page it held last
    for _ in range(3):
        seen, before = [], set(left.values())

        def see(page, buffer, seen=seen):
            left[buffer.addresses[0]] = page
            sources, weights = found_in(device, streams, page, buffer)
            edges = source.edges(page)
            np.testing.assert_array_equal(sources, edges.sources.data)
            np.testing.assert_array_equal(weights, edges.values.data)
            seen.append(page)

        work = Work(see)
        streams.process(streams.order(source.pages), source, work)
        assert sorted(page.number for page in seen) == list(range(len(source.pages)))
        assert work.brought == seen
        # what need not be copied does not wait on a stream for what is
        assert work.streams == [streams.back_early if page in before else streams.back for page in seen]
        for stay in (True, False):
            assert [page for page in seen if (page in before) == stay] == [
                page for page in work.copied if (page in before) == stay
            ]
        assert work.copied == {page: 8 * page.edges * (page not in before) for page in source.pages}
    assert streams.thread.wall > streams.thread.waited >= 0
    assert streams.thread.used > 0


@pytest.mark.parametrize("share", [0, 0.5, 2])
def test_pages_that_stay_are_copied_before_they_are_asked_for(setting, share):
    """Their bytes count in the iteration that first processes them, which waits for the copy."""
    device, streams, source = setting(share)
    resident = [page for page in source.pages if page.number < len(streams.buffers.staying)]
    assert not any(map(streams.buffers.has, source.pages))
    streams.prefetch(source)
    streams.prefetch(source)
    assert device.driver.copies == 2 * len(resident)
    assert [page for page in source.pages if streams.buffers.has(page)] == resident
    for turn in range(2):

        def see(page, buffer, turn=turn):
            np.testing.assert_array_equal(found_in(device, streams, page, buffer)[0], source.edges(page).sources.data)
            if page in resident:
                assert getattr(buffer.copied, "waited", False) == (turn == 0)
                buffer.copied.waited = False

        work = Work(see)
        waiting = streams.order(source.pages, True)
        assert {page for page, _ in waiting.resident} == set(resident)
        streams.process(waiting, source, work)
        early = [page for page, stream in zip(work.brought, work.streams, strict=True) if stream is streams.back_early]
        assert set(resident) <= set(early)
        assert {page: work.copied[page] for page in resident} == {
            page: 8 * page.edges * (not turn) for page in resident
        }


def test_stolen_pages_are_not_processed(setting, graph_of):
    """Ends of pages are stolen during copies: every edge is processed once, and buffers record what they hold."""
    device, streams, source = setting(0.3)
    offsets = graph_of(SKEWED)._arrays.in_edges.offsets
    split, rng, taken = partial(cut, offsets, multiple=64), np.random.default_rng(1), []
    for turn in range(4):
        waiting, stolen = streams.order(source.pages, True, split), []

        def see(page, buffer, waiting=waiting, stolen=stolen, turn=turn):
            np.testing.assert_array_equal(found_in(device, streams, page, buffer)[0], source.edges(page).sources.data)
            before = waiting.edges
            if turn and (part := waiting.steal(None if rng.random() < 0.1 else int(rng.integers(8000)))) is not None:
                assert waiting.edges in (before, before - part.edges)  # a page that is there does not count
                stolen.append(part)

        work = Work(see)
        streams.process(waiting, source, work)
        parts = sorted([*stolen, *work.copied], key=lambda page: page.first_vertex)
        assert [(one.last_vertex, one.last_edge) for one in parts[:-1]] == [
            (two.first_vertex, two.first_edge) for two in parts[1:]
        ]
        assert (parts[0].first_edge, parts[-1].last_edge) == (0, 90000)
        taken += stolen
    assert {page in source.pages for page in taken} == {True, False}


def test_pages_with_most_values_come_first(setting):
    _, streams, source = setting(2)
    work = Work()
    streams.process(streams.order(source.pages), source, work)
    sizes = [page.last_vertex - page.first_vertex for page in work.brought]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("at", [0, 3, 11])
@pytest.mark.parametrize("share", [0, 0.5])
def test_after_an_error_no_thread_waits(setting, share, at, error):
    _, streams, source = setting(share)
    calls = []

    def see(page, buffer):
        calls.append(page)
        if len(calls) > at:
            raise error

    waiting = streams.order(source.pages)
    with pytest.raises(error):
        streams.process(waiting, source, Work(see))
    assert waiting.is_empty
    assert str(streams.thread) == "GPU's thread: idle"


@pytest.mark.parametrize("at", [1, 2, 15])
def test_driver_errors_become_device_errors(setting, at):
    device, streams, source = setting(0.5, fails_at=at)
    with pytest.raises(DeviceError, match="launch failure"), failing(device.driver):
        streams.process(streams.order(source.pages), source, Work())


@pytest.mark.parametrize("share", [0, 0.5, 2])
def test_a_trace_says_when_streams_and_engines_were_busy(setting, share):
    spans = []
    _, streams, source = setting(share, spans=spans)
    before, copies = time.perf_counter_ns(), 0
    for turn in range(1, 4):
        work = Work(lambda *_: time.sleep(1e-4))
        streams.process(streams.order(source.pages), source, work)
        copies += sum(nbytes > 0 for nbytes in work.copied.values())
        time.sleep(3e-4)  # until the driver says that the last has ended
        streams.write_spans()
        assert len(spans) == 2 * turn * len(source.pages) + copies
    after = time.perf_counter_ns()
    tracks = {span.track for span in spans}
    assert {TO_DEVICE, TO_HOST} < tracks
    assert tracks - {TO_DEVICE, TO_HOST} <= {f"stream {k}" for k in range(6)}
    for track in tracks:
        mine = sorted(span for span in spans if span.track == track)
        assert before <= mine[0].start <= mine[-1].end <= after
        assert all(span.start <= span.end for span in mine)
        assert all(one.end <= two.start for one, two in itertools.pairwise(mine))
    computed = [span.details for span in spans if span.track.startswith("stream")]
    assert sorted(details["page"] for details in computed) == sorted(3 * list(range(len(source.pages))))
    assert sum(details["edges"] for details in computed) == 3 * 90000


def test_a_copy_that_waits_for_the_engine_begins_when_it_is_free():
    driver, clock = FakeDriver(), iter([1.0, 1.5, 2.0])  # seconds: two copies end on two streams, then now

    class Event(FakeDriver.Event):
        def record(self, stream=None):
            self.at = next(clock)

    driver.Event, spans = Event, []
    timeline, began = Timeline(driver, [], spans), time.perf_counter_ns() - 2 * 10**9
    for number in range(2):
        timeline.mark_end(TO_DEVICE, "copy", Page(number, 0, 1, 0, 10), began, None)
    timeline.write_spans(None, 3)
    assert not spans
    timeline.write_spans(None)
    first, second = spans
    assert (second.end - second.start, first.start, second.start) == (5 * 10**8, began, first.end)
