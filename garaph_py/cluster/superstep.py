"""The supersteps of one part as a state machine: events go in, instructions come out. It does no input or output.

    part p                                  part q
    Ready (superstep s is done)             Ready
      Send s  ----------- message s ------->  Arrived
      Arrived  <--------- message s --------  Send s
      Copy s, if a copy is due              Copy s
      Step s + 1                            Step s + 1

A part begins superstep s + 1 once it has done superstep s and has received the messages of superstep s from all other
parts. So no part is more than one superstep ahead of another. Each part knows the reports of all parts, so every part
takes the same decision by itself, without asking another.

After a failure the client begins a new epoch, in which all parts go on from the same superstep. A part ignores messages
of an earlier epoch, and those that arrive a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import ClusterError

NEVER = -1
"""The superstep of the last copy if there is none."""
COPY_SHARE = 0.05
"""The largest share of a run's time that copies may take."""


class Report(NamedTuple):
    """What a part tells all others about a superstep.

    Attributes
    ----------
    counts : object
        What its executor has counted. The state machine passes it on.
    seconds : float
        Time since the part's previous report.
    copy_seconds : float
        How long its last copy took, or is expected to take.
    copied : int
        The newest superstep of which its neighbour keeps a copy; `NEVER` if there is none.
    sent : int
        Bytes of the messages that go with it.
    asked : bool
        Whether the client has asked this part for a copy, which all then make.
    worked : float
        Of the `seconds`, those in which its worker computed for it, without making copies.
    """

    counts: Any
    seconds: float
    copy_seconds: float
    copied: int
    sent: int
    asked: bool = False
    worked: float = 0.0


class Ready(NamedTuple):
    """Event: the part's state after the superstep is there, with what has to be sent."""

    report: Report


class Arrived(NamedTuple):
    """Event: a message has come."""

    epoch: int
    superstep: int
    sender: int
    report: Report


class Copied(NamedTuple):
    """Event: the neighbour keeps a copy of the state after the superstep."""

    superstep: int


class Send(NamedTuple):
    """Instruction: send all other parts the message of the superstep, with the part's report."""

    superstep: int
    report: Report


class Copy(NamedTuple):
    """Instruction: copy the state after the superstep, with all messages in place, to the neighbour.

    If the client has `asked`, keep it for the client too.
    """

    superstep: int
    asked: bool = False


class Step(NamedTuple):
    """Instruction: put the messages of the superstep before in place, make the copy if one is due, do the superstep."""

    superstep: int
    reports: tuple[Report, ...]


class Finish(NamedTuple):
    """Instruction: put the messages of the superstep in place; the run has ended after it."""

    superstep: int
    reports: tuple[Report, ...]


Event = Ready | Arrived | Copied
Instruction = Send | Copy | Step | Finish
Ends = Callable[[Sequence[Report], int], bool]


@dataclass
class Supersteps:
    """The supersteps of one part in one epoch.

    Parameters
    ----------
    part, parts : int
        The part's number, and how many there are.
    epoch : int
    superstep : int
        The number of supersteps that all parts have done when the epoch begins.
    ends : callable
        ``ends(reports, superstep)`` tells whether the run ends after the superstep; the same in all parts.
    copies : bool
        Whether a neighbour keeps copies.
    """

    part: int
    parts: int
    epoch: int
    superstep: int
    ends: Ends
    copies: bool
    _own: Report | None = None
    _arrived: dict[int, dict[int, Report]] = field(default_factory=dict)
    _begun: int = NEVER  # superstep of the newest copy that was begun
    _copied: int = NEVER
    _since: float = 0.0  # time since then, of the slowest part in each superstep
    _ended: bool = False

    @property
    def copied(self) -> int:
        """The newest superstep of which the neighbour keeps a copy, for the part's next report."""
        return self._copied

    def handle(self, event: Event) -> list[Instruction]:
        """What to do after an event, in order.

        Raises
        ------
        ClusterError
            If a message cannot be of this run.
        """
        if isinstance(event, Copied):
            self._copied = max(self._copied, event.superstep)
            return []
        if isinstance(event, Ready):
            self._own = event.report
            return [Send(self.superstep, event.report), *self._advance()]
        if not self.expects(event.epoch, event.superstep, event.sender):
            return []
        self._arrived.setdefault(event.superstep, {})[event.sender] = event.report
        return self._advance()

    def expects(self, epoch: int, superstep: int, sender: int) -> bool:
        """Whether the part needs a message: not one of another epoch or of the past, or of which it has the report.

        Raises
        ------
        ClusterError
            If its sender is no other part, or it is too far ahead.
        """
        if epoch != self.epoch or superstep < self.superstep or self._ended:
            return False
        is_other = sender in range(self.parts) and sender != self.part
        if superstep > self.superstep + 1 or not is_other:
            raise ClusterError(
                f"part {self.part} is at superstep {self.superstep} and got a message of part {sender} for superstep "
                f"{superstep}; use the same version of garaph_py on all workers"
            )
        return sender not in self._arrived.get(superstep, {})

    def _advance(self) -> list[Instruction]:
        """Go on if the superstep is complete."""
        there = self._arrived.get(self.superstep, {})
        if self._own is None or len(there) < self.parts - 1:
            return []
        reports = tuple(self._own if part == self.part else there[part] for part in range(self.parts))
        self._arrived.pop(self.superstep, None)
        superstep, self._own = self.superstep, None
        if self.ends(reports, superstep):
            self._ended = True
            return [Finish(superstep, reports)]
        self.superstep += 1
        asked = any(report.asked for report in reports)
        copy = [Copy(superstep, asked)] if self._copy_is_due(reports, superstep, asked) else []
        return [*copy, Step(self.superstep, reports)]

    def _copy_is_due(self, reports: Sequence[Report], superstep: int, asked: bool) -> bool:
        """Whether to copy the state now. All parts decide alike: they have the same reports.

        No copy begins before the previous copy is complete everywhere, so the two newest copies are enough.
        """
        self._since += max(report.seconds for report in reports)
        cost = max(report.copy_seconds for report in reports)
        if min(report.copied for report in reports) < self._begun:
            return False
        if not asked and (not self.copies or self._since * COPY_SHARE < cost):
            return False
        self._begun, self._since = superstep, 0.0
        return True
