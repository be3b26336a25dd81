"""What pages have changed since a checkpoint: runs that die within an iteration go on from it to a right answer."""

import contextlib
import errno
import logging
import os
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
import xxhash

import garaph_py as gp
from garaph_py import events
from garaph_py.checkpoint import saver
from garaph_py.checkpoint.files import Files
from garaph_py.checkpoint.page_log import LoggedPage, PageLog, header_of, logged
from garaph_py.checkpoint.policy import parse_every
from garaph_py.checkpoint.saver import Saver
from garaph_py.checkpoint.store import LOG, NAMES, Store
from garaph_py.dispatch.rates import Rates
from garaph_py.errors import DamagedCheckpointError, NumberError, ParameterError
from garaph_py.executor.hybrid import HybridExecutor
from garaph_py.executor.state import State
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.pages.layout import Page
from tests.support import twins
from tests.support.checkpoint_files import Disk, Failing, Watched, ticking
from tests.support.numpy_gpu import GRAPH, HUB, Hops, Quiet, failing_once, memory_for
from tests.support.programs import DataDriven

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

BASE = 0x1234_5678_9ABC_DEF0
VALUES = np.arange(200, dtype=np.int64)


class Stop(Exception):
    pass


@pytest.fixture(scope="module")
def graph(graph_of):
    return graph_of(GRAPH)


class Growing(gp.VertexProgram):
    """Sums that grow for ever."""

    start: float = 1.0

    value = np.float64
    sum = gp.add

    def init(self):
        return self.start

    def gather(self, src):
        return src * 1e3

    def apply(self, acc):
        return acc


# The file


