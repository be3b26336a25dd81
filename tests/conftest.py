"""What all tests share: a place for compiled code, graphs, real data where there is some, modest property tests."""

import contextlib
import fcntl
import gc
import importlib
import os
import random
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from garaph_py.errors import DeviceError
from garaph_py.executor.cpu import runs
from garaph_py.executor.gpu import device, placement
from garaph_py.graph.build import from_numbered_edges
from garaph_py.native import compiling, threads
from garaph_py.pages import memory
from garaph_py.storage import sectors
from tests.support.gpu_with_lists import device_with_lists  # noqa: F401 - a fixture
from tests.support.interpreted_gpu import interpreting  # noqa: F401 - a fixture
from tests.support.numpy_gpu import device_for, gpu_is_faster, pending_is_poisoned  # noqa: F401 - fixtures
from tests.support.reads import kernel_reads  # noqa: F401 - a fixture
from tests.support.real_gpu import three_of_one  # noqa: F401 - a fixture
from tests.support.repeating import steps  # noqa: F401 - a fixture
from tests.support.several_gpus import all_gpus, all_work, devices_for, map_for  # noqa: F401 - fixtures
from tests.support.spread import mark_others
from tests.support.tables import made  # noqa: F401 - a fixture
from tests.support.turns import gpu_keeps_up  # noqa: F401 - a fixture

HERE = Path(__file__).parent
FEW_SPINS = 1 << 8
"""How often an idle thread of a pool looks for a job before it goes to sleep: for some 4 microseconds."""

settings.register_profile("garaph", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("garaph")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script has started pytest with "&"
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Look for no garbage among ten thousand tests, neither now nor while they run: they all stay."""
    gc.disable()
    if "PYTEST_XDIST_WORKER" in os.environ and [Path(arg).absolute() for arg in session.config.args] == [HERE]:
        import_own_files(int(os.environ["PYTEST_XDIST_WORKER"][2:]), int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
    result = yield
    gc.enable()
    gc.freeze()
    return result


def import_own_files(number, count):
    """Import every `count`-th file of tests: Python keeps its code, so that no other process compiles it too."""
    for path in sorted(HERE.rglob("test_*.py"))[number::count]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # pytest, which imports it too, says what is wrong
            importlib.import_module(".".join(path.relative_to(HERE.parent).with_suffix("").parts))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what is like other tests; leave out what needs a GPU or compiler where there is none, and say why."""
    mark_others(items)
    items.sort(key=lambda item: item.path.parent != HERE)  # few tests a file, which take long: not at the end
    yield  # what -m leaves out is gone
    for name, missing in (("gpu", missing_gpu), ("cuda", missing_compiler)):
        marked = [item for item in items if item.get_closest_marker(name)]
        reason = missing() if marked else None
        if reason is not None:
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file's tests run in one process, which has compiled and made most of what they share."""
    if config.option.dist != "load":  # what ``-n`` alone means
        return None
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


def missing_gpu():
    """Why no GPU can be used; None if one can."""
    try:
        device.find()
    except DeviceError as error:
        return str(error)
    return None


def missing_compiler():
    """Which package of the CUDA compiler is missing; None if none is."""
    for name in ("cuda.core", "numba_cuda"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            return f"the CUDA compiler is missing ({error}); pip install 'garaph_py[cuda]'"
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Processes that test in parallel share one GPU; a test that is to be alone has it for itself."""
    if item.get_closest_marker("gpu") is None:
        return (yield)
    with (Path(tempfile.gettempdir()) / "garaph-tests-on-gpu.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if item.get_closest_marker("alone_on_gpu") else fcntl.LOCK_SH)
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def compiled_code(tmp_path_factory):
    """A cache of compiled code for the session, apart from the user's; parallel test processes share it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled"
    with pytest.MonkeyPatch.context() as patch:
        if "GARAPH_CACHE_DIR" not in os.environ:
            patch.setenv("GARAPH_CACHE_DIR", str(folder))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_notice():
    """No line says that a program is compiled: whether it comes depends on what the cache holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling.notice, "_said", True)
        yield


@pytest.fixture(scope="session", autouse=True)
def idle_threads_sleep():
    """Threads of runs soon sleep if there is no job: parallel test processes have a core each, and threads of one that
    look for a job would keep the threads of the others from work. Pools of tests' own that ask for more look longer."""
    begin = threads.ThreadPool.__init__

    def sleepy(self, size=None, spins=threads.SPINS):
        begin(self, size, FEW_SPINS if spins in (threads.SPINS, threads.LONG_SPINS) else spins)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads.ThreadPool, "__init__", sleepy)
        yield


@pytest.fixture(scope="session", autouse=True)
def small_graphs_stand_for_large_ones():
    """No graph is small enough to be read in place, so that tests with small graphs stream pages like large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "FEW_BYTES", 0)
        yield


@pytest.fixture
def no_gpu(monkeypatch):
    """No GPU can be used."""

    def find(number=0):
        raise DeviceError("no GPU here; buy one")

    monkeypatch.setattr(device, "find", find)


@pytest.fixture
def two_cores():
    """This process, and those that it starts, may use two cores: memory and reads depend on how many there are."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, random.sample(sorted(allowed), min(2, len(allowed))))
    yield
    os.sched_setaffinity(0, allowed)


@pytest.fixture(scope="module")
def cut_small_graphs():
    """Divide even the smallest graph over all threads; by default small graphs use fewer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "MIN_RUN_EDGES", 1)
        yield


@pytest.fixture
def read_like_large_graphs(monkeypatch):
    """Little memory and small requests, so that small graphs are read from disk like large ones."""
    monkeypatch.setattr(memory, "SPARE_BYTES", 0)
    monkeypatch.setattr(memory, "CHECKER_BLOCKS", 0)
    monkeypatch.setattr(sectors, "REQUEST_BYTES", 0)


@pytest.fixture(scope="session")
def graph_of():
    """A function that makes a graph of `twins.Edges`, with its weights or without."""

    def build(edges, weighted=True, directed=True):
        weights = edges.weights if weighted else None
        return from_numbered_edges(edges.sources, edges.targets, edges.n, weights, directed=directed)

    return build


@pytest.fixture(scope="session")
def reference_data():
    """The folder of real graphs with reference results: ``$GARAPH_REFERENCE_DATA``, else beside the repository."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GARAPH_REFERENCE_DATA", beside))
    if not folder.is_dir():
        pytest.skip("no reference data; set GARAPH_REFERENCE_DATA to its folder")
    return folder
