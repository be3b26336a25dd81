"""Device memory by name: within a budget, and used again after it was freed."""

import pytest

from garaph_py.errors import DeviceMemoryError
from garaph_py.executor.gpu import memory as memories
from garaph_py.executor.gpu.memory import DeviceMemory
from tests.support.numpy_gpu import FakeDriver


@pytest.fixture
def driver():
    return FakeDriver(None)


def memory_of(driver, budget):
    class Device:
        pass

    Device.driver = driver
    return DeviceMemory(Device, budget)


def test_what_was_freed_is_used_again_if_it_has_the_size(driver):
    memory = memory_of(driver, 1000)
    first = memory.allocate("one", 300)
    driver.bytes[first : first + 300] = 7
    memory.free("one")
    assert (memory.used, memory.spare, driver.held) == (0, 300, 300)
    assert memory.allocate("two", 300) == first
    assert not driver.bytes[first : first + 300].any()
    memory.free("two")
    assert memory.allocate("three", 200) != first
    assert (memory.used, memory.spare, driver.held) == (200, 300, 500)
    memory.close()
    assert (memory.used, memory.spare, driver.held) == (0, 0, 0)


def test_spare_memory_goes_when_the_budget_needs_it(driver):
    memory = memory_of(driver, 1000)
    for name, nbytes in (("one", 300), ("two", 400)):
        memory.allocate(name, nbytes)
        memory.free(name)
    memory.allocate("three", 500)
    assert (memory.used, memory.spare, driver.held) == (500, 400, 900)  # the oldest went
    with pytest.raises(DeviceMemoryError, match="four needs 501 bytes of GPU memory, but only 500"):
        memory.allocate("four", 501)


def test_spare_memory_goes_when_the_device_needs_it(driver):
    memory = memory_of(driver, 1000)
    memory.allocate("one", 300)
    memory.free("one")
    driver.refuses = 400
    memory.allocate("two", 350)
    assert driver.held == 350
    with pytest.raises(DeviceMemoryError, match="not have enough free memory"):
        memory.allocate("three", 100)


def test_little_is_kept(driver, monkeypatch):
    monkeypatch.setattr(memories, "SPARE_BYTES", 500)
    memory = memory_of(driver, 1000)
    for name, nbytes in (("one", 300), ("two", 400)):
        memory.allocate(name, nbytes)
    memory.free("one")
    memory.free("two")
    assert (memory.spare, driver.held) == (400, 400)


def test_contents_stay_where_they_are_written_anyway(driver):
    memory = memory_of(driver, 1000)
    at = memory.allocate("one", 300)
    driver.bytes[at] = 7
    assert memory.allocate("one", 300, clear=False) == at
    assert driver.bytes[at] == 7
