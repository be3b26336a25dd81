"""How well a calibrated machine fits is said, and what is beyond its measurements."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from garaph_py.executor.modes import CPU, GPU, PULL
from garaph_py.simulation import Machine, simulate
from garaph_py.simulation.assess import assess, extrapolations, spread
from garaph_py.simulation.calibrate import calibrate
from garaph_py.simulation.machine import UnitCost, WorkCost
from tests.support.command import Shell
from tests.support.simulated import EVERYBODY, KNOWN, MACHINE, SMALL, SPEC, SUMS, how, recorded, workload

SIZES = (22, 23, 24)


def test_runs_of_a_known_machine_fit() -> None:
    runs = [recorded(scale, SUMS, CPU, 1.0) for scale in SIZES]
    found = assess(runs, calibrate(runs))
    assert [one.run for one in found] == runs
    for one in found:
        assert one.error == pytest.approx(0, abs=0.02)
        assert one.held_out_error == pytest.approx(0, abs=0.1)


def test_a_disturbed_run_shows_in_the_error_of_the_others() -> None:
    runs = [recorded(scale, SUMS, CPU, 1.0) for scale in SIZES]
    slow = replace(runs[2], rows=tuple(row | {"seconds": 2 * row["seconds"]} for row in runs[2].rows))
    found = assess([*runs[:2], slow], calibrate([*runs[:2], slow]))
    assert found[2].held_out_error == pytest.approx(-0.5, abs=0.1)  # the others know nothing of the disturbance


def test_what_cannot_be_held_out_is_none() -> None:
    runs = [recorded(22, SUMS, CPU, 1.0), recorded(23, SUMS, GPU, 0.25)]
    assert [one.held_out for one in assess(runs, calibrate(runs))] == [None, None]
    assert [one.held_out_error for one in assess(runs[:1], calibrate(runs[:1]))] == [None]
    assert spread([None]) is None
    assert spread([-0.5, None, 0.1, 0.2]) == (0.2, 0.5)


def test_extrapolations_are_noticed() -> None:
    costs = WorkCost(CPU, "PageRank", PULL, UnitCost(1e-9), measured=(500.0, 5000.0))
    near, far = workload(), workload(n=256 << 10, m=1024 << 10)

    def beyond(machine: Machine, work=near) -> list[str]:
        return extrapolations(machine, work, simulate(work, machine, how(CPU)), how(CPU).policy)

    assert near.vertex_data == 1024
    assert beyond(Machine(1, (costs,))) == []
    assert beyond(Machine(1, (costs,)), far) == [
        "PageRank on the CPU, pull: 1.0 MiB of vertex data, beyond the 500 B to 4.9 KiB that were measured"
    ]
    assert beyond(Machine(1, (replace(costs, program="any"),))) == [
        "PageRank on the CPU, pull: not measured; it has the costs of any program"
    ]
    assert beyond(Machine(1, (replace(costs, mode="push"),))) == [
        "PageRank on the CPU, pull: not measured; it has the costs of push"
    ]
    assert near.shape.near == pytest.approx(0, abs=1e-9)
    assert beyond(Machine(1, (replace(costs, locality=(0.0, 0.5)),))) == []
    assert beyond(Machine(1, (replace(costs, locality=(0.25, 0.5)),))) == [
        "PageRank on the CPU, pull: near = 1.3e-14, beyond the 0.25 to 0.5 that were measured"
    ]
    assert beyond(Machine(1, (replace(costs, mode="pull-active"),))) == []
    assert beyond(Machine(1, (replace(costs, values=False),))) == []
    assert beyond(Machine(1, (replace(costs, values=True),))) == [
        "PageRank on the CPU, pull: not measured without edge values; it has the costs with them"
    ]
    assert beyond(Machine(1, (replace(costs, engine="garaph"),))) == [
        "PageRank on the CPU, pull: not measured under such an engine; it has the costs under garaph"
    ]
    assert beyond(Machine(1, (replace(costs, sync=True),))) == []
    assert beyond(Machine(1, (replace(costs, sync=False),))) == [
        "PageRank on the CPU, pull: not measured in synchronous runs; it has the costs of asynchronous ones"
    ]
    assert beyond(Machine(1, (replace(costs, like="BFS"),))) == [
        "PageRank on the CPU, pull: not measured; it has the costs of BFS, adapted to a comparison here"
    ]
    assert beyond(KNOWN, far) == []  # nothing of it was measured


def test_a_rate_that_was_not_measured_is_noticed() -> None:
    """Small arrays of edges are not pinned; it matters if iterations copy some of them."""
    link = replace(SMALL.link, unpinned=None)
    costs = replace(SMALL.work[1], program="PageRank", measured=(500.0, 5000.0))
    machine = replace(SMALL, link=link, work=(SMALL.work[0], costs))

    def beyond(machine: Machine, room: int) -> list[str]:
        work = workload(activities=[EVERYBODY] * 2)
        return extrapolations(machine, work, simulate(work, machine, how(GPU), room), how(GPU).policy)

    said = ["copies from memory that is not pinned: not measured; 15% of the link's rate"]
    assert beyond(machine, 2048) == said
    assert beyond(machine, 4096) == []  # all edges stay on the GPU
    assert beyond(replace(machine, link=replace(link, unpinned=512.0)), 2048) == []


def test_the_costs_of_the_engine_are_those_that_count() -> None:
    """Both engines were measured: what garaph is simulated with is said, and not what the other one has."""
    own = WorkCost(CPU, "PageRank", PULL, UnitCost(1e-9), measured=(500.0, 5000.0), engine="garaph")
    machine = Machine(1, (own, replace(own, engine="any", measured=(1.0, 1e9))))
    work, options = workload(n=256 << 10, m=1024 << 10), how(CPU, "garaph")
    assert extrapolations(machine, work, simulate(work, machine, options), options.policy) == [
        "PageRank on the CPU, pull: 1.0 MiB of vertex data, beyond the 500 B to 4.9 KiB that were measured"
    ]
    other = Machine(1, (replace(own, engine="any"),))
    (said, _) = extrapolations(other, work, simulate(work, other, options), options.policy)
    assert said == "PageRank on the CPU, pull: not measured under garaph; it has the costs under another engine"


def test_a_mode_is_measured_if_one_of_its_two_kernels_is() -> None:
    """All pulls of a search are pull-active, except under garaph."""
    all_edges = WorkCost(CPU, "PageRank", PULL, UnitCost(1e-9), measured=(500.0, 5000.0), engine="garaph")
    machine = Machine(1, (all_edges, replace(all_edges, mode="pull-active", engine="any")))
    work = workload()
    for engine in ("auto", "garaph"):
        assert not extrapolations(machine, work, simulate(work, machine, how(CPU, engine)), how(CPU, engine).policy)


def test_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(monkeypatch, capsys)
    measured = "edge = 1e-9\nprogram = 'ConnectedComponents'\nmeasured = [10, 20]"
    (tmp_path / "machine.toml").write_text(MACHINE.replace("edge = 1e-9", measured))
    (tmp_path / "spec.toml").write_text(SPEC)
    status, out, _ = shell("simulate", tmp_path / "spec.toml", "--device", "cpu", "-q")
    assert status == 0
    assert "extrapolated: ConnectedComponents on the CPU, pull: 3.8 MiB of vertex data, beyond the 10 B" in out
    status, out, _ = shell("simulate", tmp_path / "spec.toml")
    line = next(line for line in out.splitlines() if " cpu " in line)
    assert line.endswith(" *")
    assert "* extrapolated: ConnectedComponents on the CPU, pull: " in out
    status, out, _ = shell("simulate", tmp_path / "spec.toml", "--json")
    assert all(run["extrapolated"] for run in json.loads(out)["runs"])
    (tmp_path / "machine.toml").write_text(MACHINE.replace("edge = 1e-9", "edge = 1e-9\nmeasured = [20, 10]"))
    assert "work 1: measured=[20, 10]: give [least, most]" in shell("simulate", tmp_path / "spec.toml")[2]
