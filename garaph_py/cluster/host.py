"""`PartHost`: carries out the instructions of one part's state machine in a worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple, Protocol

from ..errors import ClusterError
from .messages import Message, encode
from .part_run import Changed, Tell
from .superstep import Arrived, Copied, Copy, Finish, Instruction, Ready, Report, Send, Step, Supersteps

COPY_RATE = 1e9
"""Bytes per second at which a copy is expected to be made, before the first one has been timed."""
RETRY_SECONDS = 0.05, 1.0
"""The shortest and the longest wait before a message that did not arrive is sent again."""
UNREACHABLE_SECONDS = 90.0
"""Seconds that one present worker may be unreachable from another. A connection of Dask fails after 30 s without an
answer (`distributed.comm.timeouts.tcp`), so by then the scheduler has long reported a worker that is lost."""


class GoneError(Exception):
    """A worker that a call needs is lost or unreachable. It is not an `OSError`, because a program may raise that."""


class ForgottenError(GoneError):
    """A worker does not have the run: it is a new worker at the address of a lost one.

    Its text is the address.
    """


def unreachable(gone: GoneError) -> ClusterError:
    """The error that ends a run after failed calls to a present worker; `gone` is the error of the last call."""
    return ClusterError(
        f"{gone}, and this for {UNREACHABLE_SECONDS:.0f} s; see that no firewall is between them, and that workers "
        "listen where others reach them (`dask worker --interface`)"
    )


class Runs(Protocol):
    """What a host needs of a program that is bound to a part (`part_run.PartRun`)."""

    @property
    def state_bytes(self) -> int:
        """Bytes of a copy of the state."""

    def open(self) -> Any:
        """Make the initial state; return its counts."""

    def step(self, counts: Sequence[Any], tell: Tell) -> Any:
        """Do a superstep; `counts` are those of all parts after the one before. Return the counts after it.

        It may call ``tell(part, changed)`` for what another part can be sent before the superstep is done.
        """

    def ends(self, counts: Sequence[Any], superstep: int) -> bool:
        """Whether the run ends after so many supersteps: every part gets the same answer."""

    def outgoing(self, part: int) -> Changed:
        """What to send another part after the last superstep, but for what it has been told."""

    def incoming(self, part: int, message: Message) -> None:
        """Store what another part has sent at its mirrors."""

    def save(self) -> dict[str, Any]:
        """A copy of the state, after all messages are in place."""

    def own(self, saved: dict[str, Any]) -> dict[str, Any]:
        """What a copy has of the part's own vertices."""

    def load(self, saved: dict[str, Any]) -> Any:
        """Go on from a copy; return the counts after its superstep."""

    @property
    def converged(self) -> bool:
        """Whether the run that has ended did so by itself, and not by its limit."""

    def not_finite(self) -> Any:
        """The numbers of the part's own vertices that are not finite, as plain data."""

    def report(self) -> Any:
        """The reported values of the part's own vertices."""

    def close(self) -> None:
        """Give back memory and threads."""


class Letter(NamedTuple):
    """A message on its way from part to part. The last one of a superstep has the sender's report; those before it, if
    there are any, are about the first vertices that the receiver mirrors."""

    epoch: int
    superstep: int
    sender: int
    receiver: int
    report: Report | None
    message: Message


Messages = Mapping[int, Sequence[Message]]
"""The messages of a superstep, by sender."""
Post = Callable[[Letter], Awaitable[None]]
Keep = Callable[[int, int, dict[str, Any], bool], Awaitable[None]]


