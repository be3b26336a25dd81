"""Memory of arrays that is kept for later ones, and given back."""

import gc
import pickle

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.native import reuse

MANY = reuse.LEAST_BYTES // 8


@pytest.fixture(autouse=True)
def nothing_kept():
    gc.collect()
    reuse.release()
    yield
    reuse.release()


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


def test_runs_with_a_limit_begin_with_nothing_kept(tmp_path):
    del_later = reuse.empty(MANY, np.int64)
    del del_later
    gp.save(gp.rmat(8), tmp_path / "g")
    gp.run(gp.apps.PageRank(), gp.open(tmp_path / "g", memory="64MiB"), device="cpu", iterations=1)
    assert reuse.unused_bytes() == 0
