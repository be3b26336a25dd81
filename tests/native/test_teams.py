"""Teams of threads: the next pool of a size finds them, and nothing of an earlier one is left in them."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from concurrent.futures import Future

import numpy as np
import pytest

from garaph_py.native import Kernel, teams
from garaph_py.native.threads import ThreadPool
from tests.support.compiled import python
from tests.support.threads import at_work, end_idle


@pytest.fixture(autouse=True)
def no_idle_teams():
    end_idle()
    yield
    end_idle()


def members() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("garaph-cpu")}


def square(k):
    return k * k


SQUARE = Kernel("i64", square)


def squares(pool: ThreadPool) -> bool:
    return pool.launch(SQUARE.rows(9, np.arange(9))).tolist() == [k * k for k in range(9)]


def test_the_next_pool_has_the_threads_of_the_last() -> None:
    with ThreadPool(3) as pool:
        pool.start()
        first = members()
    with ThreadPool(3, spins=1) as pool:
        assert squares(pool)
        assert pool.run(pow, [(2, k) for k in range(9)]) == [2**k for k in range(9)]
        assert members() == first
        with ThreadPool(3) as beside:
            beside.start()
            assert len(members()) == 4
    with ThreadPool(4) as pool:
        pool.start()
        assert len(members()) == 7


def test_a_pool_that_needs_no_threads_takes_none() -> None:
    with ThreadPool(5) as pool:
        pool.launch(SQUARE.rows(1, 3))
        pool.run(pow, [(2, 3)])
        with ThreadPool(1) as alone:
            alone.start()
            assert squares(alone)
    assert not members()


def test_a_failed_task_leaves_its_team_idle() -> None:
    with pytest.raises(ZeroDivisionError), ThreadPool(3) as pool:
        pool.run(divmod, [(1, 0), (1, 1), (1, 2)])
    assert members()
    assert not at_work("garaph-cpu")


def test_a_team_that_may_be_at_work_is_not_given_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller was interrupted where it waited for its threads."""
    done = []

    def interrupted(future: Future[None]) -> bool:
        raise KeyboardInterrupt

    def work(k: int) -> None:
        time.sleep(0.05 * k)
        done.append(k)

    with pytest.raises(KeyboardInterrupt), ThreadPool(3) as pool:  # noqa: PT012
        pool.start()
        monkeypatch.setattr(Future, "cancel", interrupted)
        pool.run(work, [(0,), (1,), (2,)])
    assert sorted(done) == [0, 1, 2]  # the pool waited for them at its end
    assert not members()


def test_a_few_teams_are_kept() -> None:
    for size in range(2, 10):
        with ThreadPool(size) as pool:
            pool.start()
    assert len(members()) == sum(size - 1 for size in range(6, 10))
    with ThreadPool(teams.MOST_THREADS + 2) as pool:
        pool.run(pow, [(2, k) for k in range(3)])
    assert len(members()) == sum(size - 1 for size in range(6, 10))


def test_idle_threads_sleep() -> None:
    with ThreadPool(2, spins=1 << 40) as pool:
        assert squares(pool)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.1


def test_nothing_of_a_pool_is_left_in_its_team() -> None:
    values = np.zeros(9)
    freed = weakref.ref(values)
    with ThreadPool(3) as pool:
        pool.trace()
        pool.about = {"page": 3}
        assert squares(pool)
        pool.run(values.__getitem__, [(k,) for k in range(9)])
        assert list(pool.spans())
    del values
    with ThreadPool(3) as pool:
        assert squares(pool)
        assert not list(pool.spans())
        assert not pool.about
        end_idle()
    gc.collect()
    assert freed() is None


FORKS = r"""
import os, sys, threading, numpy as np
from garaph_py.native import Kernel
from garaph_py.native.threads import ThreadPool
def count(): return sum(thread.name.startswith("garaph") for thread in threading.enumerate())
def work():
    with ThreadPool(3) as pool:
        pool.start()
        return pool.run(pow, [(2, 1), (2, 2), (2, 3)]), count()
print(work(), count(), flush=True)
sys.stdout.flush()
child = os.fork()
sys.stdout.write(f"{count()} {work()}\n")
sys.stdout.flush()
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.slow
def test_a_process_that_forks_has_no_idle_threads() -> None:
    first, *rest = python(FORKS).splitlines()
    assert first == "([2, 4, 8], 2) 2"
    assert rest == ["0 ([2, 4, 8], 2)"] * 2


FORKS_AT_WORK = r"""
import os, sys, threading
from garaph_py.native.threads import ThreadPool
with ThreadPool(3) as pool:
    pool.start()
    child = os.fork()
    sys.stdout.write(f"{pool.run(pow, [(2, 1), (2, 2), (2, 3)])}\n")
    sys.stdout.flush()
with ThreadPool(3) as pool:
    pool.start()
    sys.stdout.write(f"{sum(thread.name.startswith('garaph') for thread in threading.enumerate())}\n")
    sys.stdout.flush()
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.slow
def test_a_child_does_not_keep_a_team_of_its_parent() -> None:
    printed = python("import warnings; warnings.simplefilter('ignore')" + FORKS_AT_WORK)
    assert sorted(printed.splitlines()) == ["2", "2", "[2, 4, 8]", "[2, 4, 8]"]


def test_idle_teams_do_not_delay_the_end_of_the_process() -> None:
    ends = "import time\nfrom garaph_py.native.threads import ThreadPool\n" \
           "with ThreadPool(9) as pool: pool.start()\n" \
           "import atexit, threading\n" \
           "def late():\n" \
           "    with ThreadPool(9) as pool: print(pool.run(pow, [(2, 1), (2, 2)]), time.perf_counter() - began < 1)\n" \
           "atexit.register(late)\n" \
           "began = time.perf_counter()"  # fmt: skip
    assert python(ends) == "[2, 4] True\n"


def test_a_team_ends_although_no_code_can_be_loaded_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has run out of memory ends its threads, too."""
    team = teams.Team(2)
    assert team.hire(2) == 2
    monkeypatch.delattr(teams, "CLOSE")
    team.end()
    assert not members()
