"""Several GPUs that are NumPy, which gp.run finds by their numbers."""

from dataclasses import replace

import pytest

from garaph_py.errors import DeviceError
from garaph_py.executor.gpu import device, peers, speeds
from tests.support.numpy_gpu import FakeDriver


@pytest.fixture
def devices_for(device_for, monkeypatch):
    """A function that makes so many devices on which a program on a graph runs, and returns their drivers.

    ``made(number)`` makes a driver, of its layouts.
    """

    def make(program, graph, count, made=lambda number: FakeDriver, linked=True):
        found = []
        for number in range(count):
            device_for(program, graph, made(number))
            found.append(replace(device.find(), number=number))
        broken = {}
        monkeypatch.setattr(device, "_broken", broken)
        monkeypatch.setattr(speeds, "_measured", {})

        def find(number=0):
            if number >= count or number in broken:
                raise DeviceError(f"no GPU {number}; use device='cpu'")
            return found[number]

        monkeypatch.setattr(device, "find", find)
        monkeypatch.setattr(device, "count", lambda: count)
        monkeypatch.setattr(peers, "can_reach", lambda number, other: linked)
        return [each.driver for each in found]

    return make
