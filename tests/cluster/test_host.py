"""A part whose letters do not arrive."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.cluster import host as host_module
from garaph_py.cluster.host import GoneError, PartHost
from garaph_py.errors import ClusterError
from tests.support.numpy_parts import NumpyParts, NumpyRun


async def part_of_two(post):
    """The first of two parts, and the event that it has failed."""
    failed = asyncio.Event()
    arrays = NumpyParts(10, np.arange(10), np.roll(np.arange(10), 1), 2).arrays(0)
    part = PartHost(NumpyRun(0, arrays, {1: np.array([0])}, {}), 0, 2, ThreadPoolExecutor(1), post, None, failed.set)
    await part.load(0, 0, None, False)
    return part, failed


def test_a_letter_that_never_arrives_ends_in_an_error(monkeypatch):
    """Each try takes a second, by a clock that only they move."""
    tries = []
    clock = SimpleNamespace(monotonic=lambda: float(len(tries)), perf_counter=time.perf_counter)
    monkeypatch.setattr(host_module, "UNREACHABLE_SECONDS", 3.5)
    monkeypatch.setattr(host_module, "time", clock)

    async def post(letter):
        tries.append(letter)
        raise GoneError("the worker A does not reach B")

    async def work():
        part, failed = await part_of_two(post)
        part.go()
        await failed.wait()
        assert len(tries) > 2
        with pytest.raises(ClusterError, match=r"the worker A does not reach B.*see that no firewall is between them"):
            raise part.failure
        await part.load(1, 0, None, False)
        assert part.failure is None
        part.close()

    asyncio.run(asyncio.wait_for(work(), 60))


def test_what_is_no_failure_to_reach_a_worker_is_told_at_once():
    async def post(letter):
        raise PermissionError("no entry")

    async def work():
        part, failed = await part_of_two(post)
        part.go()
        await failed.wait()
        assert isinstance(part.failure, PermissionError)
        part.close()

    asyncio.run(asyncio.wait_for(work(), 60))
