"""Without a usable GPU, one line states cause and fix, and the CPU does the run."""

import logging
import re
import sys
import types
from types import SimpleNamespace

import pytest

import garaph_py as gp
from garaph_py.errors import DeviceError, DeviceMemoryError
from garaph_py.executor.gpu import device
from garaph_py.executor.gpu.device import has_driver
from tests.support import twins
from tests.support.verdicts import auto_takes

from ...support.runs import run_with


class DriverError(Exception):
    pass


class DriverMemoryError(DriverError):
    pass


class DriverLogicError(DriverError):
    pass


class LaunchError(DriverError):
    pass


class FakeDriver(types.ModuleType):
    """As much of `pycuda.driver` as `device.open_device` asks."""

    Error, MemoryError, LogicError, LaunchError = DriverError, DriverMemoryError, DriverLogicError, LaunchError

    def __init__(self, count=1, capability=(9, 0), memory=8 << 30, starts=True, gives_context=True):
        super().__init__("pycuda.driver")
        driver, self.inits = self, 0

        class Device:
            def __init__(self, number):
                assert number == 0

            count = staticmethod(lambda: count)
            name = staticmethod(lambda: "Fake GPU")
            compute_capability = staticmethod(lambda: capability)
            total_memory = staticmethod(lambda: memory)
            get_attribute = staticmethod(int)

            @staticmethod
            def retain_primary_context():
                if not gives_context:
                    raise DriverMemoryError("cuDevicePrimaryCtxRetain failed: out of memory")
                return "context"

        def init():
            driver.inits += 1
            if not starts:
                raise DriverLogicError("cuInit failed: system not yet initialized")

        class Context:
            lost = False

            @classmethod
            def synchronize(cls):
                if cls.lost:
                    raise DriverLogicError("cuCtxSynchronize failed: the error before")

        self.Device, self.init, self.Context = Device, init, Context
        names = ("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", "MULTIPROCESSOR_COUNT", "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR")
        attributes = dict.fromkeys((*names, "MAX_THREADS_PER_MULTIPROCESSOR"), 1024)
        self.device_attribute = SimpleNamespace(**attributes)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """The cache of found GPUs is empty before and after the test, and there seems to be a driver."""
    monkeypatch.setattr(device, "_found", {})
    monkeypatch.setattr(device, "_broken", {})
    monkeypatch.setattr(device, "has_driver", lambda: True)


@pytest.fixture
def install(monkeypatch):
    """A function that puts a driver, or None for no package, where it is imported from."""

    def put(driver, cuda_core=True):
        core = types.ModuleType("cuda.core") if cuda_core else None
        cuda, pycuda = types.ModuleType("cuda"), types.ModuleType("pycuda")
        cuda.core, pycuda.driver = core, driver
        fakes = {"cuda": cuda, "cuda.core": core, "pycuda": pycuda if driver else None, "pycuda.driver": driver}
        for name, module in fakes.items():
            monkeypatch.setitem(sys.modules, name, module)

    return put


BROKEN = {
    "no package": (None, "a package is missing .*pycuda.*; pip install"),
    "driver does not start": (FakeDriver(starts=False), "driver does not start .*not yet initialized.*; .*nvidia-smi"),
    "no device": (FakeDriver(count=0), "sees no GPU; .*CUDA_VISIBLE_DEVICES"),
    "too old": (FakeDriver(capability=(7, 0)), r"Fake GPU has compute capability 7\.0, but 7\.5 is needed; "),
    "too small": (FakeDriver(memory=64 << 20), "Fake GPU has 64 MiB of memory, too little; "),
    "no context": (FakeDriver(gives_context=False), "Fake GPU gives no context .*out of memory.*; .*nvidia-smi"),
}
EACH = pytest.mark.parametrize("why", BROKEN)


@EACH
def test_cause_and_fix(install, why):
    driver, message = BROKEN[why]
    install(driver)
    with pytest.raises(DeviceError) as caught:
        device.find()
    assert_one_line(str(caught.value), message)


def assert_one_line(text, message):
    assert re.search(message, text)
    assert "; " in text
    assert "device='cpu'" in text
    assert "\n" not in text


def test_no_compiler(install):
    install(FakeDriver(), cuda_core=False)
    with pytest.raises(DeviceError, match=r"a package is missing .*cuda\.core.*; pip install 'garaph_py\[gpu\]'"):
        device.find()


def test_the_driver_is_looked_for_once(monkeypatch, request):
    found = []
    monkeypatch.setattr(device.ctypes, "CDLL", found.append)
    request.addfinalizer(has_driver.cache_clear)
    has_driver.cache_clear()
    assert all(has_driver() for _ in range(2))
    assert found == ["libcuda.so.1"]


