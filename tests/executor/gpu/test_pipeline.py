"""The steps of the GPU thread: what it copies, launches and waits for; no page is lost."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from garaph_py.executor.gpu.pipeline import (
    AWAIT_COPY,
    AWAIT_END,
    COPY_AND_LAUNCH,
    LAUNCH,
    MAX_COPIES,
    MAX_LAUNCHED,
    Pipeline,
)
from garaph_py.pages.layout import Page
from garaph_py.pages.queue import PageQueue


def pages_of(count):
    return [Page(k, 64 * k, 64 * (k + 1), 100 * k, 100 * (k + 1)) for k in range(count)]


def own(slots):
    """The place of page k is the k-th slot, if there are so many."""
    return lambda page: slots[page.number] if page.number < len(slots) else None


def pipeline_of(pages, resident=0, buffers=2, buffered=(), max_copies=MAX_COPIES):
    """A pipeline over a queue; the first pages are resident, and slots are letters."""
    slots, names = [f"r{k}" for k in range(resident)], [f"b{k}" for k in range(buffers)]
    held = dict(zip(buffered, names, strict=False))
    queue = PageQueue.of(pages, held, dict(zip(pages, slots, strict=False)))
    return Pipeline(queue, own(slots), deque(names[len(held) :]), max_copies), queue


def test_buffers_bound_the_copies_and_are_used_again():
    pages = pages_of(3)
    pipeline, _ = pipeline_of(pages)
    assert pipeline.next() == (COPY_AND_LAUNCH, pages[0], "b0")
    assert pipeline.next() == (COPY_AND_LAUNCH, pages[1], "b1")
    assert pipeline.next() == (AWAIT_END, pages[0], "b0")
    assert pipeline.next() == (AWAIT_END, pages[0], "b0")  # until it has ended
    assert pipeline.arrived() == pages[0]
    pipeline.ended(pipeline.streamed)
    assert pipeline.next() == (COPY_AND_LAUNCH, pages[2], "b0")
    assert pipeline.next() is None


def test_only_a_few_copies_are_started():
    """The CPU may take the pages that are not started."""
    pages = pages_of(6)
    pipeline, queue = pipeline_of(pages, buffers=6, max_copies=2)
    assert [pipeline.next()[0] for _ in range(3)] == [COPY_AND_LAUNCH, COPY_AND_LAUNCH, AWAIT_COPY]
    assert queue.edges == 600
    assert queue.steal(None) == pages[5]
    pipeline.arrived()
    assert queue.edges == 400
    assert pipeline.next()[:2] == (COPY_AND_LAUNCH, pages[2])


class Others:
    """One page of another GPU, for a GPU to which nothing is being copied."""

    def __init__(self, page):
        self.pages = [page]

    def peek(self, copying):
        return self.pages[0] if self.pages and not copying else None

    def pop(self, copying):
        return self.pages.pop() if self.peek(copying) else None


def test_a_page_of_another_gpu_waits_for_copies():
    """Also if the page that is copied is reported to have ended before its copy is."""
    pages = pages_of(2)
    for reports_copy_first in True, False:
        pipeline, queue = pipeline_of(pages[:1])
        queue.others = Others(pages[1])
        assert pipeline.next() == (COPY_AND_LAUNCH, pages[0], "b0")
        assert pipeline.next() == (AWAIT_END, pages[0], "b0")
        if reports_copy_first:
            pipeline.arrived()
            pipeline.ended(pipeline.streamed)
        else:
            pipeline.ended(pipeline.streamed)
            assert pipeline.next() == (AWAIT_COPY, pages[0], "b0")
            pipeline.arrived()
        assert pipeline.next() == (COPY_AND_LAUNCH, pages[1], "b1")
        assert pipeline.next() is None


def test_only_a_few_resident_pages_are_launched():
    pages = pages_of(MAX_LAUNCHED + 2)
    pipeline, _ = pipeline_of(pages, resident=len(pages), buffers=0)
    for page in pages[:MAX_LAUNCHED]:
        assert pipeline.next() == (LAUNCH, page, f"r{page.number}")
    assert pipeline.next() == (AWAIT_END, pages[0], "r0")
    pipeline.ended(pipeline.on_device)
    assert pipeline.next() == (LAUNCH, pages[MAX_LAUNCHED], f"r{MAX_LAUNCHED}")


def test_copies_come_before_launches_and_buffered_pages_before_resident_ones():
    pages = pages_of(4)
    pipeline, _ = pipeline_of(pages, resident=1, buffers=2, buffered=[pages[3]])
    assert pipeline.next() == (COPY_AND_LAUNCH, pages[1], "b1")
    assert pipeline.next() == (LAUNCH, pages[3], "b0")
    assert pipeline.next() == (LAUNCH, pages[0], "r0")
    assert pipeline.next() == (AWAIT_END, pages[3], "b0")  # page 2 waits for a buffer
    pipeline.ended(pipeline.on_device)
    assert pipeline.next() == (COPY_AND_LAUNCH, pages[2], "b0")
    assert pipeline.next() is None


def test_a_resident_page_that_is_not_there_is_copied_to_its_own_slot():
    pages = pages_of(2)
    queue = PageQueue.of(pages, {}, {pages[1]: "r1"})
    pipeline = Pipeline(queue, own(["r0", "r1"]), deque())
    assert pipeline.next() == (COPY_AND_LAUNCH, pages[0], "r0")
    pipeline.arrived()
    pipeline.ended(pipeline.streamed)
    assert pipeline.next() == (LAUNCH, pages[1], "r1")


@given(st.data(), st.integers(1, 12), st.integers(0, 12), st.integers(1, 4), st.integers(1, 4))
def test_every_page_is_launched_or_stolen_and_every_buffer_comes_back(data, count, resident, buffers, max_copies):
    """In whatever order copies and kernels end, a step to wait names a page that is being copied or computed."""
    pages, stolen, launched = pages_of(count), [], []
    pipeline, queue = pipeline_of(pages, min(resident, count), buffers, max_copies=max_copies)
    steps = 0
    while (step := pipeline.next()) is not None:
        action, page, slot = step
        if action in (COPY_AND_LAUNCH, LAUNCH):
            launched.append(page)
        elif action is AWAIT_COPY:
            assert pipeline.copies[0] == (page, slot)
        else:
            assert (page, slot) in (*pipeline.on_device, *pipeline.streamed)
        must_end = action in (AWAIT_COPY, AWAIT_END)
        copied = data.draw(st.integers(int(action is AWAIT_COPY), len(pipeline.copies)))
        for _ in range(copied):
            pipeline.arrived()
        for lane in pipeline.on_device, pipeline.streamed:
            ended = data.draw(st.integers(int(must_end and (page, slot) in lane), len(lane)))
            for _ in range(ended):
                if pipeline.copies and pipeline.copies[0] == lane[0]:
                    pipeline.arrived()
                pipeline.ended(lane)
        if data.draw(st.booleans()) and (part := queue.steal(None)) is not None:
            stolen.append(part)
        steps += 1
        assert steps < 20 * count
    while pipeline.copies:
        pipeline.arrived()
    for lane in pipeline.on_device, pipeline.streamed:
        while lane:
            pipeline.ended(lane)
    assert sorted(page.number for page in (*launched, *stolen)) == list(range(count))
    assert queue.edges == 0
    assert sorted(pipeline._free) == [f"b{k}" for k in range(buffers)]


class Another:
    """A device of which pages can be stolen."""

    def __init__(self, pages):
        self.pages = pages

    def peek(self, copying):
        return self.pages[0]

    def pop(self, copying):
        return self.pages.pop(0)


def test_a_page_of_another_device_needs_a_buffer():
    """The host steals the device's last page, which has a slot, after the device has looked at it."""
    pages, another = pages_of(2), Another(pages_of(3)[2:])
    queue = PageQueue.of(pages, {}, {})

    def place(page):
        if page == pages[0]:
            return None
        queue.clear()
        return "r1"

    pipeline = Pipeline(queue, place, deque(["b0"]), MAX_COPIES)
    assert pipeline.next() == (COPY_AND_LAUNCH, pages[0], "b0")
    queue.others = another
    assert pipeline.next() == (AWAIT_END, pages[0], "b0")
    assert len(another.pages) == 1
