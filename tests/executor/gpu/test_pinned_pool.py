"""Pinned memory is used again when, and only when, nothing refers to it."""

import gc

import numpy as np
import pytest

from garaph_py.executor.gpu import pinned_pool
from garaph_py.executor.gpu.pinned_pool import PinnedPool
from tests.support.numpy_gpu import FakePinned


class Device:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def pinned(monkeypatch):
    """The bytes of every block that is pinned."""
    blocks = []

    class Counted(FakePinned):
        def empty(self, shape, dtype):
            blocks.append(shape)
            self.nbytes = shape
            return super().empty(shape, dtype)

        def close(self):
            blocks.remove(self.nbytes)

    monkeypatch.setattr(pinned_pool, "Pinned", Counted)
    return blocks


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again(pinned):
    pool = PinnedPool(Device())
    first = pool.empty(1000, np.dtype(np.int64))
    where = address(first)
    first[:] = 7
    del first
    assert pool.idle_bytes == 8000
    again = pool.empty(1500, np.dtype(np.float32))
    assert address(again) == where
    assert again.shape == (1500,)
    assert pinned == [8000]


def test_memory_that_something_refers_to_is_not(pinned):
    pool = PinnedPool(Device())
    part = pool.empty(1000, np.dtype([("level", np.int32), ("parent", np.int32)]))["parent"][10:20]
    part[:] = 3
    gc.collect()
    other = pool.empty(1000, np.dtype(np.int64))
    other[:] = 0
    assert part.tolist() == [3] * 10
    assert pinned == [8000, 8000]


def test_a_small_array_takes_no_large_block(pinned):
    pool = PinnedPool(Device())
    for count in (1000, 100, 600):
        pool.empty(count, np.dtype(np.int8))
    assert pinned == [1000, 100]


def test_idle_memory_is_bounded(pinned, monkeypatch):
    monkeypatch.setattr(pinned_pool, "IDLE_BYTES", 2500)
    monkeypatch.setattr(pinned_pool, "IDLE_SHARE", 0.0)
    pool = PinnedPool(Device())
    arrays = [pool.empty(1000, np.dtype(np.int8)) for _ in range(4)]
    assert len(pinned) == 4
    arrays.clear()
    assert len(pinned) == 2
    assert pool.idle_bytes == 2000


def test_empty_arrays(pinned):
    assert PinnedPool(Device()).empty(0, np.dtype(np.int64)).shape == (0,)


def test_a_large_answer_is_pinned_when_its_memory_is_used_again(pinned, monkeypatch):
    monkeypatch.setattr(pinned_pool, "LEAST_UNPINNED", 8000)
    registered = []
    pin = FakePinned.pin
    monkeypatch.setattr(FakePinned, "pin", lambda self, array: (registered.append(array.nbytes), pin(self, array)))
    pool, kind = PinnedPool(Device()), np.dtype(np.int64)
    assert pool.answer(999, kind).is_pinned
    assert pinned == [7992]
    first, second = pool.answer(1000, kind), pool.answer(1000, kind)
    assert not first.is_pinned
    assert not second.is_pinned
    assert registered == []
    where = address(first.array)
    del first
    again = pool.answer(1000, kind)
    assert address(again.array) == where
    assert again.is_pinned
    assert registered == [8000]
    del again, second
    assert address(pool.answer(1000, kind).array) == where  # the pinned one
    assert registered == [8000]
    assert pinned == [7992]


def test_memory_that_the_system_refuses_to_pin_is_not_pinned(pinned, monkeypatch):
    """The pool tries again when the memory is used again."""
    monkeypatch.setattr(pinned_pool, "LEAST_UNPINNED", 8000)
    tried, kind = [], np.dtype(np.int64)
    monkeypatch.setattr(FakePinned, "pin", lambda self, array: tried.append(array.nbytes))
    pool = PinnedPool(Device())
    for _ in range(3):
        assert not pool.answer(1000, kind).is_pinned
    assert tried == [8000, 8000]