def page(first, last, seed=0):
    rng = np.random.default_rng([seed, first])
    active = rng.integers(1 << 63, size=-(-last // 64) - first // 64, dtype=np.uint64)
    return LoggedPage(first, last, rng.integers(1 << 40, size=last - first), active)


PAGES = [page(64, 128), page(0, 64), page(130, 131), page(128, 200), page(64, 128, seed=1)]


def is_same(one, other):
    same_range = (one.first, one.last) == (other.first, other.last)
    return same_range and (one.values == other.values).all() and (one.active == other.active).all()


def written(path, pages=PAGES, base=BASE):
    log = PageLog(Files(), path, base, 8)
    for one in pages:
        log.append(one)
    log.close()
    return path


def found_in(path, base=BASE, like=VALUES):
    return list(logged(Files(), path, base, like))


def assert_begins(found, pages=PAGES):
    """The pages found are the first that were written."""
    assert len(found) <= len(pages)
    assert all(map(is_same, found, pages))


def test_pages_are_found_in_the_order_in_which_they_ended(tmp_path):
    found = found_in(written(tmp_path / "log"))
    assert len(found) == len(PAGES)
    assert_begins(found)
    assert not found_in(tmp_path / "none")


def test_the_log_of_another_checkpoint_has_no_pages(tmp_path):
    path = written(tmp_path / "log")
    assert not found_in(path, BASE + 1)
    path.write_bytes(header_of(BASE + 1, 8) + path.read_bytes()[32:])
    assert not found_in(path, BASE + 1)  # each record knows its checkpoint
    assert not found_in(written(path), like=VALUES.astype(np.int32))


def test_a_new_log_replaces_an_older_one(tmp_path):
    path = written(tmp_path / "log")
    assert_begins(found_in(written(path, PAGES[2:], BASE + 1), BASE + 1), PAGES[2:])
    assert not found_in(path)


@pytest.mark.full
def test_a_log_ends_where_a_record_is_not_whole(tmp_path):
    path = written(tmp_path / "log")
    data = path.read_bytes()
    sizes = [24 + one.values.nbytes + one.active.nbytes for one in PAGES]
    ends = 32 + np.cumsum(sizes)
    assert ends[-1] == len(data)
    for length in range(len(data)):
        path.write_bytes(data[:length])
        found = found_in(path)
        assert len(found) == np.count_nonzero(ends <= length)
        assert_begins(found)


@pytest.mark.full
def test_no_flipped_byte_becomes_an_answer(tmp_path):
    path = written(tmp_path / "log")
    data = path.read_bytes()
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        found = found_in(path)
        assert len(found) < len(PAGES)
        assert_begins(found)


@pytest.mark.parametrize("bounds", [(0, 0), (5, 4), (0, 201), (0, 1 << 60), (1 << 63, (1 << 63) + 1), (199, 1 << 63)])
def test_bounds_with_a_right_checksum_are_checked_all_the_same(tmp_path, bounds):
    begin = struct.pack("<QQ", *bounds)
    record = begin + struct.pack("<Q", xxhash.xxh3_64_intdigest(begin + bytes(16), seed=BASE)) + bytes(16)
    (tmp_path / "log").write_bytes(header_of(BASE, 8) + record)
    assert not found_in(tmp_path / "log")


def test_what_others_can_write_is_refused(tmp_path):
    path = written(tmp_path / "log")
    path.chmod(0o666)
    with pytest.raises(ParameterError, match="must be its user's own"):
        found_in(path)
    (tmp_path / "link").symlink_to(written(tmp_path / "other"))
    with pytest.raises(OSError, match="symbolic"):
        found_in(tmp_path / "link")


# The directory


def arrays_after(number):
    return {"values": VALUES + number, "active": np.full(4, number, np.uint64)}


def loaded(store):
    """The iterations of the newest checkpoint, and how many of `PAGES` have been logged on top of it."""
    into = {name: np.empty_like(array) for name, array in arrays_after(0).items()}
    header = store.load(into)
    if header is None:
        return 0, 0
    np.testing.assert_array_equal(into["values"], VALUES + header.iterations)
    found = list(store.pages(VALUES))
    assert_begins(found)
    return header.iterations, len(found)


def job(store, until, done):
    """Iterations with a checkpoint at the end of each, and all pages within; `done` has what is safe."""
    begun = loaded(store)[0]
    for iterations in range(begun, until):
        store.save(iterations, {}, arrays_after(iterations))
        done.append((iterations, 0))
        for count, one in enumerate(PAGES, 1):
            store.append(one)
            done.append((iterations, count))


def test_a_checkpoint_ends_the_log_before_it(directory):
    store = Store(directory, Files())
    job(store, 3, [])
    assert loaded(store) == (2, len(PAGES))
    store.save(3, {}, arrays_after(3))
    assert loaded(store) == (3, 0)
    (directory / NAMES[0]).write_bytes(b"damage")
    assert loaded(store) == (2, len(PAGES))  # its log stays until the first page after the next one
    store.remove()
    store.close()
    assert not directory.exists()


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.full if seed > 59 else ()) for seed in range(300)]
)
def test_a_disk_that_tears_and_loses_writes(seed):
    """Power fails at a random call: what was said to be safe is there."""
    rng = np.random.default_rng(seed)
    disk, remaining, done = Disk(), rng.integers(1, 120), []

    class Fails(Exception):
        pass

    def tick():
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            raise Fails

    for name in ("open", "write", "sync", "rename", "unlink"):
        setattr(disk, name, ticking(getattr(disk, name), tick))
    with contextlib.suppress(Fails):
        job(Store(Path("/checkpoints"), disk), 4, done)
    assert loaded(Store(Path("/checkpoints"), disk.crash(rng))) >= max(done, default=(0, 0))


# Runs


def stopped(monkeypatch, program, graph, directory, after, **how):
    """Run until so many pages have been written, or to the end; return how many have been. No thread writes more."""
    write, count, lock = Saver.page, 0, threading.Lock()

    def page(self, *told):
        nonlocal count
        with lock:
            if count < after:
                write(self, *told)
                count += 1
            if count == after:
                raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(Saver, "page", page)
        try:
            run_with(program, graph, checkpoint=directory, checkpoint_every="page", sync=False, **how)
        except Stop:
            return count
    return None


