"""The model of an iteration: simulated time, the link, the GPU, and the real `Pipeline` that drives them."""

from __future__ import annotations

from collections import deque

import pytest

from garaph_py.executor.gpu.pipeline import MAX_COPIES
from garaph_py.executor.modes import CPU, GPU
from garaph_py.pages.layout import Page
from garaph_py.pages.queue import PageQueue
from garaph_py.simulation.clock import Channel, Clock
from garaph_py.simulation.gpu import BufferModel, LinkModel
from garaph_py.simulation.iteration import GpuPlaces, IterationModel, PageCosts


def test_events_of_one_moment_happen_in_their_order():
    clock, seen = Clock(), []
    for name in "abc":
        clock.at(1.0, lambda name=name: seen.append((name, clock.now)))
    clock.at(0.5, lambda: seen.append(("first", clock.now)))
    clock.run()
    assert seen == [("first", 0.5), ("a", 1.0), ("b", 1.0), ("c", 1.0)]


def test_events_happen_while_a_clock_waits():
    clock, seen = Clock(), []
    for when in (1.0, 2.0, 3.0):
        clock.at(when, lambda when=when: seen.append(when))
    clock.wait(lambda: 1.0 in seen)
    assert (clock.now, seen) == (1.0, [1.0])
    clock.sleep(1.5)
    assert (clock.now, seen) == (2.5, [1.0, 2.0])
    clock.sleep(0.0)
    assert clock.now == 2.5


def test_a_channel_makes_one_transfer_after_the_other():
    channel = Channel(10.0)
    assert [channel.transfer(10, 0.0), channel.transfer(10, 0.5), channel.transfer(10, 5.0, 0.5)] == [1.0, 2.0, 7.0]
    assert channel.transfer(0, 1.0) == 1.0
    assert channel.nbytes == 30
    slow = Channel(10.0, 3.0)  # seconds that each transfer takes beside its bytes
    assert [slow.transfer(10, 0.0), slow.transfer(0, 0.0), slow.transfer(10, 5.0, 0.5)] == [4.0, 0.0, 10.0]


def test_a_copy_waits_for_its_bytes_and_for_those_before_it():
    clock, ended = Clock(), []
    link = LinkModel(clock, Channel(10.0), lambda: 1.0)
    for nbytes, ready in ((10, 2.0), (10, 0.0)):
        link.copy(nbytes, ready, lambda: ended.append(clock.now))
    clock.run()
    assert ended == [3.0, 4.0]


def model_of(count, resident=0, buffers=2, take=None, **costs):
    """Pages of 10 edges and 10 vertices: a second to copy, a half for the kernel, a tenth to send back."""
    pages = [Page(k, 10 * k, 10 * (k + 1), 10 * k, 10 * (k + 1)) for k in range(count)]
    stay = [BufferModel(page) for page in pages[:resident]]
    queue = PageQueue.of(pages, {}, {buffer.page: buffer for buffer in stay})
    places = GpuPlaces(stay, deque(BufferModel() for _ in range(buffers)), Channel(10.0), Channel(100.0))
    known = {"cpu": lambda page: 2.0, "gpu": lambda page: 0.5, "is_on_disk": lambda page: False} | costs
    return IterationModel(
        queue, PageCosts(edge_bytes=1, value_bytes=1, back_bytes=1, **known), Channel(1.0), places, take
    )


def test_resident_pages_are_computed_while_others_are_copied():
    model = model_of(4, resident=2)
    model.run()
    assert model.gpu_seconds == pytest.approx(2.6)
    assert model.copied_edges == 20
    assert set(model.owners.values()) == {GPU}
    assert len(model.places.free) == 2


def test_the_thread_that_waits_for_one_page_does_not_see_a_copy_end():
    """Like the real thread, it starts the fourth copy when the resident page ends, not when the first copy ends."""
    model = model_of(MAX_COPIES + 2, resident=1, buffers=9, gpu=lambda page: 10.0 if page.number == 0 else 0.1)
    model.run()
    # the resident page's kernel runs until 10 and its values are back at 10.1; then the last page is copied
    assert model.gpu_seconds == pytest.approx(10.1 + 1 + 0.1 + 0.1)


def test_pages_that_the_cpu_is_computing_are_not_the_gpus():
    model = model_of(8, take=lambda queue: queue.steal(None))
    model.run()
    assert sum(model.edges.values()) == 80
    assert model.owners[Page(7, 70, 80, 70, 80)] == CPU
    assert {page.number for page in model.owners} == set(range(8))
    assert model.queue.is_empty


def test_new_values_are_staged_by_the_thread_that_starts_copies():
    fast, slow = model_of(3), model_of(3, staging=0.05)  # half a second a page
    fast.run()
    slow.run()
    assert fast.gpu_seconds == pytest.approx(3.6)
    # the first page's values are there at 1.6 and staged at 2.1, when the third page's copy starts, whose values are
    # there at 3.7; then those of the second and the third page are staged
    assert slow.gpu_seconds == pytest.approx(4.7)


def test_to_launch_a_page_takes_the_gpu_s_thread_time():
    model = model_of(2, resident=2, launch=0.2)
    model.run()
    # launched at 0.2 and 0.4; the first kernel runs until 0.7, the second until 1.2, and its values are back at 1.3
    assert model.gpu_seconds == pytest.approx(1.3)


def test_the_cpu_takes_its_first_page_before_the_gpu_s_thread_has_begun():
    model = model_of(2, resident=2, take=lambda queue: queue.steal(None))
    model.run()
    assert [owner for _, owner in sorted(model.owners.items(), key=lambda one: one[0].number)] == [GPU, CPU]
