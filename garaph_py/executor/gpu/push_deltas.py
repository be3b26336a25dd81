"""Push in delta form on the GPU, for programs that add and define `delta`, in synchronous runs.

The invariant is the CPU's (executor/cpu/push_deltas.py): every vertex v has a sum, of ``gather(next_values[u])`` over
its in-edges u -> v. Every pull leaves it, because it keeps the sums of all vertices and then exchanges the two arrays
of values. A push adds deltas to the sums along the lists of active vertices (push.py), and then applies the vertices
that got something, in place.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol import PageResult
from ..state import State
from .launches import Launches
from .push import lists_of, push_along, result_of


@dataclass(frozen=True)
class DeltaPush:
    """Pushes deltas from the frontier. The device's context must be current.

    Parameters
    ----------
    launches : Launches
    """

    launches: Launches

    def __call__(self, state: State) -> PageResult:
        """One superstep. New values replace the old ones."""
        launches, every = self.launches, self.launches.tasks.of_all()
        n = launches.arrays.n
        launches.driver.memset_d8(launches.arrays.address("notified"), 0, -(-n // 32) * 4)
        way, copied = push_along(launches, lists_of(launches), "push_deltas")
        launches.launcher.on_blocks("apply_notified", n, None, every)  # after the kernels on all other streams
        return result_of(launches.read_tallies(), state.active_edges, way, copied)