class PartHost:
    """One part in a worker: its program, its state machine, and its messages.

    Parameters
    ----------
    run : Runs
        The program that is bound to the part.
    part, parts : int
        The part's number, and how many there are.
    engine : Executor
        The thread that computes for all parts of the worker, one at a time.
    post : coroutine function
        ``await post(letter)`` delivers a letter to the part that it names, or raises `GoneError`.
    keep : coroutine function
        ``await keep(part, superstep, saved, asked)`` has this worker and its neighbour keep a copy, or raises
        `GoneError`; if the client has `asked`, this worker keeps it until the client takes it.
    notify : callable
        ``notify()`` is called when the part has finished or failed.

    Attributes
    ----------
    records : dict
        What all parts have reported after each superstep, for the client.
    finished : tuple, or None
        The supersteps that were done when the run ended, whether it has converged, and what the program says of its
        numbers (`Runs.not_finite`); None before.
    failure : Exception or None
        Why this part cannot go on.
    """

    def __init__(  # wide: all that a part is connected with
        self, run: Runs, part: int, parts: int, engine: Executor, post: Post, keep: Keep, notify: Callable[[], None]
    ) -> None:
        self._notify = notify
        self._run, self._part, self._parts = run, part, parts
        self._engine, self._post, self._keep = engine, post, keep
        self._machine: Supersteps | None = None
        self._letters: dict[tuple[int, int], dict[int, Letter]] = {}  # by superstep and sender, and by first position
        self._early = 0  # bytes of the messages that were sent before their superstep was done
        self._outgoing: dict[int, Message] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._reported, self._copy_seconds, self._worked = 0.0, run.state_bytes / COPY_RATE, 0.0
        self._is_asked = False  # for a copy
        self._is_taken = asyncio.Event()  # the copy that the client has asked for
        self.records: dict[int, tuple[Report, ...]] = {}
        self.finished: tuple[int, bool, Any] | None = None
        self.failure: Exception | None = None

    async def load(self, epoch: int, superstep: int, saved: dict[str, Any] | None, copies: bool) -> None:
        """Make the state of a copy, or the initial state; take the epoch's letters from now on.

        Other parts may begin the epoch before this one does.
        """
        loop = asyncio.get_running_loop()
        self._counts = await loop.run_in_executor(self._engine, self._load, saved)
        self.finished = self.failure = None
        self._is_asked = False
        self._machine = Supersteps(self._part, self._parts, epoch, superstep, self._ends, copies)

    def go(self) -> None:
        """Begin the epoch for which the state was loaded."""
        assert self._machine is not None
        self._reported = time.perf_counter()
        self._obey(self._machine.handle(Ready(self._report(self._counts))))

    def halt(self) -> None:
        """End the epoch: forget messages, and send no more."""
        self._machine = None
        self._letters.clear()
        for task in self._tasks:
            task.cancel()

    def arrive(self, letter: Letter) -> None:
        """Take a letter. Those of a superstep may come in any order."""
        machine = self._machine
        if machine is None or not machine.expects(letter.epoch, letter.superstep, letter.sender):
            return
        there = self._letters.setdefault((letter.superstep, letter.sender), {})
        there[letter.message.first] = letter
        last = next((each for each in there.values() if each.report is not None), None)
        before = sum(each.message.last - each.message.first for each in there.values() if each.report is None)
        if last is not None and last.report is not None and before == last.message.first:
            self._obey(machine.handle(Arrived(letter.epoch, letter.superstep, letter.sender, last.report)))

    def ask(self) -> None:
        """Have all parts make a copy for the client after one of the next supersteps."""
        self._is_asked = True

    async def own(self, saved: dict[str, Any] | None) -> dict[str, Any]:
        """The own vertices' part of a copy, for the client; with None, the state of a part that has finished."""
        found: dict[str, Any] = await asyncio.get_running_loop().run_in_executor(
            self._engine, lambda: self._run.own(self._run.save() if saved is None else saved)
        )
        self._is_taken.set()
        return found

    async def report(self) -> Any:
        """The reported values of the part's own vertices."""
        return await asyncio.get_running_loop().run_in_executor(self._engine, self._run.report)

    def close(self) -> None:
        """Stop, and free the part's memory once the engine is done with it."""
        self.halt()
        self._engine.submit(self._run.close)

    def _ends(self, reports: Sequence[Report], superstep: int) -> bool:
        return self._run.ends([report.counts for report in reports], superstep)

    def _report(self, counts: Any) -> Report:
        assert self._machine is not None
        now = time.perf_counter()
        seconds, self._reported = now - self._reported, now
        sent = self._early + sum(message.nbytes for message in self._outgoing.values())
        self._early = 0
        return Report(counts, seconds, self._copy_seconds, self._machine.copied, sent, self._is_asked, self._worked)

    def _obey(self, instructions: Sequence[Instruction]) -> None:
        """Carry out instructions, each in a task of its own."""
        copy = None
        for instruction in instructions:
            if isinstance(instruction, Send):
                self._send(instruction)
            elif isinstance(instruction, Copy):
                copy = instruction
                if copy.asked:
                    self._is_asked = False
                    self._is_taken.clear()
            elif isinstance(instruction, Step):
                self.records[instruction.superstep - 1] = instruction.reports
                self._start(self._step(instruction, copy))
            else:
                self.records[instruction.superstep] = instruction.reports
                self._start(self._finish(instruction))

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failure = error if isinstance(error, Exception) else RuntimeError(repr(error))
            self._notify()

    def _send(self, send: Send) -> None:
        """Send the messages of a superstep."""
        machine = self._machine
        assert machine is not None
        for receiver, message in self._outgoing.items():
            letter = Letter(machine.epoch, send.superstep, self._part, receiver, send.report, message)
            self._start(self._deliver(letter))
        self._outgoing = {}

    async def _deliver(self, letter: Letter) -> None:
        """Send a letter again and again, until it arrives or the epoch ends.

        Raises
        ------
        ClusterError
            If it has not arrived for `UNREACHABLE_SECONDS`.
        """
        (wait, longest), began = RETRY_SECONDS, time.monotonic()
        while True:
            try:
                await self._post(letter)
                return
            except GoneError as gone:
                if time.monotonic() - began > UNREACHABLE_SECONDS:
                    raise unreachable(gone) from gone
                await asyncio.sleep(wait)
                wait = min(2 * wait, longest)

    async def _step(self, step: Step, copy: Copy | None) -> None:
        """Do a superstep, unless the epoch ends meanwhile."""
        machine, loop = self._machine, asyncio.get_running_loop()
        messages = self._messages(step.superstep - 1)

        def send(receiver: int, message: Message) -> None:
            """Send a message before the superstep is done, unless the epoch has ended."""
            if self._machine is machine and machine is not None:
                self._early += message.nbytes
                self._start(self._deliver(
                    Letter(machine.epoch, step.superstep, self._part, receiver, None, message)
                ))  # fmt: skip

        def tell(part: int, changed: Changed) -> None:
            loop.call_soon_threadsafe(send, part, encode(changed))

        work = partial(self._compute, step, messages, copy is not None, tell)
        counts, saved = await loop.run_in_executor(self._engine, work)
        if self._machine is not machine:
            return  # halted meanwhile
        assert machine is not None
        if copy is not None:
            self._start(self._copy(machine, copy, saved))
        self._obey(machine.handle(Ready(self._report(counts))))

    async def _finish(self, finish: Finish) -> None:
        messages = self._messages(finish.superstep)
        found = await asyncio.get_running_loop().run_in_executor(self._engine, self._end, messages)
        self.finished = finish.superstep, self._run.converged, found
        self._notify()

    async def _copy(self, machine: Supersteps, copy: Copy, saved: dict[str, Any]) -> None:
        started = time.perf_counter()
        try:
            await self._keep(self._part, copy.superstep, saved, copy.asked)
        except GoneError:
            return  # the neighbour has gone: the client will notice, and begin a new epoch
        self._copy_seconds = max(self._copy_seconds, time.perf_counter() - started)
        if copy.asked:
            await self._is_taken.wait()  # it is one of the newest until then: no other copy begins before
        if machine is self._machine:
            machine.handle(Copied(copy.superstep))

    def _messages(self, superstep: int) -> dict[int, list[Message]]:
        """The messages of a superstep, by sender; they are forgotten."""
        others = (part for part in range(self._parts) if part != self._part)
        return {part: [letter.message for letter in self._letters.pop((superstep, part)).values()] for part in others}

    # In the engine's thread:

    def _load(self, saved: dict[str, Any] | None) -> Any:
        counts = self._run.open()
        if saved is not None:
            counts = self._run.load(saved)
        self._encode()
        return counts

    def _put(self, messages: Messages) -> None:
        for part, told in messages.items():
            for message in told:
                self._run.incoming(part, message)

    def _end(self, messages: Messages) -> Any:
        """Put the last messages in place; return the numbers of the part that are not finite."""
        self._put(messages)
        return self._run.not_finite()

    def _compute(self, step: Step, messages: Messages, copy: bool, tell: Tell) -> tuple[Any, dict[str, Any]]:
        """Put messages in place, copy the state if asked, and do a superstep."""
        began = time.perf_counter()
        self._put(messages)
        saved, saving = {}, 0.0
        if copy:
            started = time.perf_counter()
            saved = self._run.save()
            self._copy_seconds = saving = time.perf_counter() - started
        counts = self._run.step([report.counts for report in step.reports], tell)
        self._encode()
        self._worked = time.perf_counter() - began - saving
        return counts, saved

    def _encode(self) -> None:
        """Make the messages of the superstep that was done."""
        others = (part for part in range(self._parts) if part != self._part)
        self._outgoing = {part: encode(self._run.outgoing(part)) for part in others}
