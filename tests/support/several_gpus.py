"""Several GPUs that are NumPy, which gp.run finds by their numbers."""

import random
import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from garaph_py.dispatch.rates import Rates
from garaph_py.errors import DeviceError
from garaph_py.executor.gpu import device, peers, speeds
from garaph_py.executor.gpu.multi_gpu import MultiGpuExecutor
from tests.support.late_gpu import LateDriver
from tests.support.numpy_gpu import MEMORY, FakeDriver, FakePinned


@pytest.fixture
def devices_for(device_for, monkeypatch):
    """A function that makes so many devices on which a program on a graph runs, and returns their drivers.

    ``made(number)`` makes a driver, of its layouts. If the devices are not `linked`, copies go through the host.
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
        monkeypatch.setattr(peers, "reaches", lambda device, other: linked)
        return [each.driver for each in found]

    return make


@pytest.fixture
def map_for(monkeypatch):
    """A function that has the GPUs of these drivers read what is pinned, each at the same address."""

    def make(drivers):
        places, lock = {0: MEMORY}, threading.Lock()  # from the end of the GPUs' memories down

        def mapped(self, array):
            where = array.__array_interface__["data"][0]
            with lock:  # GPUs are opened in threads
                if where not in places:
                    places[where] = min(places.values()) - -(-array.nbytes // 256) * 256
                    for driver in drivers:
                        driver.memcpy_htod(places[where], array.view(np.uint8))
                return places[where]

        monkeypatch.setattr(FakePinned, "map", mapped)

    return make


def late(rng, failing=None, fails_at=None):
    """What makes late drivers for `devices_for`; that of GPU number `failing` fails at a call."""

    def made(number):
        chance = random.Random(rng.random())
        return partial(LateDriver, rng=chance, fails_at=fails_at if number == failing else None)

    return made


def runs_with_a_failure(run_late, count, processor, sync):
    """The results of runs in which one of the GPUs fails at some call; ``run_late(rng, count, processor, sync, failing,
    fails_at)`` runs, and gives the drivers and the result."""
    rng = random.Random(f"{count} {processor} {sync} failing")
    drivers, _ = run_late(rng, count, processor, sync)
    calls = [driver.calls for driver in drivers]
    for _ in range(3):
        failing = rng.randrange(count)
        drivers, result = run_late(rng, count, processor, sync, failing, rng.randrange(max(calls[failing], 1)))
        if drivers[failing].failed:
            yield result


def each_failure(run_late, step, *how, **which):
    """The results of runs on two GPUs, of which one fails: each GPU at every call whose number `step` divides, and at
    0. ``run_late(rng, 2, *how, failing, fails_at, **which)`` runs, and gives the drivers and the result."""
    name = f"{how} {which} failing"
    drivers, _ = run_late(random.Random(name), 2, *how, **which)
    for failing, calls in enumerate([driver.calls for driver in drivers]):
        for fails_at in range(0, calls, step):
            drivers, result = run_late(random.Random(name), 2, *how, failing, fails_at, **which)
            if drivers[failing].failed:
                yield result


@pytest.fixture
def all_gpus(monkeypatch):
    """A run uses as many GPUs as it may."""
    monkeypatch.setattr("garaph_py.runtime.plan.how_many", lambda *told: (told[-1], "all work"))


@pytest.fixture
def all_work(all_gpus, monkeypatch):
    """In hybrid runs host and all GPUs work in every iteration."""
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)


COMMIT = MultiGpuExecutor.commit


def commit_and_compare(self, state, mode):
    """After an iteration, all GPUs have the same values and the same frontier."""
    COMMIT(self, state, mode)
    for name, nbytes in ("values", self._graph.n * 8), ("frontier", -(-self._graph.n // 8)):
        first, *others = (gpu.device.driver.array(gpu.address(name), np.uint8, nbytes) for gpu in self.gpus)
        for other in others:
            np.testing.assert_array_equal(other, first)
