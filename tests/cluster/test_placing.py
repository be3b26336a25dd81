import pytest

from garaph_py.cluster.memory import LIMIT_SHARE, PROCESS
from garaph_py.cluster.placing import WorkerFacts, place
from garaph_py.errors import ClusterError

MIB = 1 << 20


def worker(room=None, threads=1):
    """A worker with room for so many MiB of parts, or without a limit."""
    return WorkerFacts(0 if room is None else int((room * MIB + PROCESS) / LIMIT_SHARE) + 1, threads)


def test_the_worker_with_the_fewest_parts_per_thread_gets_a_part():
    workers = {"a": worker(), "b": worker(threads=4), "c": worker()}
    assert place(["a", "b", "c", "gone", "gone", "gone", "gone"], workers, [0] * 7) == [*"abcbbba"]


def test_only_workers_with_room_get_parts():
    workers = {"a": worker(50), "b": worker(30, threads=8)}
    assert place(["a", "b", "gone"], workers, [20 * MIB] * 3) == ["a", "b", "a"]
    assert place(["a", "b", "gone"], workers | {"new": worker(20)}, [20 * MIB] * 3) == ["a", "b", "new"]


def test_parts_that_moved_take_room_too():
    workers = {"a": worker(50), "b": worker(50)}
    assert place(["gone"] * 4, workers, [20 * MIB] * 4) == [*"abab"]
    with pytest.raises(ClusterError, match=r"takes 20.* MiB in a worker; the worker with most room has 10.* MiB"):
        place(["gone"] * 5, workers, [20 * MIB] * 5)


def test_what_is_missing_is_told():
    with pytest.raises(ClusterError, match=r"so 5(\.0+)? MiB are missing"):
        place(["a", "gone"], {"a": worker(35)}, [20 * MIB] * 2)
