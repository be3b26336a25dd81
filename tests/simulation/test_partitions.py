"""Simulated runs of engines that push along lists: times by hand, and choices that are made again in a replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.hytgraph import choose_transfers
from garaph_py.errors import ParameterError
from garaph_py.executor.modes import COMPACTED, COPIED, CPU, GPU, PULL, PUSH, ZERO_COPY
from garaph_py.executor.partitions import PartitionCounts, TransferTask
from garaph_py.program import bind
from garaph_py.runtime.options import RunOptions
from garaph_py.simulation import Activity, Machine, simulate
from garaph_py.simulation.frontiers import activities
from garaph_py.simulation.machine import Link, UnitCost, WorkCost
from garaph_py.simulation.partitions import SimulatedLists
from garaph_py.simulation.replay import replay
from garaph_py.simulation.traces import read_trace
from tests.support.command import Shell
from tests.support.simulated import LABELS, workload

from ..support.runs import run_with

MACHINE = Machine(
    4,
    (WorkCost(CPU, "any", PULL, UnitCost(1e-9)), WorkCost(GPU, "any", PUSH, UnitCost(0.5), iteration=10.0)),
    gpu_memory=1 << 30,
    link=Link(100.0, 100.0),
    host_copy=16.0,
)
"""A GPU that takes half a second for an edge, a link of 100 bytes a second, and 64 bytes a second to compact."""


def counts_of(*columns: list[int], edge_bytes: int = 4) -> PartitionCounts:
    return PartitionCounts(*map(np.array, columns), edge_bytes)


COUNTS = counts_of([100, 100, 100], [4, 2, 1], [80, 10, 30], [10, 5, 1])


def lists(engine: gp.Policy) -> SimulatedLists:
    return SimulatedLists(workload(LABELS), MACHINE, engine)


def played(engine: gp.Policy, *tasks: TransferTask) -> tuple[list[tuple[float, float]], float]:
    found, nbytes = lists(engine).play(tasks, COUNTS)
    return [(one.began, one.ended) for one in found], nbytes


def test_tasks_by_hand() -> None:
    copied, compacted, read = TransferTask(COPIED, (0,)), TransferTask(COMPACTED, (1,)), TransferTask(ZERO_COPY, (2,))
    # 400 bytes are there after 4 s; 80 edges take 40 s
    assert played(gp.HyTGraph(), copied) == ([(4, 44)], 400)
    # one line of 128 bytes takes 1.28 s, 30 edges take 15
    assert played(gp.HyTGraph(), read) == ([(0, 15)], 128)
    # 56 bytes are compacted in 56 / 64 s, and copied in 0.56 s; 10 edges take 5 s
    assert played(gp.HyTGraph(), compacted) == ([(0.875 + 0.56, 0.875 + 0.56 + 5)], 56)
    # the second copy and the compaction overlap with kernels
    both = [(4, 44), (44, 59), (59, 64)]
    assert played(gp.HyTGraph(), copied, read, compacted) == (both, 400 + 128 + 56)
    # without overlap, the CPU compacts when the kernels before have ended
    in_turn, _ = played(gp.HyTGraph(overlap=False), copied, read, compacted)
    assert in_turn[2] == (59 + 0.875 + 0.56, pytest.approx(59 + 0.875 + 0.56 + 5))


def test_a_slow_link_is_what_zero_copy_waits_for() -> None:
    many = counts_of([100], [4], [2], [50])
    (one,), nbytes = lists(gp.HyTGraph()).play([TransferTask(ZERO_COPY, (0,))], many)
    assert (one.began, one.ended, nbytes) == (0, 64, 6400)


def test_a_superstep_by_hand() -> None:
    work = workload(LABELS, [Activity(7, 120, counts=COUNTS), Activity(0, 0, counts=counts_of([1], [0], [0], [0]))])
    done = simulate(work, MACHINE, RunOptions(engine="hytgraph:transfers=copied", device=GPU))
    # three tasks copy a partition each, in 4 s; 120 edges take 60 s from the first copy on
    assert [row.seconds for row in done.iterations] == [10 + 4 + 60, 10]
    first = done.iterations[0]
    assert (first.mode, first.device, first.edges, first.to_device) == (PUSH, GPU, 120, 1200)
    assert first.groups == ((PUSH, GPU, COPIED, 3, 120),)
    assert (first.pages, first.pages_skipped) == (3, 0)
    assert (done.iterations[1].pages, done.iterations[1].pages_skipped, done.iterations[1].groups) == (0, 1, ())
    by_requests = simulate(work, MACHINE, RunOptions(engine="emogi", device=GPU)).iterations[0]
    assert by_requests.groups == ((PUSH, GPU, ZERO_COPY, 3, 120),)
    assert by_requests.to_device == 16 * 128


@pytest.mark.parametrize("engine", ["grus", "etagraph", "hytgraph:transfers=unified"])
def test_what_the_driver_moves_is_refused(engine: str) -> None:
    work = workload(LABELS, [Activity(7, 120, counts=COUNTS)])
    with pytest.raises(ParameterError, match="the driver moves the pages of unified memory"):
        simulate(work, MACHINE, RunOptions(engine=engine, device=GPU))


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ParameterError, match="needs the active edges of each partition; record a run of hytgraph"):
        simulate(workload(LABELS, [Activity(7, 120)]), MACHINE, RunOptions(engine="hytgraph", device=GPU))
    with pytest.raises(ParameterError, match="the machine has no GPU"):
        simulate(workload(LABELS), Machine(1, MACHINE.work[:1]), RunOptions(engine="hytgraph", device=GPU))


MIB = 1 << 20
RECORDED = counts_of(
    [8 * MIB] * 3, [500_000, 1_000, 500_000], [1_000_000, 100_000, 6_000_000], [500_000, 4_000, 900_000]
)
"""The first is compacted, the second read, the third copied: a copy costs 1,024 round trips, the compacted lists 245,
13 and 855, zero copy 1,308, 10 and 3,140."""


def trace(tmp_path: Path, engine: str = "hytgraph") -> Path:
    """What a run of hytgraph would have traced: two supersteps with the same counts."""
    names = {0: "iterations"}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "tid": tid, "args": {"name": name}} for tid, name in names.items()
    ]
    for number in range(2):
        details = {
            "f": 0.1, "active vertices": 1_001_000, "edges": 4_100_000, "device": "gpu", "to device": 42_066_432,
            "from device": 0, "pages": 3, "skipped": 0,
            "partitions": {name: value.tolist() if isinstance(value, np.ndarray) else value
                           for name, value in vars(RECORDED).items() if value is not None},
        }  # fmt: skip
        events.append({
            "ph": "X", "tid": 0, "name": f"{number}: push", "ts": 6000 * number, "dur": 5000, "args": details
        })  # fmt: skip
    facts = {
        "program": "BFS", "vertices": 3 << 20, "edges": 24 << 20, "directed": True, "engine": engine, "mode": "auto",
        "device": "gpu", "synchronous": True, "gpu_memory": None, "threads": 4, "encoding": "raw", "value_bytes": 4,
        "edge_value_bytes": 0, "everybody": False, "relaxes": True, "priority": False, "pushes": True,
    }  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events, "otherData": facts}))
    return path


def ways(done: Any) -> list[dict[str, int]]:
    return [{group.transfer: group.pages for group in row.groups} for row in done.iterations]


def test_a_replay_chooses_again(tmp_path: Path) -> None:
    run = read_trace(trace(tmp_path))
    assert choose_transfers(RECORDED) == [COMPACTED, ZERO_COPY, COPIED]
    again = replay(run).simulated
    assert ways(again) == [{COPIED: 1, ZERO_COPY: 1, COMPACTED: 1}] * 2
    assert again.seconds == pytest.approx(run.seconds, rel=0.1)
    never = replay(run, engine="hytgraph:alpha=0").simulated
    assert ways(never) == [{COPIED: 2, ZERO_COPY: 1}] * 2
    assert ways(replay(run, engine="hytgraph:beta=0.1").simulated) == ways(never)  # 245 is not below 0.1 x 1,308
    eager = replay(run, engine="hytgraph:alpha=0.99,beta=2").simulated
    assert ways(eager) == [{COMPACTED: 3}] * 2
    assert ways(replay(run, engine="hytgraph:transfers=zero-copy").simulated) == [{ZERO_COPY: 3}] * 2
    with pytest.raises(ParameterError, match="recorded with partitions of 33554432 bytes"):
        replay(run, engine="hytgraph:partition_bytes=4096")


def test_the_command_replays_with_other_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(monkeypatch, capsys)
    path = trace(tmp_path)
    found = {}
    for engine in ("hytgraph", "hytgraph:alpha=0"):
        status, out, _ = shell("simulate", "--trace", path, "--engine", engine, "--json")
        assert status == 0
        rows = json.loads(out)["iterations"]
        found[engine] = [[row[f"pages_{way}"] for way in ("copied", "zero_copy", "compacted")] for row in rows]
    assert found == {"hytgraph": [[1, 1, 1]] * 2, "hytgraph:alpha=0": [[2, 1, 0]] * 2}
    assert "        1  1 copied, 1 zero-copy, 1 compacted\n" in shell("simulate", "--trace", path)[1]
    assert "needs the active" not in shell("simulate", "--trace", path)[2]
    assert "cannot be simulated" in shell("simulate", "--trace", path, "--engine", "grus")[2]


@pytest.mark.parametrize(("engine", "said"), [
    ("hytgraph:alpha=-1", "alpha=-1.0: give a number, 0 or more"), ("hytgraph:beta=inf", "beta=inf: give a number"),
    ("hytgraph:alpha=much", "alpha='much': give a number"),
])  # fmt: skip
def test_parameters_of_the_selection_are_checked(engine: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        RunOptions(engine=engine)


@pytest.mark.gpu
def test_a_run_on_a_gpu_is_replayed(tmp_path: Path) -> None:
    """The replay knows the same counts, and so chooses as the run did; with other parameters it chooses otherwise."""
    graph = gp.rmat(16, 16, directed=False, weights=(1, 64), seed=1)
    source = int(graph.ids.take(np.array([graph.out_degrees.argmax()]))[0])
    engine, path = "hytgraph:partition_bytes=1048576", tmp_path / "trace.json"
    stats = run_with(gp.apps.SSSP(source), graph, engine=engine, sync=True, trace=path).stats
    run = read_trace(path)
    assert [row.edges for row in replay(run).simulated.iterations] == [row.edges for row in stats.iterations]
    chosen = [{group.transfer: group.pages for group in row.groups} for row in stats.iterations]
    assert ways(replay(run).simulated) == chosen
    assert ways(replay(run, engine=f"{engine},alpha=1000,beta=1000").simulated) != chosen
    found = activities(bind(gp.apps.SSSP(source), graph), graph, RunOptions(engine=engine).lists)
    for one, row in zip(found, stats.iterations, strict=True):  # the GPU and the CPU count alike
        for name in ("edges", "active_vertices", "active_edges"):
            assert np.array_equal(getattr(one.counts, name), getattr(row.partitions, name)), name
