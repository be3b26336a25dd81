"""`Balance`: whether it pays to arrange the parts anew, because a worker is slower or faster than its share."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import ClusterError
from .client import Arrangement
from .placing import WorkerFacts
from .prepare import counts_of
from .snapshots import Snapshots
from .superstep import Report

RECENT = 5
"""Supersteps over which the speed of workers is measured: the median of so few is not moved by one or two that another
program of the machine has slowed."""
DENSE = 0.5
"""The least share of its edges that each part has to visit in a superstep from which the speed of workers is told. With
fewer, it depends on where the active vertices are."""
LEAST_GAIN = 0.1
"""The least share of the slowest worker's time that a move must save: so much is noise."""
DEARER = 2.0
"""Each move must promise so many times as much, compared with its cost, as the one before. So there are few, also if
workers are fast and slow in turns, and all together cost no more than they were expected to bring."""
SEND_RATE = 0.2e9
"""Bytes of edges per second at which parts are expected to move, if nobody has timed that because the workers had kept
theirs: on one machine, with 268 MB, it was 0.1 to 0.2 GB/s (docs/results/cluster.md)."""

Arrange = Callable[[Mapping[str, WorkerFacts], Mapping[str, float]], Arrangement]
"""``arrange(workers, shares)`` cuts the graph among these workers, in proportion to their shares."""


class Move(NamedTuple):
    """A change of the arrangement.

    Attributes
    ----------
    superstep : int
        After which the run has gone on.
    seconds : float
        How long the parts took to move.
    slowest : str
        The worker that was slowest.
    before, expected : float
        Seconds that it computed in a superstep, and that the slowest was expected to after the move.
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
        By which the state moves.
    arrangement : Arrangement
        The first one.
    nbytes : int
        Bytes of the graph's edges.
    limit : int, optional
        The supersteps after which the run ends, if it does not end by itself.
    tell : callable
        ``tell(move)`` is called after each move.
    """

    def __init__(
        self, arrange: Arrange, snapshots: Snapshots, arrangement: Arrangement, nbytes: int, limit: int | None,
        tell: Callable[[Move], None],
    ) -> None:  # fmt: skip
        self._arrange, self.snapshots, self._arrangement, self._limit = arrange, snapshots, arrangement, limit
        self._nbytes, self._cost, self._tell = nbytes, nbytes / SEND_RATE, tell
        self._addresses: list[str] = []
        self._done = self._kept = 0  # supersteps: all, and those that need not be done again
        self._planned: Move | None = None
        self._speeds: dict[str, float] = {}  # costs per second, of workers that have had a part
        self._moves = 0
        self._begin()

    def _begin(self) -> None:
        """Nothing is known of the workers with these parts."""
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
        """Whether enough has been heard to look at the workers."""
        return len(self._seen) == RECENT and self._count >= self._next

    def better(self, workers: Mapping[str, WorkerFacts]) -> Arrangement | None:
        """An arrangement for the `workers` that are there, if moving to it pays.

        It has to bring more in the supersteps to come than it costs: to load the parts, as long as that took last time,
        and to do again what has been done since the newest copies. A run is expected to go on for as many supersteps as
        it has done with this arrangement, unless its limit comes first. A new worker counts by its threads.
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
        if not self._pays(times[slowest], sum(costs.values()) / sum(shares.values())):
            return None
        self._next = 2 * self._count  # to arrange takes its time, and may come to the same again
        try:
            found = self._arrange(workers, shares)
        except ClusterError:  # they have too little memory for that
            return None
        expected = max(cost / shares[one] for one, cost in costs_of(found.addresses, found.costs).items())
        if not self._pays(times[slowest], expected):
            return None
        self._planned = Move(self._done, 0.0, slowest, times[slowest], float(expected), self._nbytes)
        return found

    def _pays(self, before: float, expected: float) -> bool:
        """Whether to move if the slowest worker's seconds in a superstep become what is `expected`."""
        left = self._count if self._limit is None else min(self._count, self._limit - self._done)
        again = (self._done - self._kept) * statistics.median(self._seconds)
        gain = before - expected
        return gain > LEAST_GAIN * before and gain * left > (self._cost + again) * DEARER**self._moves

    def loaded(self, seconds: float) -> None:
        """All parts have been loaded in so many seconds."""
        self._cost = seconds

    def moved(self, arrangement: Arrangement, superstep: int, seconds: float) -> None:
        """The run goes on with an `arrangement` that was `better`, after a superstep; moving took so many seconds."""
        assert self._planned is not None
        self._moves += 1
        self._arrangement, self._kept = arrangement, max(self._kept, superstep)
        self._cost = max(self._cost, seconds)
        self._begin()
        self._tell(self._planned._replace(superstep=superstep, seconds=seconds))


def costs_of(addresses: Sequence[str], costs: Sequence[Any]) -> dict[str, Any]:
    """What each worker's parts cost together."""
    found = dict.fromkeys(addresses, 0)
    for address, cost in zip(addresses, costs, strict=True):
        found[address] += cost
    return found