def test_no_driver(install, monkeypatch, tmp_path):
    """PyCUDA is installed, but the driver library that it is linked to is missing."""
    install(FakeDriver())
    monkeypatch.delitem(sys.modules, "pycuda")
    monkeypatch.delitem(sys.modules, "pycuda.driver")
    (tmp_path / "pycuda").mkdir()
    (tmp_path / "pycuda" / "__init__.py").write_text("")
    text = "libcuda.so.1: cannot open shared object file: No such file or directory"
    (tmp_path / "pycuda" / "driver.py").write_text(f"raise ImportError({text!r})")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DeviceError) as caught:
        device.find()
    assert_one_line(str(caught.value), r"^no NVIDIA driver \(libcuda\.so\.1 is missing\); install one")


def test_a_gpu_is_found_once(install):
    driver = FakeDriver(capability=(12, 0))
    install(driver)
    found = device.find()
    assert device.find() is found
    assert driver.inits == 1
    assert (found.name, found.architecture, found.memory) == ("Fake GPU", "sm_120", 8 << 30)


@pytest.mark.parametrize(
    ("error", "kind", "ends"),
    [
        (DriverMemoryError("cuMemAlloc failed: out of memory"), DeviceMemoryError, False),
        (DriverLogicError("cuMemcpyHtoD failed: invalid argument"), DeviceError, False),
        (DriverLogicError("cuStreamSynchronize failed: an illegal memory access was encountered"), DeviceError, True),
        (LaunchError("cuCtxSynchronize failed: unspecified launch failure"), DeviceError, True),
    ],
)
def test_driver_errors_become_device_errors(install, error, kind, ends):
    """After an error that makes the context unusable, this process uses the GPU no more."""
    driver = FakeDriver()
    driver.Context.lost = ends
    install(driver)
    with pytest.raises(kind) as caught, device.failing(driver):
        raise error
    assert_one_line(str(caught.value), str(error))
    if ends:
        with pytest.raises(DeviceError, match=r"failed earlier in this process \(.*\); start a new one"):
            device.find()
    else:
        assert device.find().name == "Fake GPU"


@pytest.fixture(scope="module")
def edges():
    return twins.skewed(7, 3000, 40000, "float64")


def warnings_of(caplog):
    """The messages, but for the one of a compilation that takes long, as it may where nothing is cached."""
    found = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    return [message for message in found if not message.startswith("compiling, once")]


@EACH
def test_runs_without_a_gpu(install, monkeypatch, caplog, graph_of, edges, why):
    driver, message = BROKEN[why]
    install(driver)
    graph, program = graph_of(edges), gp.apps.PageRank()
    expected = gp.run(program, graph, device="cpu", iterations=3)
    with pytest.raises(DeviceError, match=message):
        gp.run(program, graph, device="gpu", iterations=3)
    auto_takes(monkeypatch)
    with caplog.at_level(logging.INFO, "garaph_py"):
        result = gp.run(program, graph, iterations=3)
    assert result.values.tobytes() == expected.values.tobytes()
    assert result.stats.device == "cpu"
    assert warnings_of(caplog) == [result.stats.note]
    assert_one_line(result.stats.note, f"^no GPU used: .*{message}")


@pytest.mark.slow
def test_nothing_is_said_where_there_is_no_driver(install, monkeypatch, caplog, graph_of, edges):
    install(None)
    monkeypatch.setattr(device, "has_driver", lambda: False)
    auto_takes(monkeypatch)
    result = gp.run(gp.apps.BFS(0), graph_of(edges))
    assert (result.stats.device, result.stats.note) == ("cpu", None)
    assert not warnings_of(caplog)
    with pytest.raises(DeviceError, match=r"^no NVIDIA driver .* is missing.; install one, or use device='cpu'"):
        gp.run(gp.apps.BFS(0), graph_of(edges), device="gpu")


def test_no_gpu_is_looked_for_where_none_is_wanted(monkeypatch, caplog, graph_of, edges):
    def find(number=0):
        raise AssertionError

    monkeypatch.setattr("garaph_py.executor.gpu.device.find", find)
    graph = graph_of(edges)
    small = gp.run(gp.apps.BFS(0), graph)
    auto_takes(monkeypatch)
    results = [small, gp.run(gp.apps.BFS(0), graph, device="cpu"), run_with(gp.apps.BFS(0), graph, mode="push")]
    assert [(result.stats.device, result.stats.note) for result in results] == [("cpu", None)] * 3
    assert not warnings_of(caplog)
