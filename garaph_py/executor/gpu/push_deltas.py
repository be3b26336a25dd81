"""Push in delta form on the GPU, for programs that add and define `delta`.

The invariant is the CPU's (executor/cpu/push_deltas.py): every vertex v has a sum, of ``gather(next_values[u])`` over
its in-edges u -> v. In a synchronous run, every pull leaves it, because it keeps the sums of all vertices and then
exchanges the two arrays of values. In an asynchronous run, pulls replace values in place, so that the sums of some
pages have newer values than those of others; a pull that is to make sums writes to the second array. A push adds deltas
to the sums along the lists of active vertices (push.py), and then applies the vertices that got something, in place.
"""

from __future__ import annotations

from ..results import PageResult
from ..state import State
from .launches import Launches
from .push import push_along, result_of


def push_deltas(launches: Launches, state: State) -> PageResult:
    """Push deltas from the frontier in one superstep; new values replace the old ones. The context must be current."""
    way, moved = push_along(launches, state, "push_deltas")
    every = launches.tasks.of_all()
    launches.launcher.on_blocks("apply_notified", launches.arrays.n, None, every)  # after those on all other streams
    return result_of(launches.read_tallies(), state.active_edges, way, moved)