def resumed(program, graph, directory, **how):
    with run_with(program, graph, checkpoint=directory, resume=True, sync=False, **how) as result:
        assert directory.exists()
    assert not directory.exists()
    return result


def left_in(directory, graph):
    """The values in the newest checkpoint of `Growing`, and the pages in the log on top of it."""
    with contextlib.closing(Store(directory, Files())) as store:
        values = np.empty(graph.n)
        store.load({"values": values, "active": np.empty(-(-graph.n // 64), np.uint64)})
        return values, list(store.pages(values))


PROGRAMS = {"BFS": gp.apps.BFS(HUB), "SSSP": gp.apps.SSSP(HUB), "CC": gp.apps.ConnectedComponents()}
WAYS = {
    "pull": {"mode": "pull"},
    "notify-pull": {"mode": "notify-pull"},
    "garaph": {"engine": "garaph"},
    "auto": {"mode": "auto", "engine": "auto"},
}


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_runs_that_die_after_any_page_end_in_the_same_answer(monkeypatch, graph_of, directory, caplog, name, way):
    caplog.set_level(logging.INFO, "garaph_py")
    graph = graph_of(twins.skewed(3, 900, 4000, "int32"), directed=name != "CC")
    program = PROGRAMS[name] if name == "CC" else type(PROGRAMS[name])(int(graph.out_degrees.argmax()))
    how = {"device": "cpu", "page_edges": 300, **WAYS[way]}
    expected = run_with(program, graph, device="cpu", sync=True).values
    after, again = 1, 0
    while stopped(monkeypatch, program, graph, directory, after, **how) is not None:
        again += "pages of the next" in caplog.text
        caplog.clear()
        result = resumed(program, graph, directory, **how)
        assert "pages of the next" in caplog.text
        np.testing.assert_array_equal(result.values, expected)
        directory.mkdir()
        after += 1 if after < 40 else 7
    assert after > 5 or way == "auto"


@pytest.mark.parametrize("after", [1, 3, 20, 33])
def test_a_run_goes_on_from_the_pages_that_it_has_written(monkeypatch, graph, directory, after):
    program, how = gp.apps.PageRank(), {"device": "cpu", "engine": "garaph", "page_edges": 4000}
    expected = run_with(program, graph, device="cpu", sync=True)
    told, restored = [], []

    def tell(self, page, values, active):
        told.append((page, values.copy(), active.copy()))
        tells(self, page, values, active)

    def restore(self, state, graph):
        found = restores(self, state, graph)
        restored.append((found, state.values.copy(), state.frontier.bits.copy()))
        return found

    tells, restores = Saver.page, Saver.restore
    monkeypatch.setattr(Saver, "page", tell)
    assert stopped(monkeypatch, program, graph, directory, after, **how) == after
    monkeypatch.setattr(Saver, "page", tells)
    monkeypatch.setattr(Saver, "restore", restore)
    result = resumed(program, graph, directory, **how)
    np.testing.assert_allclose(result.values, expected.values, rtol=1e-3)
    (iterations, values, active), per_iteration = restored[0], result.stats.iterations[0].pages
    assert iterations == result.stats.resumed == (after - 1) // per_iteration
    for page, new, bits in told[iterations * per_iteration :]:
        np.testing.assert_array_equal(values[page.first_vertex : page.last_vertex], new)
        assert (active[page.words] & bits == bits).all()


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("after", [1, 4, 9, 17])
@pytest.mark.parametrize("second", ["cpu", "gpu", "hybrid"])
@pytest.mark.parametrize("first", ["gpu", "hybrid"])
@pytest.mark.parametrize("program", [Hops(HUB), Quiet(HUB)], ids=["total", "quiet"])
def test_any_device_goes_on_within_an_iteration_of_another(
    device_for, graph, directory, monkeypatch, program, first, second, after
):
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    device_for(program, graph)
    how = {"gather": "segmented", "page_edges": 3000, "gpu_memory": memory_for(program, graph, 0.3), "mode": "pull"}
    expected = run_with(program, graph, device="cpu", sync=True)
    assert stopped(monkeypatch, program, graph, directory, after, device=first, **how) == after
    result = resumed(program, graph, directory, device=second, **how)
    np.testing.assert_array_equal(result.values, expected.values)


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("fails", [9, 40, 80, 120])
@pytest.mark.parametrize("after", [3, 12, 25])
def test_no_page_is_written_where_a_lost_gpu_may_have_changed_it(
    device_for, graph, directory, monkeypatch, device, fails, after
):
    """The CPU goes on from an earlier state, or with values of which it does not know whether they have changed."""
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    program = Quiet(HUB)
    driver = device_for(program, graph)
    how = {"gather": "segmented", "page_edges": 3000, "gpu_memory": memory_for(program, graph, 0.3), "mode": "pull"}
    expected = run_with(program, graph, device="cpu", sync=True)
    with monkeypatch.context() as patch:
        patch.setattr(driver, "memcpy_dtoh_async", driver.memcpy_dtoh_async)
        failing_once(driver, "memcpy_dtoh_async")[0] = fails
        stopped(patch, program, graph, directory, after, device=device, **how)
    if directory.exists():
        result = resumed(program, graph, directory, device="cpu", mode="pull")
        np.testing.assert_array_equal(result.values, expected.values)


@pytest.mark.slow
def test_nobody_is_told_of_pages_once_a_gpu_is_lost(device_for, graph, directory, monkeypatch):
    """The CPU has values that the GPU copied, and cannot tell whether they are new."""
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    driver, told, lost = device_for(Quiet(HUB), graph), [], []
    lose = HybridExecutor._lose
    monkeypatch.setattr(HybridExecutor, "_lose", lambda *how: (lose(*how), lost.append(len(told))))
    monkeypatch.setattr(Saver, "page", lambda self, page, *_: told.append(page))
    how = {"gather": "segmented", "page_edges": 3000, "gpu_memory": memory_for(Quiet(HUB), graph, 0.3), "mode": "pull"}
    failing_once(driver, "memcpy_dtoh_async")[0] = 40
    result = run_with(Quiet(HUB), graph, device="hybrid", sync=False, checkpoint=directory, checkpoint_every="page",
                      **how)  # fmt: skip
    np.testing.assert_array_equal(result.values, run_with(Quiet(HUB), graph, device="cpu", sync=True).values)
    assert lost == [len(told)]
    assert told
    result.close()


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 5, 12])
@pytest.mark.parametrize("program", [Hops(HUB), Quiet(HUB)], ids=["total", "quiet"])
def test_runs_on_both_processors_as_garaph_s_that_die_after_any_page(
    device_for, graph, directory, monkeypatch, program, after
):
    device_for(program, graph)
    how = {"device": "hybrid", "gather": "segmented", "engine": "garaph", "mode": "pull", "page_edges": 3000,
           "gpu_memory": memory_for(program, graph, 0.3)}  # fmt: skip
    expected = run_with(program, graph, device="cpu", sync=True)
    assert stopped(monkeypatch, program, graph, directory, after, **how) == after
    np.testing.assert_array_equal(resumed(program, graph, directory, **how).values, expected.values)


@pytest.mark.gpu
@pytest.mark.parametrize("after", [1, 5, 12])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("engine", ["garaph", "garaph:keep=yes", "auto"])
def test_runs_on_a_gpu_that_die_after_any_page(monkeypatch, graph, directory, engine, device, after):
    how = {"device": device, "engine": engine, "mode": "pull", "page_edges": 3000}
    expected = run_with(gp.apps.BFS(HUB), graph, device="cpu", sync=True)
    assert stopped(monkeypatch, gp.apps.BFS(HUB), graph, directory, after, **how) == after
    result = resumed(gp.apps.BFS(HUB), graph, directory, **how)
    assert result.stats.note is None
    np.testing.assert_array_equal(result.values, expected.values)


def test_pages_are_written_on_top_of_the_state_before_them_only(directory):
    """Not once the run goes on from another state; again after the next checkpoint."""
    values, told = np.arange(100.0), Page(0, 0, 64, 0, 9)
    state = State.empty(100, values, values, False, VertexSet.empty(100))
    with Saver(directory, parse_every("page"), False, events.ignore) as made:
        for iterations, begin in enumerate((made.begin, made.after)):
            begin(state, iterations)
            made.page(told, values[:64], np.zeros(1, np.uint64))
            made.forget()
            made.page(told, values[:64], np.zeros(1, np.uint64))
            assert len(list(made._store.pages(values))) == 1


@pytest.mark.slow
def test_a_page_with_a_number_that_is_not_finite_is_not_written(graph, directory):
    with pytest.raises(NumberError):
        run_with(Growing(1e300), graph, device="cpu", sync=False, checkpoint=directory, checkpoint_every="page",
                 iterations=9, page_edges=3000, check="finite")  # fmt: skip
    values, pages = left_in(directory, graph)
    assert all(np.isfinite(array).all() for array in (values, *(one.values for one in pages)))


def test_what_is_asked_for_must_make_sense(graph, directory):
    for program, how, said in (
        (gp.apps.PageRank(), {"sync": True}, "in a synchronous run, new values count at the end .* sync=False"),
        (gp.apps.PageRank(), {"iterations": 3}, "in a synchronous run"),  # by default
        (DataDriven(), {"sync": False}, "DataDriven has prepare, .* give a number of iterations"),
    ):
        with pytest.raises(ParameterError, match=f"checkpoint_every='page': {said}"):
            run_with(program, graph, checkpoint=directory, checkpoint_every="page", **how)
        assert not directory.exists()


# Faults


@pytest.mark.slow
@pytest.mark.parametrize("number", [errno.ENOSPC, pytest.param(None, marks=pytest.mark.full)], ids=["ENOSPC", "short"])
def test_every_call_that_fails(graph_of, directory, monkeypatch, number):
    """For every k, the k-th call of a run fails; the run that goes on after it, or after its death, has the answer."""
    graph, program = graph_of(twins.skewed(3, 300, 1200), directed=False), gp.apps.ConnectedComponents()
    how = {"device": "cpu", "engine": "garaph", "page_edges": 200}
    expected = run_with(program, graph, device="cpu").values
    before, k, met, died = len(os.listdir("/proc/self/fd")), 0, True, 0
    while met:
        k += 1
        failing = Failing(k, number)
        monkeypatch.setattr(saver, "Files", lambda made=failing: made)
        try:
            died += stopped(monkeypatch, program, graph, directory, 9, **how) is not None
        except (ParameterError, DamagedCheckpointError):
            assert number is not None
        met = len(failing.calls) >= k
        monkeypatch.setattr(saver, "Files", Watched)
        assert len(os.listdir("/proc/self/fd")) == before, k
        if directory.exists():
            np.testing.assert_array_equal(resumed(program, graph, directory, **how).values, expected)
    assert k > 40
    assert died > 30


def test_a_full_disk_ends_the_log_until_the_next_checkpoint(graph, directory, monkeypatch, caplog):
    class Full(Watched):
        def meet(self, name, call, *arguments):
            if name == "write" and self.calls.count("write") == 12:
                raise OSError(errno.ENOSPC, "No space left on device")
            return call(*arguments)

    monkeypatch.setattr(saver, "Files", Full)
    how = {"device": "cpu", "engine": "garaph", "page_edges": 3000}
    assert stopped(monkeypatch, Growing(), graph, directory, 10, **how) == 10
    assert caplog.text.count("is in no checkpoint") == 1
    assert "No space left on device" in caplog.text
    assert 0 < len(left_in(directory, graph)[1]) < 10
    assert (directory / LOG).exists()
