"""A machine and traits of programs that simulations in several tests share."""

from __future__ import annotations

from garaph_py.executor.modes import BOTH, CPU, GPU, PULL, PUSH
from garaph_py.runtime.options import RunOptions
from garaph_py.simulation import Activity, Machine, Workload, simulate
from garaph_py.simulation.machine import Link, UnitCost, WorkCost
from garaph_py.simulation.recorded import RecordedRun
from garaph_py.simulation.workload import Traits, even_offsets

SUMS = Traits("PageRank", 4, updates_all_vertices=True)


LABELS = Traits("ConnectedComponents", 4, is_relaxation=True)


KNOWN = Machine(
    16,
    (
        WorkCost(CPU, "PageRank", PULL, UnitCost(1e-9, 3e-10), iteration=2e-4),
        WorkCost(CPU, "ConnectedComponents", PULL, UnitCost(1.5e-9, 2e-10), iteration=2e-4),
        WorkCost(CPU, "ConnectedComponents", PUSH, UnitCost(4e-9), UnitCost(2e-8), iteration=1e-5),
        WorkCost(GPU, "PageRank", PULL, UnitCost(1e-11), iteration=1e-3),
        WorkCost(GPU, "ConnectedComponents", PULL, UnitCost(1e-11), iteration=1e-3),
        WorkCost(BOTH, "any", PULL, page=2e-4, iteration=5e-4),
    ),
    gpu_memory=1 << 40,
    link=Link(5e10, 5e10, beside_cpu=0.9),
    host_copy=8e9,
)


EVERYBODY = Activity(256, 1024)


SMALL = Machine(
    1,
    (WorkCost(CPU, "any", PULL, UnitCost(1 / 128)), WorkCost(GPU, "any", PULL, UnitCost(1 / 512))),
    gpu_memory=1 << 20,
    link=Link(1024.0, 264.0, unpinned=1024.0),
)
"""A page of 256 edges takes the CPU 2 s, the GPU 0.5 s, the link 1 s, and its 64 values take 1 s back."""


def how(device, engine="auto") -> RunOptions:
    return RunOptions(device=device, engine=engine)


def workload(traits=SUMS, activities=(EVERYBODY,), n=256, m=1024, page_edges=256, **more) -> Workload:
    return Workload(traits, n, m, even_offsets(n, m), tuple(activities), 4.0, 8.0, page_edges=page_edges, **more)


def recorded(
    scale: int, traits: Traits, device: str, share: float, machine: Machine = KNOWN, engine: str = "auto"
) -> RecordedRun:  # fmt: skip
    """A run as the known machine has it, over a graph so dense that it pays to share one of these sizes."""
    n, m = 1 << scale, 256 << scale
    shares = [1.0] * 6 if traits is SUMS else [1.0, 0.9, 0.05, 0.003, 5e-8, 3e-9, 1e-4]
    activities = tuple(Activity(max(round(n * one), 1), round(m * one)) for one in shares)
    work = Workload(traits, n, m, even_offsets(n, m), activities, 4.0, 30.0)
    options, room = how(device, engine), None if device == CPU else int(share * m * 4)
    rows = [row._asdict() for row in simulate(work, machine, options, room).iterations]
    return RecordedRun(f"rmat:{scale}", work, options, machine.cores - 2 * (device == "hybrid"), room, tuple(rows))


MACHINE = """cores = 2
gpu_memory = "1GiB"
[link]
to_device = 1e9
from_device = 1e9
[[work]]
processor = "cpu"
edge = 1e-9
[[work]]
processor = "gpu"
edge = [1e-10, 1e-12]
"""


SPEC = """machine = "machine.toml"
device = ["cpu", "gpu"]
[graphs.small]
vertices = 1_000_000
edges = 16_000_000
[graphs.made]
source = "rmat:10:8"
[[runs]]
graph = "small"
program = "ConnectedComponents"
iterations = 4
active = [1.0, 0.5]
fade = 0.1
published = { cpu = 0.5 }
"""
