"""The runs in a worker, with clients that leave."""

import asyncio
import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.cluster import runs as runs_module
from garaph_py.cluster.host import ForgottenError
from garaph_py.cluster.runs import Runs
from garaph_py.cluster.worker import Hosting
from tests.support.numpy_parts import NumpyParts, NumpyRun, places


class Clients(set):
    """The clients that are there; `asked` has those of which a worker wanted to know."""

    def __init__(self, *names):
        super().__init__(names)
        self.asked = []

    async def is_there(self, name):
        self.asked.append(name)
        return name in self


def runs_of(clients):
    return Runs("here", lambda run, parts: Hosting(NumpyRun, places, parts, "here", None), clients.is_there)


async def begin(runs, run, client, epoch=0):
    """Begin a run; a weak reference to what it has here."""
    await runs.do(run, "prepare", {"parts": 1, "epoch": epoch}, client)
    return weakref.ref(runs._runs[run].hosting)


def test_a_run_ends_when_its_client_has_left(monkeypatch):
    monkeypatch.setattr(runs_module, "QUIET_SECONDS", 0.02)
    clients = Clients("stays", "leaves")

    async def work():
        runs = runs_of(clients)
        first, second = await begin(runs, "1", "stays"), await begin(runs, "2", "leaves")
        await asyncio.sleep(0.1)
        assert len(runs) == 2
        assert "leaves" in clients.asked
        clients.remove("leaves")
        while second() is not None:
            await asyncio.sleep(0.01)
            gc.collect()
        assert first() is not None
        assert len(runs) == 1
        with pytest.raises(ForgottenError, match="here"):
            await runs.do("2", "news", {"since": 0}, None)
        await runs.do("1", "close", {}, "stays")
        assert len(runs) == 0

    asyncio.run(asyncio.wait_for(work(), 60))


def test_nobody_asks_about_a_client_that_calls(monkeypatch):
    """It calls after nearly as long as it may be quiet, by a clock that only the test moves."""
    now, looks, end_left = [0.0], [], Runs._end_left
    monkeypatch.setattr(runs_module, "QUIET_SECONDS", 0.002)
    monkeypatch.setattr(runs_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(Runs, "_end_left", lambda *given: looks.append(now[0]) or end_left(*given))
    clients = Clients("calls")

    async def work():
        runs = runs_of(clients)
        await begin(runs, "1", "calls")
        clients.asked.clear()
        while len(set(looks)) < 10:
            await runs.do("1", "halt", {}, "calls")
            now[0] += 0.0019
            await asyncio.sleep(0.001)
        assert not clients.asked
        await runs.do("1", "close", {}, "calls")

    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_new_run_has_the_memory_of_a_client_that_has_left_at_once():
    clients = Clients("leaves", "new")

    async def work():
        runs = runs_of(clients)
        first = await begin(runs, "1", "leaves")
        clients.remove("leaves")
        await begin(runs, "2", "new")
        gc.collect()
        assert first() is None
        assert len(runs) == 1
        await runs.do("2", "close", {}, "new")

    asyncio.run(work())


def test_a_late_prepare_changes_nothing():
    async def work():
        runs = runs_of(Clients("one"))
        first = await begin(runs, "1", "one", epoch=1)
        assert (await begin(runs, "1", "one", epoch=0))() is first()
        assert (await begin(runs, "1", "one", epoch=2))() is not first()
        await runs.do("1", "close", {}, "one")

    asyncio.run(work())


def test_parts_are_kept_for_the_client_s_next_run_over_the_graph():
    clients, same = Clients("one", "two"), ("graph", "cuts")
    arrays = NumpyParts(6, np.array([0, 1]), np.array([1, 2]), 1).arrays(0)

    async def work():
        runs = runs_of(clients)

        async def prepared(run, graph, client="one"):
            return await runs.do(run, "prepare", {"parts": 1, "epoch": 0, "graph": graph}, client)

        async def connect(run):
            for name, array in arrays.items():
                piece = {"part": 0, "name": name, "content": array, "length": len(array), "first": 0}
                await runs.do(run, "array", piece, "one")
            assert await prepared("early", same) == ()  # the part may not be whole
            await runs.do(run, "connect", {"addresses": ["here"], "neighbour": None}, "one")

        assert await prepared("1", same) == ()
        await connect("1")
        assert await prepared("2", same) == (0,)
        assert await prepared("3", same, "two") == ()
        assert await prepared("4", ("graph", "other cuts")) == ()
        assert await prepared("5", same) == ()
        await connect("5")
        await runs.do("", "forget", {"graph": "another graph"}, "one")
        assert await prepared("6", same) == (0,)
        await runs.do("", "forget", {"graph": "graph"}, "one")
        assert await prepared("7", same) == ()
        await connect("7")
        clients.remove("one")
        await prepared("8", None, "two")
        assert not runs._kept

    asyncio.run(work())
