"""Copies to other GPUs: the same place there, and one clear error if a GPU is lost."""

from types import SimpleNamespace

import pytest

from garaph_py.errors import DeviceError
from garaph_py.executor.gpu import peers
from garaph_py.executor.gpu.parts import Part
from garaph_py.pages.layout import Page


class Holder:
    """Of arrays that begin at an address of its own."""

    def __init__(self, number):
        self.device, self._first = SimpleNamespace(number=number), 1000 * (number + 1)

    def address(self, name):
        return self._first + {"next_values": 0, "next_frontier": 500}[name]


@pytest.fixture
def copies(monkeypatch):
    """What was copied: to which GPU, where, of which, from where, bytes, stream."""
    found = []
    monkeypatch.setattr(peers, "copy", lambda to, place, of, *rest: found.append((to.number, place, of.number, *rest)))
    return found


def test_values_and_frontier_go_to_the_same_place_on_every_other_gpu(copies):
    first, second, third = map(Holder, range(3))
    sends = peers.Peers(second, [first, third], Part(64, 192), 4)
    sends.send_values([Page(1, 64, 128, 5, 9)], "stream")
    assert copies == [(0, 1256, 1, 2256, 256, "stream"), (2, 3256, 1, 2256, 256, "stream")]
    copies.clear()
    sends.send_frontier("stream")
    assert copies == [(0, 1508, 1, 2508, 16, "stream"), (2, 3508, 1, 2508, 16, "stream")]


def test_the_frontier_of_some_pages(copies):
    sends = peers.Peers(Holder(0), [Holder(1)], Part(64, 192), 4)
    sends.send_frontier("s", [Page(4, 448, 460, 0, 9), Page(0, 64, 128, 0, 9), Page(1, 128, 192, 0, 9)])
    assert copies == [(1, 2508, 0, 1508, 16, "s"), (1, 2556, 0, 1556, 8, "s")]


def test_values_of_pages_that_adjoin_each_other_go_as_one(copies):
    sends = peers.Peers(Holder(0), [Holder(1)], Part(0, 320), 1)
    sends.send_values([Page(k, first, last, 0, 9) for k, first, last in ((3, 256, 320), (1, 64, 128), (0, 0, 64))], "s")
    assert copies == [(1, 2000, 0, 1000, 128, "s"), (1, 2256, 0, 1256, 64, "s")]


def test_an_empty_part_sends_nothing(copies):
    sends = peers.Peers(Holder(0), [Holder(1)], Part(64, 64), 4)
    sends.send_values([Page(0, 64, 64, 5, 5)], None)
    sends.send_frontier(None)
    assert copies == []


def test_a_failed_call_of_the_driver():
    status = SimpleNamespace(value=719, name="CUDA_ERROR_LAUNCH_FAILED")
    with pytest.raises(DeviceError, match=r"GPU 3 failed \(CUDA_ERROR_LAUNCH_FAILED\); look at nvidia-smi"):
        peers.check((status,), SimpleNamespace(number=3))
    fine = SimpleNamespace(value=0, name="CUDA_SUCCESS")
    assert peers.check((fine, 5), SimpleNamespace(number=3)) == 5
    assert peers.check((fine,), SimpleNamespace(number=3)) is None
