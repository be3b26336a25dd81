import asyncio
import random

import numpy as np
import pytest

from garaph_py.cluster import client as client_module
from garaph_py.cluster import host as host_module
from garaph_py.cluster.client import Conductor
from garaph_py.cluster.host import GoneError
from garaph_py.cluster.memory import LIMIT_SHARE, PROCESS
from garaph_py.cluster.placing import Arrangement, WorkerFacts
from garaph_py.errors import ClusterError
from tests.support.cases import mostly_full
from tests.support.numpy_parts import LocalWorkers, NumpyParts, NumpyRun, least

N = 200
SOURCES = np.concatenate([np.arange(1, N), np.arange(0, N, 7)])
TARGETS = np.concatenate([np.arange(0, N - 1), np.arange(0, N, 7)[::-1]])


def run(workers, parts, heard=lambda superstep, reports: None, needs=0):
    """The answer, and the conductor; each part needs so many bytes."""

    async def work():
        there, made = list(await workers.workers()), NumpyParts(N, SOURCES, TARGETS, parts, needs)
        addresses = [there[part % len(there)] for part in range(parts)]
        conductor = Conductor(
            workers, Arrangement(made, addresses, [1] * parts, [1] * parts, {"parts": parts}), {}, heard
        )
        try:
            reported = await conductor.run()
        finally:
            await conductor.close()
        return np.concatenate(reported), conductor

    return asyncio.run(asyncio.wait_for(work(), 60))


@pytest.mark.parametrize(
    ("workers", "parts"), [(1, 3), *(pytest.param(k, m, marks=pytest.mark.full) for k, m in ((2, 2), (3, 5)))]
)
def test_parts_find_the_answer_together(workers, parts):
    expected, steps = least(N, SOURCES, TARGETS)
    answer, conductor = run(LocalWorkers(workers), parts)
    np.testing.assert_array_equal(answer, expected)
    assert conductor.finished == steps + 1


def test_every_superstep_is_heard_once():
    heard = []
    _, conductor = run(LocalWorkers(2), 3, lambda superstep, reports: heard.append((superstep, len(reports))))
    assert heard == [(superstep, 3) for superstep in range(conductor.finished + 1)]


def test_arrays_are_sent_in_pieces(monkeypatch):
    monkeypatch.setattr(client_module, "PIECE", 64)
    workers = LocalWorkers(2)
    answer, _ = run(workers, 2)
    np.testing.assert_array_equal(answer, least(N, SOURCES, TARGETS)[0])
    assert workers.asked.count("array") > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", mostly_full(range(12), "11"))
def test_killed_workers_change_no_answer(seed, free_copies, monkeypatch):
    """Workers die at random calls; some come back under another name."""
    monkeypatch.setattr(client_module, "ALIVE_SECONDS", 0.02)
    chance, left = random.Random(seed), [3]

    async def after(address, what):
        await asyncio.sleep(0)
        if left[0] and chance.random() < 0.02:
            left[0] -= 1
            workers.kill(chance.choice(sorted(workers.hostings)))
            if not workers.hostings or chance.random() < 0.5:
                workers.add()

    workers = LocalWorkers(3, after=after)
    answer, conductor = run(workers, 4)
    np.testing.assert_array_equal(answer, least(N, SOURCES, TARGETS)[0])
    assert len(conductor.failures) <= 3


def test_the_run_goes_on_from_a_copy(free_copies, monkeypatch):
    monkeypatch.setattr(client_module, "ALIVE_SECONDS", 0.02)
    heard = []

    async def after(address, what):
        if what == "letter" and workers.asked.count("keep") > 8 and "worker 1" in workers.hostings:
            workers.kill("worker 1")

    workers = LocalWorkers(3, after=after)
    answer, conductor = run(workers, 3, lambda superstep, reports: heard.append(superstep))
    np.testing.assert_array_equal(answer, least(N, SOURCES, TARGETS)[0])
    assert conductor.failures == ["worker 1"]
    assert heard == list(range(conductor.finished + 1))


