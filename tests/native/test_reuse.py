"""Memory of arrays that is kept for later ones, and given back."""

import gc
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.native import reuse

MANY = reuse.LEAST_BYTES // 8
SMAPS = Path("/proc/self/smaps_rollup").read_text() if Path("/proc/self/smaps_rollup").exists() else ""


@pytest.fixture(autouse=True)
def nothing_kept():
    gc.collect()
    reuse.release()
    yield
    reuse.release()


def lazily_freed():
    """Bytes of this process that the system may take back."""
    (kilobytes,) = re.findall(r"LazyFree: +(\d+) kB", Path("/proc/self/smaps_rollup").read_text())
    return int(kilobytes) << 10


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [np.int64, np.dtype([("a", np.float32), ("b", np.int32)])], ids=str)
def test_memory_is_used_again_once_nobody_uses_it(dtype):
    first = reuse.empty(MANY, dtype)
    assert first.shape == (MANY,)
    assert first.dtype == dtype
    first[:] = 7 if first.dtype.names is None else (7, 7)
    place, part = address(first), first.view(np.uint8)[5:]
    del first
    assert address(reuse.empty(MANY, dtype)) != place  # `part` is there
    assert (part[3:11] == pickle.loads(pickle.dumps(part))[3:11]).all()
    reuse.release()
    del part
    assert reuse.unused_bytes() == 8 * MANY
    assert address(reuse.empty(MANY, dtype)) == place


def test_arrays_of_other_sizes_have_other_memory():
    del_later = reuse.empty(MANY, np.int64)
    place = address(del_later)
    del del_later
    other = reuse.empty(MANY + 1000, np.int64)
    other[:] = 1
    assert address(other) != place
    assert reuse.unused_bytes() == 8 * MANY


def test_small_arrays_are_numpy_s():
    assert reuse.empty(MANY - 1, np.int64).flags.owndata
    assert reuse.empty(0, np.int64).shape == (0,)


def test_too_much_is_not_kept(monkeypatch):
    monkeypatch.setattr(reuse, "most_bytes", lambda: 16 * MANY)
    arrays = [reuse.empty(MANY, np.int64) for _ in range(5)]
    arrays.clear()
    assert reuse.unused_bytes() == 16 * MANY


def test_results_stay_while_later_runs_use_kept_memory():
    graph = gp.uniform(18, 1)
    search = gp.apps.SSSP(source=graph.ids[0])
    first = gp.run(search, graph, device="cpu")
    before, place = first.values.copy(), address(first.values)
    second = gp.run(gp.apps.SSSP(source=graph.ids[1]), graph, device="cpu")
    assert address(second.values) != place
    assert (first.values == before).all()
    del first
    assert address(gp.run(search, graph, device="cpu").values) == place
    del second
    graph.release()
    assert reuse.unused_bytes() == 0


def test_many_unbounded_runs_keep_no_more_than_the_bound(monkeypatch):
    monkeypatch.setattr(reuse, "most_bytes", lambda: 40 * MANY)
    for length in (17, 18, 17, 16, 18):
        graph = gp.uniform(length, 1)
        for program in gp.apps.SSSP(source=graph.ids[0]), gp.apps.PageRank(stop="never"):
            gp.run(program, graph, device="cpu", iterations=2)
            assert reuse.unused_bytes() <= 40 * MANY
    assert reuse.unused_bytes() > 0


@pytest.mark.skipif("LazyFree" not in SMAPS, reason="this system does not say what it may take back")
def test_the_system_may_take_what_is_kept():
    before, used = lazily_freed(), reuse.empty(16 * MANY, np.int64)
    used[:] = 1
    del used
    assert lazily_freed() - before >= 0.9 * 128 * MANY  # the first page of the lease is read again


def test_what_a_run_with_a_limit_counts_is_kept_for_it():
    arrays = [reuse.empty(MANY, np.int64) for _ in range(3)]
    places = set(map(address, arrays))
    arrays.clear()
    with reuse.within(16 * MANY):
        assert reuse.unused_bytes() == 16 * MANY
        own = [reuse.empty(MANY, np.int64) for _ in range(2)]
        assert set(map(address, own)) < places
        own.clear()
        assert reuse.unused_bytes() == 16 * MANY
        with reuse.within(8 * MANY):
            assert reuse.unused_bytes() == 8 * MANY
        other = reuse.empty(MANY + 1000, np.int64)  # what is kept gives it room
        assert reuse.unused_bytes() == 0
        more = [other, reuse.empty(MANY, np.int64)]
        del other
        more.clear()
        assert reuse.unused_bytes() <= 16 * MANY
    with reuse.within(0):
        assert reuse.unused_bytes() == 0
    used = [reuse.empty(MANY, np.int64) for _ in range(3)]
    used.clear()
    assert reuse.unused_bytes() == 24 * MANY


@pytest.mark.parametrize("memory", ["40MiB", "256MiB"])
def test_runs_with_a_limit_use_memory_again_and_keep_no_more_than_they_count(tmp_path, monkeypatch, memory):
    made, own_pages = [], reuse.own_pages
    monkeypatch.setattr(reuse, "own_pages", lambda nbytes: made.append(reuse.unused_bytes()) or own_pages(nbytes))
    for number, sizes in enumerate([(18, 32), (17, 8)]):
        gp.save(gp.uniform(*sizes, directed=False), tmp_path / f"{number}")
    graphs = [gp.open(tmp_path / f"{number}", memory=memory) for number in range(2)]
    assert [graph.on_disk for graph in graphs] == [memory == "40MiB", False]
    for graph in graphs * 2:
        program = gp.apps.PageRank(stop="never")
        counted = 2 * 8 * graph.n  # the plan has two arrays of float64
        first = gp.run(program, graph, device="cpu", iterations=2)
        assert reuse.unused_bytes() <= counted - 8 * graph.n  # the result has the rest
        del first
        made.clear()
        gp.run(program, graph, device="cpu", iterations=2)
        assert made == []
        assert reuse.unused_bytes() <= counted
        gp.run(gp.apps.BFS(graph.ids[0]), graph, device="cpu")
        assert not any(made)
