"""A GPU simulated with NumPy that can hold edge lists, for the engines that push along them."""

from functools import partial

import pytest

from garaph_py.executor.gpu import edge_lists

from .numpy_gpu import FakePinned
from .numpy_lists import FakeManaged


@pytest.fixture
def device_with_lists(device_for, monkeypatch):
    """A function that makes a device, which can map memory and has unified memory."""

    def make(program, graph):
        driver = device_for(program, graph)
        monkeypatch.setattr(FakePinned, "driver", driver)
        monkeypatch.setattr(edge_lists, "ManagedArray", partial(FakeManaged, driver))
        FakeManaged.made.clear()
        return driver

    return make