def test_no_worker_left(monkeypatch):
    monkeypatch.setattr(client_module, "ALIVE_SECONDS", 0.01)
    monkeypatch.setattr(client_module, "WAIT_SECONDS", 0.05)

    async def after(address, what):
        if what == "go":
            workers.hostings.clear()

    workers = LocalWorkers(2, after=after)
    with pytest.raises(ClusterError, match="all workers have gone"):
        run(workers, 2)


def test_what_a_part_raises_ends_the_run():
    class Fails(NumpyRun):
        def step(self, counts, tell):
            raise ClusterError("the step failed")

    with pytest.raises(ClusterError, match="the step failed"):
        run(LocalWorkers(2, Fails), 2)


@pytest.mark.parametrize("what", ["letter", "mirror"])
def test_workers_that_do_not_reach_each_other(what, monkeypatch):
    for module in client_module, host_module:
        monkeypatch.setattr(module, "UNREACHABLE_SECONDS", 0.2)
    monkeypatch.setattr(client_module, "ALIVE_SECONDS", 0.02)

    async def after(address, asked):
        if asked == what and address == "worker 1":
            raise GoneError("worker 0 does not reach worker 1")

    with pytest.raises(ClusterError, match=r"worker 0 does not reach worker 1, .*see that no firewall is between"):
        run(LocalWorkers(2, after=after), 2)


class SmallWorkers(LocalWorkers):
    """Workers with room for one part each, which takes 100 MiB."""

    async def workers(self):
        limit = int((PROCESS + (150 << 20)) / LIMIT_SHARE)
        return {address: WorkerFacts(limit, 1) for address in self.hostings}


@pytest.mark.parametrize("comes", [True, False])
def test_a_part_moves_only_where_there_is_room(comes, monkeypatch):
    """A worker dies; another one comes soon after, or never."""
    monkeypatch.setattr(client_module, "ALIVE_SECONDS", 0.02)
    monkeypatch.setattr(client_module, "WAIT_SECONDS", 0.2)

    async def come():
        await asyncio.sleep(0.06)
        workers.add()

    async def after(address, what):
        if what == "go" and "worker 1" in workers.hostings:
            workers.kill("worker 1")
            if comes:
                coming.append(asyncio.create_task(come()))

    workers, coming = SmallWorkers(2, after=after), []
    if comes:
        answer, conductor = run(workers, 2, needs=100 << 20)
        np.testing.assert_array_equal(answer, least(N, SOURCES, TARGETS)[0])
        assert conductor.addresses == ["worker 0", "worker 2"]
    else:
        with pytest.raises(ClusterError, match=r"a part has to move, and takes 100.* MiB .* 50.* MiB are missing"):
            run(workers, 2, needs=100 << 20)


def test_a_worker_that_starts_at_the_address_of_one_that_died(monkeypatch):
    monkeypatch.setattr(client_module, "ALIVE_SECONDS", 0.02)

    async def after(address, what):
        if what == "letter" and not restarted:
            restarted.append("worker 1")
            workers.hostings["worker 1"] = None

    workers, restarted = LocalWorkers(2, after=after), []
    answer, conductor = run(workers, 2)
    np.testing.assert_array_equal(answer, least(N, SOURCES, TARGETS)[0])
    assert conductor.failures == restarted


class KeepingWorkers(LocalWorkers):
    """Worker 0 has kept all parts of an earlier run."""

    def __init__(self, count, parts, after=None):
        super().__init__(count, after=after)
        graph = NumpyParts(N, SOURCES, TARGETS, parts)
        self._kept = {part: graph.arrays(part) for part in range(parts)}

    async def call(self, address, what, data):
        reply = await super().call(address, what, data)
        if what != "prepare" or address != "worker 0":
            return reply
        self.hostings[address].reuse(self._kept)
        return tuple(self._kept)


def test_a_worker_that_kept_a_part_which_went_elsewhere_gets_it_again(monkeypatch):
    """It dropped the part, as another worker had it; then that worker died."""
    monkeypatch.setattr(client_module, "ALIVE_SECONDS", 0.02)

    async def after(address, what):
        if what == "letter":
            workers.kill("worker 1")

    workers = KeepingWorkers(2, 2, after)
    answer, conductor = run(workers, 2)
    np.testing.assert_array_equal(answer, least(N, SOURCES, TARGETS)[0])
    assert conductor.addresses == ["worker 0"] * 2
