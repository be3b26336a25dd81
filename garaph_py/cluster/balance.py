"""`Balance`: whether it pays to arrange the parts anew, because a worker is slower or faster than its share."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import ClusterError
from .placing import Arrangement, WorkerFacts
from .prepare import counts_of
from .snapshots import Snapshots
from .superstep import Report

RECENT = 5
"""Supersteps over which the speed of workers is measured, as a median, which one or two supersteps that another program
has slowed do not change."""
DENSE = 0.5
"""Minimum share of its edges that each part visits in a superstep that counts for the speed of workers. With fewer, the
times depend on where the active vertices are."""
LEAST_GAIN = 0.1
"""Minimum share of the slowest worker's time that a move must save; smaller differences are noise."""
DEARER = 2.0
"""Factor by which the promised gain of a move, relative to its cost, must exceed that of the move before. So there are
few moves even if workers are alternately fast and slow, and all moves together cost no more than their expected
gain."""
SEND_RATE = 0.2e9
"""Expected rate (bytes of edges per second) of moving parts, if no move was timed because the workers had kept their
parts: 268 MB moved at 0.1 to 0.2 GB/s on one machine (docs/results/cluster.md)."""

Arrange = Callable[[Mapping[str, WorkerFacts], Mapping[str, float]], Arrangement]
"""``arrange(workers, shares)`` cuts the graph among these workers, in proportion to their shares."""


class Move(NamedTuple):
    """A change of the arrangement.

    Attributes
    ----------
    superstep : int
        The superstep after which the run went on with the new parts.
    seconds : float
        The time of the move.
    slowest : str
        The slowest worker before the move.
    before, expected : float
        Seconds per superstep that this worker computed, and that the slowest worker was expected to compute after the
        move.
    nbytes : int
        Bytes of the graph's edges, raw.
    """

    superstep: int
    seconds: float
    slowest: str
    before: float
    expected: float
    nbytes: int


