"""An iteration that pushes: along edge lists as an engine says, deltas to sums, or from the queue of the frontier."""

from __future__ import annotations

import time

from ..results import PageResult
from ..state import State
from .launches import Launches
from .push import push_values
from .push_deltas import push_deltas
from .push_from_lists import push_from_lists
from .timeline import MANY


def push(launches: Launches, state: State) -> list[PageResult]:
    """Push from the frontier in one superstep. New values replace the old ones. The context must be current."""
    placed, streams, began = launches.placed, launches.streams, time.perf_counter_ns()
    if placed.lists:
        found = push_from_lists(launches, state)
    else:
        found = [(push_deltas if placed.keeps_sums else push_values)(launches, state)]
    streams.mark("push", began, streams.compute[0])
    streams.write_spans(MANY)
    return found
