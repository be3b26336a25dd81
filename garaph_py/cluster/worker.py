"""`Hosting`: one run in one worker: its parts, the copies that it keeps, and the requests that it carries out."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import ClusterError
from .host import Letter, PartHost, Runs
from .messages import Message
from .superstep import Report

Array = npt.NDArray[Any]
Make = Callable[[int, Any, dict[int, Array], dict[str, Array]], Runs]
Places = Callable[[Any], tuple[Array, dict[int, Array]]]
Call = Callable[[str, str, Any], Awaitable[Any]]
"""``await call(address, what, data)`` asks another worker, and returns its reply; raises `GoneError` if it has gone."""

NEWS_SECONDS = 0.2
"""Seconds that `Hosting.news` waits at most before the client asks again, so that a user sees progress as often."""
KEPT = 2
"""Copies of a part that a worker keeps: one may still be incomplete elsewhere (`superstep.Supersteps`)."""


class Reader(Protocol):
    """Reads parts from where the client says that they are (`reading.PartReader`)."""

    def read(self, wanted: Sequence[Any]) -> dict[int, tuple[Any, str, int]]:
        """The parts, the encoding of each, and the least memory that it needs."""

    def keep(self, parts: Collection[int]) -> None:
        """Count the memory of these parts alone; others have left."""

    def close(self) -> None:
        """Remove what was written for them."""


class Hosting:
    """The parts of one run in one worker.

    Parameters
    ----------
    make : callable
        ``make(part, arrays, sends, columns)`` binds the program to the part that the arrays hold, or that was read; it
        gets the numbers of its own vertices that other parts mirror, by part, and the program's parameters that have a
        number for each vertex of the part, by name.
    places : callable
        ``places(arrays)`` returns the numbers that the vertices of such a part have in the undivided graph, and those
        of its mirrors by the part that owns them.
    parts : int
        How many parts there are.
    address : str
        This worker's.
    call : coroutine function
    reader : Reader, optional
        Reads parts that the client does not send.
    """

    def __init__(  # wide: all that a worker is connected with
        self, make: Make, places: Places, parts: int, address: str, call: Call, reader: Reader | None = None
    ) -> None:
        self._make, self._places, self._parts, self._reader = make, places, parts, reader
        self._address, self._call = address, call
        self._engine = ThreadPoolExecutor(1, thread_name_prefix="garaph-cluster")
        self._arrays: dict[int, Any] = {}
        self._columns: dict[int, dict[str, Array]] = {}
        self._kept: dict[int, Any] = {}
        self._sends: dict[int, dict[int, Array]] = {}
        self._hosts: dict[int, PartHost] = {}
        self._addresses: dict[int, str] = {}
        self._neighbour: str | None = None
        self._copies: dict[int, dict[int, dict[str, Any]]] = {}
        self._for_client: dict[int, int] = {}  # superstep of the copy that the client has not taken yet, by part
        self._news = asyncio.Event()  # a part has finished or failed
        self._epoch = 0  # the newest of which the client has told

    def reuse(self, parts: dict[int, Any]) -> None:
        """Use the `parts` that an earlier run has left there, and leave there the complete parts of this run."""
        self._kept = parts
        self._arrays.update(parts)

    async def do(self, what: str, data: Mapping[str, Any]) -> Any:
        """Carry out a request, one of `ASKED`. A client's request has an epoch; it is late if there is a newer one.

        Raises
        ------
        ClusterError
            If the request is late: the client has begun another epoch, and does not wait for the reply.
        """
        asked = dict(data)
        if (epoch := asked.pop("epoch", None)) is not None:
            self._epoch = max(self._epoch, epoch)
            self._check(epoch)
        return await getattr(self, what)(**asked)

    def _check(self, epoch: int) -> None:
        """Refuse what belongs to an epoch before the newest."""
        if epoch < self._epoch:
            raise ClusterError(f"a call of epoch {epoch} came in epoch {self._epoch}; it is ignored")

    # What the client asks:

    async def array(self, part: int, name: str, content: Any, length: int, first: int) -> None:
        """Take a piece of an array of a part: `content` begins at its row `first`. Pieces come in any order."""
        put(self._arrays.setdefault(part, {}), name, content, length, first)

    async def column(self, part: int, name: str, content: Any, length: int, first: int) -> None:
        """Take a piece of a parameter that has a number for each vertex of a part."""
        put(self._columns.setdefault(part, {}), name, content, length, first)

    async def read(self, wanted: Sequence[Any]) -> dict[int, tuple[str, int]]:
        """Read parts; return the encoding of each, and the least memory that it needs."""
        assert self._reader is not None
        epoch = self._epoch
        found = await self._in_engine(self._reader.read, wanted)
        self._check(epoch)
        self._arrays |= {part: content for part, (content, *_) in found.items()}
        return {part: (encoding, least) for part, (_, encoding, least) in found.items()}

    async def connect(self, addresses: Sequence[str], neighbour: str | None) -> None:
        """Learn where the parts are, and which worker keeps this one's copies; tell other parts what this worker
        mirrors.

        Raises
        ------
        ClusterError
            If a part that should be here is missing: the others would wait for it for ever.
        """
        self._addresses, self._neighbour = dict(enumerate(addresses)), neighbour
        if missing := [part for part in self._addresses if self._is_here(part) and part not in self._arrays]:
            raise ClusterError(
                f"the worker {self._address} lacks part {missing[0]} of the graph, which the client expects there; "
                "run again, and please report this"
            )
        self._arrays = {part: arrays for part, arrays in self._arrays.items() if self._is_here(part)}
        if self._reader is not None:
            self._reader.keep(self._arrays)
        self._kept.clear()
        self._kept.update(self._arrays)
        for part in [part for part in self._hosts if not self._is_here(part)]:
            self._hosts.pop(part).close()
        told = [
            self._ask(owner, "mirror", {"part": owner, "by": part, "numbers": numbers})
            for part, arrays in self._arrays.items()
            for owner, numbers in self._places(arrays)[1].items()
        ]
        await asyncio.gather(*told)

    async def load(self, superstep: int | None) -> None:
        """Load the state of all parts after a superstep, from copies that are here; with None, make the initial
        state."""
        epoch = self._epoch
        self._for_client.clear()
        for part in list(self._arrays):
            await self._host(part)
            saved = None if superstep is None else self._copies[part][superstep]
            await self._hosts[part].load(epoch, superstep or 0, saved, self._neighbour is not None)
            self._check(epoch)
        self._copies = {
            part: {superstep: copies[superstep]} for part, copies in self._copies.items() if superstep in copies
        }

    async def go(self) -> None:
        """Begin the epoch."""
        for host in self._hosts.values():
            host.go()

    async def halt(self) -> dict[int, list[int]]:
        """End the epoch; return for each part of which supersteps this worker has copies."""
        for host in self._hosts.values():
            host.halt()
        await self._in_engine(int)
        return {part: list(copies) for part, copies in self._copies.items()}

    async def _host(self, part: int) -> PartHost:
        """The host of a part, whose arrays are here."""
        if part not in self._hosts:
            epoch = self._epoch
            sends, columns = self._sends.get(part, {}), self._columns.get(part, {})
            run = await self._in_engine(self._make, part, self._arrays[part], sends, columns)
            self._check(epoch)
            self._columns.pop(part, None)
            self._hosts[part] = PartHost(run, part, self._parts, self._engine, self._post, self._keep, self._news.set)
        return self._hosts[part]

    async def numbers(self, part: int) -> Array:
        """The numbers that a part's vertices and its mirrors have in the undivided graph."""
        return self._places(self._arrays[part])[0]

    async def ask(self, part: int) -> None:
        """Have all parts make a copy for the client soon."""
        self._hosts[part].ask()

    async def take(self, part: int, superstep: int) -> dict[str, Any]:
        """What a part owns after a superstep of which there is a copy here, or after which the run has ended.

        Raises
        ------
        ClusterError
            If neither is so.
        """
        host, saved = self._hosts[part], self._copies.get(part, {}).get(superstep)
        self._for_client.pop(part, None)
        if saved is None and (host.finished is None or host.finished[0] != superstep):
            raise ClusterError(
                f"the worker {self._address} has no copy of part {part} after superstep {superstep}; run again, and "
                "please report this"
            )
        return await host.own(saved)

    async def fetch(self, part: int, superstep: int, address: str) -> None:
        """Get a copy from another worker."""
        self._remember(part, superstep, await self._call(address, "give", {"part": part, "superstep": superstep}))

    async def news(self, since: int) -> dict[str, Any]:
        """Wait a while for news; return what all parts have reported since a superstep, and which parts here have
        ended."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), NEWS_SECONDS)
        self._news.clear()
        records: dict[int, tuple[Report, ...]] = {}
        for host in self._hosts.values():
            if host.failure is not None:
                raise host.failure
            for old in [superstep for superstep in host.records if superstep < since]:
                del host.records[old]
            records.update(host.records)
        finished = {part: host.finished for part, host in self._hosts.items() if host.finished is not None}
        return {"records": sorted(records.items()), "finished": finished, "copied": dict(self._for_client)}

    async def report(self, part: int) -> Array:
        """The reported values of a part's own vertices."""
        reported: Array = await self._hosts[part].report()
        return reported

    async def close(self) -> None:
        """Free everything."""
        for host in self._hosts.values():
            host.close()
        self._hosts.clear()
        self._arrays.clear()
        self._columns.clear()
        self._copies.clear()
        self._for_client.clear()
        await self._in_engine(self._reader.close if self._reader is not None else int)
        self._engine.shutdown(wait=False)

    # What other workers ask:

    async def mirror(self, part: int, by: int, numbers: Array) -> None:
        """Learn which of a part's own vertices another part mirrors."""
        self._sends.setdefault(part, {})[by] = numbers

    async def letter(
        self, head: tuple[int, int, int, int], report: Sequence[Any] | None, message: Sequence[Any]
    ) -> None:
        """Take a letter. One of an earlier epoch may be for a part that is not here any more."""
        letter = Letter(*head, None if report is None else Report(*report), Message(*message))
        if letter.receiver in self._hosts:
            self._hosts[letter.receiver].arrive(letter)

    async def keep(self, part: int, superstep: int, saved: dict[str, Any]) -> None:
        """Keep a copy for another worker."""
        self._remember(part, superstep, saved)

    async def give(self, part: int, superstep: int) -> dict[str, Any]:
        """A copy that is kept here."""
        return self._copies[part][superstep]

    # What the parts here ask:

    async def _post(self, letter: Letter) -> None:
        if letter.receiver in self._hosts:
            self._hosts[letter.receiver].arrive(letter)
            return
        message = letter.message
        await self._ask(letter.receiver, "letter", {
            "head": tuple(letter[:4]), "report": None if letter.report is None else tuple(letter.report),
            "message": tuple(getattr(message, field.name) for field in dataclasses.fields(message)),
        })  # fmt: skip

    async def _keep(self, part: int, superstep: int, saved: dict[str, Any], asked: bool) -> None:
        self._remember(part, superstep, saved)
        if asked:
            self._for_client[part] = superstep
        if self._neighbour is not None:
            await self._call(self._neighbour, "keep", {"part": part, "superstep": superstep, "saved": saved})

    async def _ask(self, part: int, what: str, data: Any) -> None:
        await self._call(self._addresses[part], what, data)

    def _is_here(self, part: int) -> bool:
        return self._addresses.get(part) == self._address

    def _remember(self, part: int, superstep: int, saved: dict[str, Any]) -> None:
        copies = self._copies.setdefault(part, {})
        copies[superstep] = saved
        for old in sorted(copies)[:-KEPT]:
            del copies[old]

    async def _in_engine(self, function: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._engine, function, *arguments)


def put(arrays: dict[str, Array], name: str, content: Array, length: int, first: int) -> None:
    """Put a piece of an array of this `length` in place: `content` begins at its row `first`."""
    if name not in arrays:
        arrays[name] = np.empty((length, *content.shape[1:]), content.dtype)
    arrays[name][first : first + len(content)] = content


ASKED = (
    "array", "column", "read", "connect", "load", "go", "halt", "fetch", "news", "report", "close", "mirror",
    "letter", "keep", "give", "numbers", "ask", "take",
)  # fmt: skip
"""The methods of `Hosting` that the client and other workers may call."""
