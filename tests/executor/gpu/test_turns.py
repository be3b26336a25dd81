"""One thread that drives several GPUs: which goes on when, for which it waits, and how all end."""

import itertools

import pytest

from garaph_py.errors import DeviceError
from garaph_py.executor.gpu.turns import Turns, take
from tests.support.page_streams import SKEWED, FakeDevice, Work, streams_over


class Event:
    """Happens when somebody waits for it, or when `happen` is called."""

    def __init__(self, log, name):
        self.log, self.name, self.happened = log, name, False

    def query(self):
        return self.happened

    def synchronize(self):
        if not self.happened:
            self.log.append(f"waits for {self.name}")
        self.happened = True


class Gpu:
    """Streams with a device and a thread, whose steps wait for one event after the other."""

    def __init__(self, log, name, count, fails_at=None):
        self.log, self.device, self.thread = log, FakeDevice(), self
        self.events = [Event(log, f"{name}{k}") for k in range(count)]
        self._name, self._fails_at = name, fails_at

    def steps(self, queue, source, work):
        try:
            for k, event in enumerate(self.events):
                if k == self._fails_at:
                    raise ValueError("a step that fails")
                if event is not None:
                    self.log.append(f"puts {event.name}")
                yield event, "page", k
        finally:
            self.log.append(f"ends {self._name}")

    def stop(self, queue):
        self.log.append(f"stops {self._name}")


def taken(gpus):
    log, turns = gpus[0].log, [Turns(gpu, None, None, None) for gpu in gpus]
    take(turns, lambda k, act: act(), lambda k: log.append(f"GPU {k} has ended"))
    return log


def test_it_waits_for_the_gpu_that_has_waited_longest():
    log = []
    assert taken([Gpu(log, "a", 2), Gpu(log, "b", 2)]) == [
        "puts a0", "puts b0", "waits for a0", "puts a1", "waits for b0", "puts b1", "waits for a1", "ends a",
        "GPU 0 has ended", "waits for b1", "ends b", "GPU 1 has ended",
    ]  # fmt: skip


def test_a_gpu_whose_events_have_happened_does_not_wait_for_another():
    log = []
    slow, fast = Gpu(log, "a", 1), Gpu(log, "b", 5)
    for event in fast.events:
        event.happened = True
    assert taken([slow, fast]) == [
        "puts a0", *(f"puts b{k}" for k in range(5)), "ends b", "GPU 1 has ended", "waits for a0", "ends a",
        "GPU 0 has ended",
    ]  # fmt: skip


def noting_in(noted, error):
    """What calls ``act()`` for GPU `k`, and adds `k` to `noted` if it raises such an `error`."""

    def noting(k, act):
        try:
            return act()
        except error:
            noted.append(k)
            raise

    return noting


def test_what_goes_wrong_on_one_ends_all():
    log, noted = [], []
    gpus = [Gpu(log, "a", 4), Gpu(log, "b", 4, fails_at=2), Gpu(log, "c", 4)]
    with pytest.raises(ValueError, match="a step that fails"):
        take([Turns(gpu, None, None, None) for gpu in gpus], noting_in(noted, ValueError), log.append)
    assert noted == [1]
    assert sorted(each for each in log if each.startswith("ends")) == ["ends a", "ends b", "ends c"]
    assert [each for each in log if each.startswith("stops")] == ["stops a", "stops b", "stops c"]


def test_a_gpu_that_fails_while_it_is_asked_is_the_one_that_failed():
    log, noted = [], []
    gpus = [Gpu(log, "a", 2), Gpu(log, "b", 2)]
    driver = gpus[1].device.driver

    def fails(*_):
        raise driver.Error("unspecified launch failure")

    gpus[1].events[0].query = gpus[1].events[0].synchronize = fails
    with pytest.raises(DeviceError, match="launch failure"):
        take([Turns(gpu, None, None, None) for gpu in gpus], noting_in(noted, DeviceError), log.append)
    assert noted == [1]


def test_a_gpu_that_need_not_wait_leaves_the_next_turn_to_another():
    log = []
    gpus = [Gpu(log, "a", 1), Gpu(log, "b", 1)]
    for gpu in gpus:
        gpu.events.insert(0, None)
    assert taken(gpus) == ["puts a0", "puts b0", "waits for a0", "ends a", "GPU 0 has ended", "waits for b0", "ends b",
                           "GPU 1 has ended"]  # fmt: skip


@pytest.mark.parametrize("share", [0, 0.5, 2])
def test_the_streams_of_several_gpus_process_every_page(graph_of, share):
    every = [streams_over(graph_of(SKEWED), share) for _ in range(3)]
    works, ended = [Work() for _ in every], []
    take(
        [
            Turns(streams, streams.order(source.pages), source, work)
            for (_, streams, source), work in zip(every, works, strict=True)
        ],
        lambda k, act: act(), ended.append,
    )  # fmt: skip
    assert sorted(ended) == [0, 1, 2]
    for (_, streams, source), work in zip(every, works, strict=True):
        assert sorted(page.number for page in work.brought) == list(range(len(source.pages)))
        assert len(work.copied) == len(source.pages)
        assert streams.thread.doing == ("idle",)


@pytest.mark.parametrize("at", [0, 3, 11])
def test_after_an_error_no_gpu_has_pages_left(graph_of, at):
    """Every GPU is waited for, so that none writes to the caller's arrays any more; also one that has done no step."""
    calls, synchronized = itertools.count(), []
    every = [streams_over(graph_of(SKEWED), 0.5) for _ in range(2)]
    for device, *_ in every:
        device.driver.Context = type("Context", (), {"synchronize": lambda d=device: synchronized.append(d)})

    def see(*_):
        if next(calls) == at:
            raise KeyboardInterrupt

    queues = [streams.order(source.pages) for _, streams, source in every]
    with pytest.raises(KeyboardInterrupt):
        take(
            [
                Turns(streams, queue, source, Work(see))
                for (_, streams, source), queue in zip(every, queues, strict=True)
            ],
            lambda k, act: act(), lambda k: None,
        )  # fmt: skip
    assert all(queue.is_empty for queue in queues)
    assert {id(each) for each in synchronized} == {id(device) for device, *_ in every}
