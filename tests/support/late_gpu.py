"""A GPU that is late: what is put on its streams happens when somebody waits for it, or when chance has it.

Whatever order streams and events allow may come about, so a run that does not wait for what it needs goes wrong here.
"""

import threading
import types
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from garaph_py.executor.gpu.executor import GpuExecutor
from tests.support.numpy_gpu import FakeDriver, FakeFunction

NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
WORD = 8
"""Bytes that are copied all at once."""


@dataclass
class Operation:
    """On a stream, where it waits for another one, too; a copy of so many bytes can be made of the first few."""

    stream: Any
    act: Any = lambda: None
    after: Any = None
    nbytes: int = 0
    done: bool = False

    @property
    def is_held_up(self):
        return self.after is not None and not self.after.done

    def happen(self):
        self.act()
        self.done = True


class LateStream:
    def __init__(self, driver, flags=0):
        self.driver, self.flags, self.waiting = driver, flags, deque()
        driver.streams.append(self)

    def wait_for_event(self, event):
        self.driver.put(self, after=event.recorded)

    def synchronize(self):
        with self.driver.call():
            self.finish()

    def advance(self, count):
        """Let so many operations happen, if none of them waits for another stream."""
        while count and self.waiting and not self.waiting[0].is_held_up:
            self.waiting.popleft().happen()
            count -= 1

    def finish(self, last=None):
        """Let all operations happen, or those up to the `last`; on other streams, what they wait for."""
        while self.waiting and not (last is not None and last.done):
            if self.waiting[0].is_held_up:
                self.waiting[0].after.stream.finish(self.waiting[0].after)
            self.advance(1)

    def break_off(self, rng):
        """A few more operations happen, and of a copy that is next a part; nothing after that."""
        self.advance(rng.randrange(6))
        if self.waiting and self.waiting[0].nbytes:
            self.waiting[0].act(WORD * rng.randint(0, self.waiting[0].nbytes // WORD))
        self.waiting.clear()


class LateEvent:
    """Who waits for it waits for where it was `recorded` last by then."""

    def __init__(self, driver, flags=0):
        self.driver, self.recorded = driver, Operation(None, done=True)

    def record(self, stream=None):
        self.recorded = self.driver.put(stream)

    def time_till(self, other):
        return 2.0

    def query(self):
        with self.driver.call():
            self.driver.progress(0.5)
            return self.recorded.done

    def synchronize(self):
        with self.driver.call():
            if not self.recorded.done:
                self.recorded.stream.finish(self.recorded)


class LateFunction(FakeFunction):
    def prepared_async_call(self, grid, block, stream, told, shared_size=0):
        self.driver.put(stream, partial(super().prepared_async_call, grid, block, stream, told))


def copy(to, source, nbytes=None):
    to[:nbytes] = source[:nbytes]


class LateDriver(FakeDriver):
    """A `FakeDriver` with streams. Once it is `armed` its `calls` count; number `fails_at` and all after it fail."""

    def __init__(self, layouts, rng, fails_at=None):
        super().__init__(layouts)
        self.rng, self.fails_at, self.lock, self.streams = rng, fails_at, threading.RLock(), []
        self.armed, self.failed, self.calls = False, False, 0
        self.Stream, self.Event = partial(LateStream, self), partial(LateEvent, self)
        self.Context = types.SimpleNamespace(synchronize=self.synchronize)

    @contextmanager
    def call(self, counts=True):
        """One call at a time, if it does not fail."""
        with self.lock:
            if self.armed and counts and not self.failed:
                self.failed = self.calls == self.fails_at
                self.calls += 1
                for stream in self.rng.sample(self.streams, len(self.streams)) if self.failed else ():
                    stream.break_off(self.rng)
            if self.failed:
                raise self.Error("unspecified launch failure")
            yield

    def progress(self, chance):
        """By chance, a few operations on one of the streams happen."""
        if self.streams and self.rng.random() < chance:
            self.rng.choice(self.streams).advance(self.rng.randrange(1, 5))

    def put(self, stream, *what, **how):
        """An operation on a stream; on the default one it happens now, when streams that this waits for have ended."""
        operation = Operation(stream, *what, **how)
        with self.lock:
            if stream is not None:
                stream.waiting.append(operation)  # what fails may have begun
            with self.call():
                if stream is not None:
                    self.progress(0.2)
                else:
                    self.finish(blocking=True)
                    operation.happen()
        return operation

    def finish(self, blocking=False):
        for stream in self.rng.sample(self.streams, len(self.streams)):
            if not (blocking and stream.flags & NON_BLOCKING):
                stream.finish()

    def synchronize(self):
        with self.call(counts=False):  # who calls it has seen a failure, or is at the end
            self.finish()

    def memset_d8(self, place, value, nbytes):
        self.put(None, partial(super().memset_d8, place, value, nbytes))

    def memcpy_dtod(self, to, source, nbytes):
        self.put(None, partial(super().memcpy_dtod, to, source, nbytes))

    def memcpy_htod(self, place, array):
        self.memcpy_htod_async(place, array)

    def memcpy_dtoh(self, array, place):
        self.memcpy_dtoh_async(array, place)

    def memcpy_htod_async(self, place, array, stream=None):
        self.put(stream, partial(copy, self._at(place, array), array), nbytes=array.nbytes)

    def memcpy_dtoh_async(self, array, place, stream=None):
        self.put(stream, partial(copy, array, self._at(place, array)), nbytes=array.nbytes)

    def send(self, other, to, source, nbytes, stream):
        self.put(stream, partial(self._send, other, to, source, nbytes), nbytes=nbytes)

    def _send(self, other, to, source, nbytes, most=None):
        most = nbytes if most is None else most
        other.bytes[to : to + most] = self.bytes[source : source + most]

    def _at(self, place, array):
        return self.bytes[int(place) : int(place) + array.nbytes]

    def module_from_buffer(self, code):
        return types.SimpleNamespace(get_function=partial(LateFunction, self))


class SlowDriver(LateDriver):
    """Nothing happens on its streams before somebody waits for it, or before it sends something to another GPU; once it
    is `armed`, its memory is set only when something else happens there."""

    def __init__(self, layouts, rng, fails_at=None):
        super().__init__(layouts, rng, fails_at)
        self.unset = deque()

    def progress(self, chance):
        pass

    def memset_d8(self, place, value, nbytes):
        if not self.armed:
            super().memset_d8(place, value, nbytes)
            return
        with self.call():
            self.finish(blocking=True)
            self.unset.append(partial(FakeDriver.memset_d8, self, place, value, nbytes))

    def put(self, stream, act=lambda: None, **how):
        def then(*told):
            self.set_memory()
            act(*told)

        return super().put(stream, then, **how)

    def send(self, other, to, source, nbytes, stream):
        super().send(other, to, source, nbytes, stream)
        stream.finish()

    def set_memory(self):
        while self.unset:
            self.unset.popleft()()

    def synchronize(self):
        super().synchronize()
        self.set_memory()


def arm_when_initialized(monkeypatch, kind=GpuExecutor):
    """Have a `LateDriver` count its calls, of which one may fail, from when an executor has been initialized: a
    `GpuExecutor`, or all GPUs of a `MultiGpuExecutor`."""
    initialize = kind.initialize

    def armed(self, synchronous, sources):
        state = initialize(self, synchronous, sources)
        for gpu in [self] if kind is GpuExecutor else self.gpus:
            gpu.device.driver.armed = True
        return state

    monkeypatch.setattr(kind, "initialize", armed)