class Balance:
    """Watches the workers of a run.

    Parameters
    ----------
    arrange : callable
    snapshots : Snapshots
        The snapshots by which the state moves.
    arrangement : Arrangement
        The first arrangement.
    nbytes : int
        Bytes of the graph's edges.
    limit : int, optional
        The number of supersteps after which the run ends, if it does not converge before.
    tell : callable
        ``tell(move)`` is called after each move.

    Attributes
    ----------
    shares : dict
        With which the parts have been arranged anew, by worker; empty if they have not.
    wants_copies : bool
        A move would pay if there were newer copies of the state. One worker alone makes none.
    """

    def __init__(
        self, arrange: Arrange, snapshots: Snapshots, arrangement: Arrangement, nbytes: int, limit: int | None,
        tell: Callable[[Move], None],
    ) -> None:  # fmt: skip
        self._arrange, self.snapshots, self._arrangement, self._limit = arrange, snapshots, arrangement, limit
        self._nbytes, self._cost, self._tell = nbytes, nbytes / SEND_RATE, tell
        self._addresses: list[str] = []
        self._done = self._kept = 0  # supersteps: all, and those that need not be done again
        self._planned: tuple[Move, dict[str, float]] | None = None
        self.shares: dict[str, float] = {}
        self.wants_copies = False
        self._speeds: dict[str, float] = {}  # costs per second, of workers that have had a part
        self._moves = 0
        self._begin()

    def _begin(self) -> None:
        """Forget what was measured with earlier parts."""
        self._seen: deque[dict[str, float]] = deque(maxlen=RECENT)  # seconds that each worker computed
        self._seconds: deque[float] = deque(maxlen=RECENT)  # of the supersteps
        self._count = self._next = 0  # of these, and how many there have to be before anybody looks again

    def hear(self, superstep: int, reports: Sequence[Report], addresses: Sequence[str]) -> None:
        """Take the parts' `reports` of a superstep, which they did in the workers at these `addresses`."""
        if list(addresses) != self._addresses:
            self._begin()
            self._addresses = list(addresses)
        self._done = superstep
        self._kept = max(self._kept, min(report.copied for report in reports))
        done = [counts_of(report).edges for report in reports]
        if any(each < DENSE * whole for each, whole in zip(done, self._arrangement.edges, strict=True)):
            return
        worked = dict.fromkeys(addresses, 0.0)
        for address, report in zip(addresses, reports, strict=True):
            worked[address] += report.worked
        self._seen.append(worked)
        self._seconds.append(max(report.seconds for report in reports))
        self._count += 1

    @property
    def is_due(self) -> bool:
        """Whether enough supersteps were reported to judge the workers."""
        return len(self._seen) == RECENT and self._count >= self._next

    def better(self, workers: Mapping[str, WorkerFacts]) -> Arrangement | None:
        """An arrangement for the present `workers`, if moving to it pays; otherwise None.

        It has to save more time in the coming supersteps than it costs: the time to load the parts, which is expected
        to be as long as last time, and to repeat the supersteps since the newest copies. A run is expected to go on for
        as many supersteps as it has done with this arrangement, or up to its limit. The speed of a new worker is
        estimated from its threads.
        """
        times = {one: statistics.median(each[one] for each in self._seen) for one in self._seen[0]}
        self._seen.clear()
        costs = costs_of(self._addresses, self._arrangement.costs)
        self._speeds |= {one: costs[one] / times[one] for one in times if costs[one] and times[one]}
        known = {one: speed for one, speed in self._speeds.items() if one in workers}
        if not known:
            return None
        usual = statistics.median(speed / workers[one].threads for one, speed in known.items())
        shares = {one: known.get(one, usual * facts.threads) for one, facts in workers.items()}
        slowest = max(times, key=lambda one: times[one])
        best = times[slowest], sum(costs.values()) / sum(shares.values())
        if not self._pays(*best):
            self.wants_copies = self._pays(*best, repeats=0)
            return None
        self._next = 2 * self._count  # to arrange takes its time, and may come to the same again
        try:
            found = self._arrange(workers, shares)
        except ClusterError:  # they have too little memory for that
            return None
        expected = max(cost / shares[one] for one, cost in costs_of(found.addresses, found.costs).items())
        if not self._pays(times[slowest], expected):
            return None
        self._planned = Move(self._done, 0.0, slowest, times[slowest], float(expected), self._nbytes), shares
        return found

    def _pays(self, before: float, expected: float, repeats: int | None = None) -> bool:
        """Whether to move if the slowest worker's seconds in a superstep become what is `expected`.

        The run repeats so many supersteps; by default those since the newest copies.
        """
        left = self._count if self._limit is None else min(self._count, self._limit - self._done)
        again = (self._done - self._kept if repeats is None else repeats) * statistics.median(self._seconds)
        gain = before - expected
        return gain > LEAST_GAIN * before and gain * left > (self._cost + again) * DEARER**self._moves

    def kept(self, superstep: int) -> None:
        """Note that the client has the state after a superstep."""
        self._kept, self.wants_copies = max(self._kept, superstep), False

    def loaded(self, seconds: float) -> None:
        """Note how many seconds it took to load all parts."""
        self._cost = seconds

    def moved(self, arrangement: Arrangement, superstep: int, seconds: float) -> None:
        """Note that the run goes on with an `arrangement` from `better` after a superstep, and how long the move
        took."""
        assert self._planned is not None
        move, self.shares = self._planned
        self._moves += 1
        self._arrangement, self._kept = arrangement, max(self._kept, superstep)
        self._cost = max(self._cost, seconds)
        self._begin()
        self._tell(move._replace(superstep=superstep, seconds=seconds))


def costs_of(addresses: Sequence[str], costs: Sequence[Any]) -> dict[str, Any]:
    """The total cost of each worker's parts."""
    found = dict.fromkeys(addresses, 0)
    for address, cost in zip(addresses, costs, strict=True):
        found[address] += cost
    return found
