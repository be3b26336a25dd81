"""`Conductor`: the client's side of a run: places parts, begins epochs, watches the workers, and collects the answer.

The client takes no part in supersteps. When a worker is lost, the client begins a new epoch: it asks the remaining
workers of which supersteps they have copies, gives the lost parts to them, and has all parts go on from the newest
superstep of which every part has a copy. If another arrangement of the parts is better, the client takes the state of
such a superstep, and the workers go on from it with other parts, as in another run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

from ..errors import ClusterError
from .checkpoints import Checkpoints
from .host import UNREACHABLE_SECONDS, ForgottenError, GoneError, unreachable
from .placing import Arrangement, WorkerFacts, place
from .snapshots import Snapshot, Snapshots, common
from .superstep import Report

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")

PIECE = 1 << 24
"""Bytes of an array that are sent in one message: 16 MiB, which takes some 20 ms."""
PIECES = 4
"""Messages with pieces that are on their way at once: while the scheduler passes one on, it receives the next. The
number is small, so that the scheduler needs little memory."""
PARTS = 2
"""Parts that the client sends at once: it cuts one out while it sends another, so it holds the arrays of two parts."""
ALIVE_SECONDS = 0.2
"""Seconds between two questions of the client to the scheduler which workers are present."""
WAIT_SECONDS = 60.0
"""Seconds that the client waits for a worker if none is left, or none has room: a batch system may take as long to
start one again."""


class Cluster(Protocol):
    """The workers, as the client reaches them."""

    async def workers(self) -> dict[str, WorkerFacts]:
        """The present workers, by address."""

    async def call(self, address: str, what: str, data: Mapping[str, Any]) -> Any:
        """Ask a worker (`worker.ASKED`, or ``"prepare"``), and return its reply.

        Raises
        ------
        GoneError
            If the worker cannot be reached.
        GaraphError
            The error that the worker has raised.
        """

    def anew(self) -> Cluster:
        """The same workers, for another run."""


class Balances(Protocol):
    """What the client needs of a `balance.Balance`."""

    snapshots: Snapshots
    wants_copies: bool

    @property
    def is_due(self) -> bool:
        """Whether to ask for a better arrangement."""

    def better(self, workers: Mapping[str, WorkerFacts]) -> Arrangement | None:
        """Another arrangement, if moving to it pays."""

    def kept(self, superstep: int) -> None:
        """The client has the state after a superstep."""

    def loaded(self, seconds: float) -> None:
        """All parts have been loaded in so many seconds."""

    def moved(self, arrangement: Arrangement, superstep: int, seconds: float) -> None:
        """The run goes on with another arrangement after a superstep; moving took so many seconds."""


class Moving(NamedTuple):
    """A move to an arrangement that is under way, the superstep after which the run goes on, and when it began."""

    arrangement: Arrangement
    superstep: int
    began: float


Copies = Mapping[str, Mapping[int, list[int]]]
"""The supersteps of which workers have copies, by worker and part."""
Heard = Callable[[int, tuple[Report, ...]], None]
"""The client calls ``heard(superstep, reports)`` once for each superstep, in order, with the reports of all parts."""


class Conductor:
    """One run on a cluster.

    Parameters
    ----------
    cluster : Cluster
    arrangement : Arrangement
    prepared : dict
        What each worker receives first, by name, whatever its parts are: the program, options and so on.
    heard : callable
        Receives the reports of each superstep.
    checkpoints : Checkpoints, optional
        The checkpoints from which the run resumes, and which it makes.
    balance : Balances, optional
        It says when parts move.
    columns : dict, optional
        The program's parameters that have a number for each vertex, by name.

    Attributes
    ----------
    before : int
        The number of supersteps that were done before, if the run resumes from a checkpoint.
    finished : int
        The supersteps after which the run has ended.
    not_finite : list
        What each part has found of its numbers when the run ended (`finite.Found`).
    """

    def __init__(
        self, cluster: Cluster, arrangement: Arrangement, prepared: Mapping[str, Any], heard: Heard,
        checkpoints: Checkpoints | None = None, balance: Balances | None = None,
        columns: Mapping[str, Array] | None = None,
    ) -> None:  # fmt: skip
        self._columns = columns or {}
        self._cluster, self._prepared, self._heard = cluster, prepared, heard
        self._checkpoints, self._balance = checkpoints, balance
        self._epoch = 0
        self._begin(arrangement)
        self._from: Snapshot | None = None  # the newest state that the client has
        self._moving: Moving | None = None
        self._failing: float | None = None  # since when calls fail although all workers are there
        self._next = 0  # the next superstep of which the client has to hear
        self._is_asked = False  # part 0, in this epoch, for copies
        self.finished, self.converged = 0, False
        self.before = 0
        self.failures: list[str] = []
        self.not_finite: list[Any] = []

    def _begin(self, arrangement: Arrangement) -> None:
        """No worker has any of these parts."""
        self._parts, self._of_parts = arrangement.parts, arrangement.prepared
        self._addresses = list(arrangement.addresses)  # by part
        self._members: list[str] = []  # workers that were prepared and are there
        self._has: set[tuple[str, int]] = set()  # which worker has which part's arrays
        self._has_columns: set[tuple[str, int]] = set()  # which worker has a part's share of the columns
        self.found: dict[int, tuple[str, int]] = {}  # of parts that workers have read: encoding, least memory

    async def run(self) -> list[Array]:
        """Run; return the reported values of each part.

        Raises
        ------
        ClusterError
            If no worker is left.
        GaraphError
            The error that a worker has raised.
        """
        state = await self._newest(None)
        self._next = self.before = 0 if state is None else state.superstep
        superstep: int | None = None
        copies: Copies = {}
        while True:
            try:
                await self._send_parts()
                await self._load(state, superstep, copies)
                if (better := await self._watch()) is not None:
                    state, superstep, copies = await self._move(better)
                    continue
                if (checkpoints := self._checkpoints) is not None:
                    if checkpoints.saved != self.finished:
                        await checkpoints.save(await self._take(self.finished))
                    checkpoints.end(self.finished)
                return await self._collect()
            except GoneError as gone:
                await asyncio.sleep(ALIVE_SECONDS)
                superstep, copies = await self._recover(gone)
                state = await self._newest(superstep)

    @property
    def addresses(self) -> list[str]:
        """The worker that has each part."""
        return self._addresses

    async def close(self) -> None:
        """Have all workers forget the run."""
        alive = await self._cluster.workers()
        there = [address for address in self._members if address in alive]
        await asyncio.gather(*(self._cluster.call(address, "close", {}) for address in there), return_exceptions=True)

    async def _send_parts(self) -> None:
        """Prepare workers; send parts that are not where they should be, or have them read."""
        began = time.monotonic()
        for address in dict.fromkeys(self._addresses):
            if address not in self._members:
                kept = await self._ask(address, "prepare", {**self._prepared, **self._of_parts})
                self._members.append(address)
                self._has.update((address, part) for part in kept or ())
        parts, pieces = asyncio.Semaphore(PARTS), asyncio.Semaphore(PIECES)
        missing = [(address, part) for part, address in enumerate(self._addresses) if (address, part) not in self._has]
        reads: dict[str, list[Sequence[Any]]] = {}
        for address, part in missing:
            if (where := self._parts.where(part)) is not None:
                reads.setdefault(address, []).append(where)
        await self._together(
            self._send_part(address, part, parts, pieces) for address, part in missing if address not in reads
        )
        for found in await self._each(reads, "read", lambda address: {"wanted": reads[address]}):
            self.found |= found
            self._has |= {(self._addresses[part], part) for part in found}
        if self._balance is not None and len(missing) == self._parts.count:
            self._balance.loaded(time.monotonic() - began)

    async def _send_part(self, address: str, part: int, parts: asyncio.Semaphore, pieces: asyncio.Semaphore) -> None:
        """Send a part; the semaphores bound how many parts and pieces are on their way."""
        async with parts:
            arrays = await asyncio.to_thread(self._parts.arrays, part)
            await self._send_arrays(address, part, "array", arrays, pieces)
            self._has.add((address, part))

    async def _send_arrays(
        self, address: str, part: int, what: str, arrays: Mapping[str, Array], pieces: asyncio.Semaphore
    ) -> None:
        """Send a part's arrays to a worker in pieces."""

        async def send(**piece: Any) -> None:
            async with pieces:
                await self._call(address, what, {"part": part, **piece})

        await self._together(
            send(name=name, content=array[first : first + step], length=len(array), first=first)
            for name, array in arrays.items()
            for step in [max(1, PIECE * len(array) // max(1, array.nbytes))]
            for first in range(0, max(1, len(array)), step)
        )

    async def _send_columns(self) -> None:
        """Send each part's share of the columns, its mirrors' too, to workers that do not have it."""
        there = set(zip(self._addresses, range(self._parts.count), strict=True)) if self._columns else set()
        self._has_columns &= there
        for address, part in sorted(there - self._has_columns):
            numbers = await self._of_part(part, "numbers", {})
            share = {name: column[numbers] for name, column in self._columns.items()}
            await self._send_arrays(address, part, "column", share, asyncio.Semaphore(PIECES))
            self._has_columns.add((address, part))

    async def _load(self, state: Snapshot | None, superstep: int | None, copies: Copies) -> None:
        """Connect the parts, have all go on from the `state`, or else from copies of a `superstep`, or else from the
        beginning; and begin the epoch."""
        here = list(dict.fromkeys(self._addresses))
        neighbours = {address: here[(i + 1) % len(here)] for i, address in enumerate(here)}
        self._has = set(zip(self._addresses, range(self._parts.count), strict=True))  # workers drop what is elsewhere
        self._is_asked = False
        await self._each(self._members, "connect", lambda address: {
            "addresses": self._addresses, "neighbour": neighbours.get(address) if len(here) > 1 else None,
        })  # fmt: skip
        await self._send_columns()
        if state is not None:
            superstep = state.superstep
            await state.give(self._of_part, self._parts.count)
        elif superstep is not None:
            for part, address in enumerate(self._addresses):
                if superstep not in copies.get(address, {}).get(part, ()):
                    holder = next(one for one, kept in copies.items() if superstep in kept.get(part, ()))
                    await self._ask(address, "fetch", {"part": part, "superstep": superstep, "address": holder})
        await self._each(here, "load", lambda address: {"superstep": superstep})
        await self._each(here, "go", lambda address: {})
        self._failing = None
        if (moving := self._moving) is not None and self._balance is not None:
            self._moving = None
            self._balance.moved(moving.arrangement, moving.superstep, time.monotonic() - moving.began)

    async def _watch(self) -> Arrangement | None:
        """Pass on what the parts report, until all have finished; or return a better arrangement."""
        ended: dict[int, tuple[int, bool, Any]] = {}
        here = list(dict.fromkeys(self._addresses))
        while len(ended) < self._parts.count:
            copied: dict[int, int] = {}
            for reply in await self._each(here, "news", lambda address: {"since": self._next}):
                for superstep, reports in reply["records"]:
                    if superstep == self._next:
                        self._heard(superstep, tuple(Report(*report) for report in reports))
                        self._next += 1
                ended.update(reply["finished"])
                copied.update(reply["copied"])
            if not ended:
                await self._take_copies(copied)
                if (better := await self._better()) is not None:
                    return better
        self.finished, self.converged = max(each[:2] for each in ended.values())
        self.not_finite = [found for _, (*_, found) in sorted(ended.items())]
        return None

    async def _take(self, superstep: int) -> Snapshot:
        """Take the state after a superstep of which all parts have copies, or after which the run has ended."""
        keeper = self._checkpoints or self._balance
        assert keeper is not None
        return await keeper.snapshots.take(superstep, self._of_part, self._parts.count)

    async def _take_copies(self, copied: Mapping[int, int]) -> None:
        """Ask for copies of the state if a checkpoint is due, or if a move would pay with newer ones; take those that
        were asked for once all parts have `copied`, for both purposes."""
        checkpoints, balance = self._checkpoints, self._balance
        if not self._is_asked:
            is_due = checkpoints is not None and checkpoints.is_due(self._next - 1)
            if is_due or (balance is not None and balance.wants_copies):
                self._is_asked = True
                await self._of_part(0, "ask", {})
        elif len(copied) == self._parts.count:
            self._is_asked = False
            taken = await self._take(copied[0])
            if checkpoints is None:
                self._from = taken
            else:
                await checkpoints.save(taken)
            if balance is not None:
                balance.kept(taken.superstep)

    async def _better(self) -> Arrangement | None:
        """An arrangement to which to move now, unless copies are under way, with which that would cost less."""
        if self._balance is None or self._is_asked or not self._balance.is_due:
            return None
        return await asyncio.to_thread(self._balance.better, await self._cluster.workers())

    async def _move(self, better: Arrangement) -> tuple[Snapshot | None, int | None, Copies]:
        """End the epoch, and have the workers forget the parts, unless these are fixed; return the state with which the
        new ones begin or, without one, the superstep of copies that do."""
        began = time.monotonic()
        self._epoch += 1
        copies = dict(zip(self._members, await self._each(self._members, "halt", lambda address: {}), strict=True))
        superstep = common(copies.values(), self._parts.count)
        state = await self._newest(superstep)
        if better.is_fixed:
            after = (superstep or 0) if state is None else state.superstep
            self._moving, self._addresses = Moving(better, after, began), list(better.addresses)
            log.info("parts move to other workers after %d supersteps", after)
            return state, superstep, copies
        if state is None and superstep is not None:
            state = await self._take(superstep)
        await self.close()
        log.info("parts move to other workers after %d supersteps", 0 if state is None else state.superstep)
        self._cluster, self._from = self._cluster.anew(), state
        self._moving = Moving(better, 0 if state is None else state.superstep, began)
        self._begin(better)
        return state, None, {}

    async def _newest(self, superstep: int | None) -> Snapshot | None:
        """The newest state that the client has, unless there are copies of a later `superstep`."""
        if self._checkpoints is not None:
            known = superstep, None if self._from is None else self._from.superstep
            after = max((each for each in known if each is not None), default=None)
            self._from = await self._checkpoints.load(after) or self._from
        is_new = self._from is not None and (superstep is None or self._from.superstep >= superstep)
        return self._from if is_new else None

    async def _collect(self) -> list[Array]:
        """The reported values of each part."""
        return [await self._ask(address, "report", {"part": part}) for part, address in enumerate(self._addresses)]

    async def _recover(self, gone: GoneError) -> tuple[int | None, Copies]:
        """Begin a new epoch without the workers that have gone.

        Returns the newest superstep of which all parts have copies, and the supersteps of which workers have any.
        """
        while True:
            self._epoch += 1
            alive = await wait_for_workers(self._cluster, WAIT_SECONDS)
            if not alive:
                raise ClusterError(
                    f"all workers have gone, and none came back in {WAIT_SECONDS:.0f} s; see their logs, which say "
                    "why, and run again"
                )
            forgot = str(gone) if isinstance(gone, ForgottenError) else None
            lost = [address for address in self._members if address not in alive or address == forgot]
            now = time.monotonic()
            if lost or self._failing is None:
                self._failing = now
            elif now - self._failing > UNREACHABLE_SECONDS:
                raise unreachable(gone)
            self._members = [address for address in self._members if address not in lost]
            for has in self._has, self._has_columns:
                has.difference_update([each for each in has if each[0] in lost])
            for address in lost:
                self.failures.append(address)
                log.warning("the worker %s has gone; its parts move to others", address)
            await self._place(alive)
            try:
                replies = await self._each(self._members, "halt", lambda address: {})
            except GoneError as error:
                gone = error
                continue
            copies = dict(zip(self._members, replies, strict=True))
            return common(copies.values(), self._parts.count), copies

    async def _place(self, alive: Mapping[str, WorkerFacts]) -> None:
        """Give each part that was lost to another worker; wait for a new one if none has room."""
        if all(address in alive for address in self._addresses):
            return
        needs = [self.found.get(part, ("", least))[1] for part, least in enumerate(self._parts.needs())]
        tries = int(WAIT_SECONDS / ALIVE_SECONDS)
        for left in reversed(range(tries)):
            try:
                self._addresses = place(self._addresses, alive, needs)
                return
            except ClusterError:
                if not left:
                    raise
            await asyncio.sleep(ALIVE_SECONDS)
            alive = await self._cluster.workers()

    async def _of_part(self, part: int, what: str, data: Mapping[str, Any]) -> Any:
        """Ask the worker of a part about it."""
        return await self._ask(self._addresses[part], what, {"part": part, **data})

    async def _ask(self, address: str, what: str, data: Mapping[str, Any]) -> Any:
        (reply,) = await self._each([address], what, lambda _: data)
        return reply

    async def _each(self, addresses: Iterable[str], what: str, data: Callable[[str], Mapping[str, Any]]) -> list[Any]:
        """Ask several workers concurrently, in this epoch; return the replies in the order of the workers.

        Raises
        ------
        GoneError
            As soon as any member is lost.
        """
        return await self._together(self._call(address, what, data(address)) for address in addresses)

    async def _call(self, address: str, what: str, data: Mapping[str, Any]) -> Any:
        return await self._cluster.call(address, what, {"epoch": self._epoch, **data})

    async def _together(self, calls: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
        """Carry out calls concurrently; return their results in order. If one fails, or a worker is lost, cancel the
        others."""
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(call) for call in calls]
        try:
            return await self._while_alive(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _while_alive(self, tasks: list[asyncio.Task[Any]]) -> list[Any]:
        """The results of calls. Raises `GoneError` as soon as a worker is lost, because a call to a lost worker may
        fail late."""
        pending = set(tasks)
        while pending:
            done, pending = await asyncio.wait(pending, timeout=ALIVE_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
            if pending:
                alive = await self._cluster.workers()
                if gone := [one for one in {*self._members, *self._addresses} if one not in alive]:
                    raise GoneError(", ".join(gone))
        return [task.result() for task in tasks]


async def wait_for_workers(cluster: Cluster, seconds: float) -> dict[str, WorkerFacts]:
    """The present workers, as soon as there is one; none if none comes within so many seconds."""
    for _ in range(int(seconds / ALIVE_SECONDS)):
        if alive := await cluster.workers():
            return alive
        await asyncio.sleep(ALIVE_SECONDS)
    return {}
