"""Pushes of a simulated GPU that works alone: what they cost beside pulls, and the work of each superstep.

As on a real GPU, one call does several supersteps (executor/gpu/chain.py): up to `CHAIN_LENGTH` launches, in each of
which a kernel does one superstep, or several while the frontier is small. The lists of resident pages are in the GPU's
memory; its kernels read all others in host memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from ..codec.arrays import PACKED, RAW
from ..dispatch.policy import Policy
from ..executor.costs import EXPECTED
from ..executor.far_lists import FarLists
from ..executor.gpu.header import CHAIN_LENGTH, FEW_BLOCKS, FEW_EDGES, FEW_LISTS, FEW_THREADS, MOST_SUPERSTEPS
from ..executor.gpu.residency import Residency
from ..executor.modes import GPU, NOTIFY_PULL, PULL, PUSH
from ..executor.partitions import EDGE_BYTES
from ..executor.protocol import Capabilities
from .demand import CHAIN, PUSH_FEW, Demand
from .machine import Machine
from .pages import transfers_of
from .workload import Activity, Workload

GPU_PUSHES = CHAIN, PUSH, PUSH_FEW
"""The modes of a push on the GPU in a `Demand`: one of several in a call, one by itself, and one of several in a
kernel."""
SMALL_ACTIVE, SMALL_EDGES = (FEW_BLOCKS * FEW_THREADS * each for each in (FEW_LISTS, FEW_EDGES))
"""Active vertices, and their out-edges, up to which a frontier is small."""


def can_push(workload: Workload, machine: Machine) -> bool:
    """Whether the GPU pushes in a simulation: the program may, and the machine says what that costs."""
    known = machine.has_costs(GPU, workload.traits.name, *GPU_PUSHES)
    return known and workload.traits.is_relaxation and workload.pushes and not workload.on_disks


def capabilities_of_gpu(workload: Workload, residency: Residency, pushes: bool, policy: Policy) -> Capabilities:
    """The capabilities of a GPU that works alone, with these pages, in a run under a policy; whether it pushes is
    given."""
    deltas = workload.traits.pushes_deltas and workload.pushes and not workload.on_disks
    cost = EXPECTED.push_cost(expected_seconds(workload, residency, deltas))
    modes = (PULL, NOTIFY_PULL) + (PUSH,) * pushes
    transfers = transfers_of(workload, residency, policy)
    return Capabilities(GPU, modes, push_cost=cost, pushes_deltas=deltas, transfers=transfers)


def expected_seconds(workload: Workload, residency: Residency, deltas: bool) -> tuple[float, float, float]:
    """What a pull of all edges of a GPU with these pages, and a push along them, are expected to take
    (`Costs.seconds_of`)."""
    far = sum(page.edges for page in residency.elsewhere) * workload.edge_bytes
    is_packed = workload.edge_bytes < EDGE_BYTES + workload.traits.edge_value_bytes
    rate = EXPECTED.far_rate(residency.edges, residency.vertices, PACKED if is_packed else RAW)
    return EXPECTED.seconds_of(residency.edges, workload.vertex_data, far, far, rate, deltas)


def ways_of_call(activities: Iterable[Activity], most: int) -> list[str]:
    """How one call does each of its supersteps, if at most `most` edges may lead from active vertices."""
    ways, launches = list[str](), 0
    for activity in itertools.islice(activities, MOST_SUPERSTEPS):
        small = activity.active <= SMALL_ACTIVE and activity.active_edges <= SMALL_EDGES
        launches += not (small and ways[-1:] == [PUSH_FEW])
        if activity.active_edges > most or launches > CHAIN_LENGTH:
            break
        ways.append(PUSH_FEW if small else CHAIN)
    return ways


def of_gpu_push(workload: Workload, activity: Activity, residency: Residency, way: str, share: float = 1.0) -> Demand:
    """A push on the GPU from a share of the active vertices. Its `far` are the bytes that it reads in host memory.

    A kernel that does several supersteps gives each list to one warp, which waits for host memory several times if the
    list is long (kernels/push_few.cu); a push by itself divides lists among warps.
    """
    edges = share * (activity.active_edges if activity.followed is None else activity.followed)
    elsewhere, active = sum(page.edges for page in residency.elsewhere), share * activity.active
    lacking = elsewhere / max(residency.edges, 1)
    far = FarLists(lacking, workload.edge_bytes, 0, 1).read_bytes(active, edges)
    return Demand(
        way, round(edges), edges, 0.0, far, vertex=active, activated=share * activity.activated,
        alone=lacking * edges / max(active, 1) if way == PUSH_FEW else 0.0,
    )  # fmt: skip
