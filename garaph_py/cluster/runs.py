"""`Runs`: the runs of one worker, each until its client ends it or is gone, and the parts that the worker keeps.

After a run, a worker keeps its parts, so that the same client's next run over the same graph need not send them again.
It drops them when the client runs over another graph, or is gone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .host import ForgottenError
from .worker import ASKED, Hosting

log = logging.getLogger("garaph_py")

QUIET_SECONDS = 5.0
"""Seconds without a call from a run's client after which a worker asks whether the client is still there: 25 times the
interval at which a watching client calls (`worker.NEWS_SECONDS`). A client that sends parts, or is stopped, may be
quiet for longer, and its run goes on."""
KEPT_SECONDS = 60.0
"""Seconds between two questions of a worker whether a client whose parts it keeps is still there."""


@dataclass
class Hosted:
    """A run in a worker, the client that began it, and when that client last called."""

    hosting: Hosting
    client: str
    epoch: int
    heard: float


@dataclass
class Kept:
    """The arrays of the parts that a worker keeps for a client, by part, and when it last knew of the client."""

    graph: tuple[str, ...]
    heard: float = 0.0
    parts: dict[int, dict[str, Any]] = field(default_factory=dict)


class Runs:
    """The runs in one worker.

    Parameters
    ----------
    address : str
        The worker's.
    host : callable
        ``host(run, **prepared)`` makes the worker's side of a run.
    is_there : coroutine function
        ``await is_there(client)`` tells whether a client is still connected to the cluster.
    """

    def __init__(self, address: str, host: Callable[..., Hosting], is_there: Callable[[str], Awaitable[bool]]) -> None:
        self._address, self._host, self._is_there = address, host, is_there
        self._runs: dict[str, Hosted] = {}
        self._kept: dict[str, Kept] = {}  # by client
        self._watcher: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._runs)

    async def do(self, run: str, what: str, data: Mapping[str, Any], client: str | None) -> Any:
        """Do what a client asks or, if `client` is None, another worker; return the reply.

        Raises
        ------
        ForgottenError
            If the worker does not take part in the run.
        GoneError, GaraphError
            As what is asked does.
        """
        if what == "prepare":
            return await self._prepare(run, str(client), **data)
        if what == "forget":
            return self._forget(str(client), **data)
        if what == "close":
            return await self._end(run)
        if what not in ASKED or run not in self._runs:
            raise ForgottenError(self._address)
        hosted = self._runs[run]
        if client is not None:
            hosted.heard = time.monotonic()
        return await hosted.hosting.do(what, data)

    async def _prepare(
        self, run: str, client: str, epoch: int, graph: tuple[str, ...] | None = None, **prepared: Any
    ) -> tuple[int, ...]:
        """Take part in a run; return the parts that are here. It first frees the memory of runs of clients that are
        gone, and of this client's parts of another graph.

        Parameters
        ----------
        graph : tuple of str, optional
            The names of the graph and of its cuts, if its parts are to be kept for the client's next run.
        """
        await self._end_left(0.0, 0.0)
        before = self._runs.get(run)
        if before is not None and epoch < before.epoch:
            return ()  # it comes late: the client has prepared this worker again since
        hosting, parts = self._host(run, **prepared), self._kept_of(client, graph)
        hosting.reuse(parts)
        self._runs[run] = Hosted(hosting, client, epoch, time.monotonic())
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.get_running_loop().create_task(self._watch())
        if before is not None:
            await before.hosting.close()
        return tuple(parts)

    def _kept_of(self, client: str, graph: tuple[str, ...] | None) -> dict[int, dict[str, Any]]:
        """The parts of a client's `graph` that are kept; it drops those of the client's previous graph."""
        kept = self._kept.pop(client, None)
        if graph is None:
            return {}
        if kept is None or kept.graph != graph:
            kept = Kept(graph)
        kept.heard, self._kept[client] = time.monotonic(), kept
        return kept.parts

    def _forget(self, client: str, graph: str) -> None:
        """Drop the parts of a client's graph, which the client no longer has."""
        if (kept := self._kept.get(client)) is not None and kept.graph[0] == graph:
            del self._kept[client]

    async def _end(self, run: str) -> None:
        """Free everything that a run has here."""
        if (hosted := self._runs.pop(run, None)) is not None:
            await hosted.hosting.close()

    async def _watch(self) -> None:
        while self._runs or self._kept:
            await asyncio.sleep(QUIET_SECONDS)
            await self._end_left(QUIET_SECONDS, KEPT_SECONDS)

    async def _end_left(self, quiet: float, kept: float) -> None:
        """End the runs of clients that are gone and have not called for so many seconds, and drop what was `kept` for
        such clients and not used for so many seconds."""
        for run, hosted in list(self._runs.items()):
            if time.monotonic() - hosted.heard >= quiet and not await self._is_there(hosted.client):
                log.warning("a client has left without ending its run; what the run had here is given back")
                await self._end(run)
        for client, parts in list(self._kept.items()):
            if time.monotonic() - parts.heard >= kept:
                parts.heard = time.monotonic()
                if not await self._is_there(client) and self._kept.get(client) is parts:
                    del self._kept[client]
