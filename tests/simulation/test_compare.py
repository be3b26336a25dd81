"""Programs that were not calibrated: which one they are like, what they cost, and that a simulation says so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import garaph_py as gp
from garaph_py.executor.modes import CPU, NOTIFY_PULL, PULL, PUSH
from garaph_py.program import VertexProgram
from garaph_py.simulation import Activity, Machine, compare, simulate
from garaph_py.simulation.calibrate import Sample
from garaph_py.simulation.compare import adapted, compared, measured, most_alike, started, with_costs
from garaph_py.simulation.demand import Demand
from garaph_py.simulation.machine import UnitCost, WorkCost
from garaph_py.simulation.recorded import RecordedRun
from garaph_py.simulation.workload import Traits, bind_for_types, in_order
from tests.support.cases import mostly_full
from tests.support.command import Shell
from tests.support.simulated import LABELS, how, workload

ALL = ("PageRank", "BFS", "SSSP", "ConnectedComponents")
MEASURED = (1.0, 1e9)


def machine_with(*names: str) -> Machine:
    return Machine(1, tuple(WorkCost(CPU, name, PULL, UnitCost(1e-9), measured=MEASURED) for name in names))


@pytest.mark.parametrize(("program", "like"), [
    (gp.apps.PageRank(weighted=False), "ConnectedComponents"), (gp.apps.BFS(0), "ConnectedComponents"),
    (gp.apps.SSSP(0), "ConnectedComponents"), (gp.apps.ConnectedComponents(), "SSSP"),
])  # fmt: skip
def test_which_program_is_most_alike(program: gp.VertexProgram, like: str) -> None:
    """All but PageRank are relaxations; of these, BFS ends its gathers early, and SSSP reads edge values."""
    traits = Traits.of(bind_for_types(program, True), True)
    others = machine_with("Nobody", "mine.py:Hops", "any", *(name for name in ALL if name != traits.name))
    assert type(most_alike(traits, others)).__name__ == like
    assert most_alike(traits, machine_with("Nobody", "any")) is None


OTHER = replace(LABELS, name="Other")


def truth(speed: float, factor: float) -> Machine:
    """A machine on which everything of `Other` but what is fixed takes `factor` times as long as labels do."""
    labels = [
        WorkCost(
            CPU, "ConnectedComponents", PULL, UnitCost(1e-9, 1e-10), UnitCost(4e-9), iteration=1e-7, engine=engine,
            turn=1e-8, graph=2e-9, first=1e-7,
        )
        for engine in ("any", "garaph")
    ] + [
        WorkCost(
            CPU, "ConnectedComponents", mode, UnitCost(4e-9), UnitCost(2e-8, 5e-9), iteration=1e-7, gathered=3e-9
        )
        for mode in (PUSH, NOTIFY_PULL)
    ]  # fmt: skip
    both = [
        replace(
            work, program=name, edge=UnitCost(times * work.edge.base, times * work.edge.doubling),
            vertex=UnitCost(times * work.vertex.base, times * work.vertex.doubling), turn=times * work.turn,
            graph=times * work.graph, gathered=work.gathered and times * work.gathered,
            iteration=speed * work.iteration, first=speed * work.first,
        )
        for work in labels
        for name, times in (("ConnectedComponents", speed), ("Other", speed * factor))
    ]  # fmt: skip
    return Machine(2, tuple(both))


def run_on(machine: Machine, traits: Traits, engine: str, n: int) -> RecordedRun:
    shares = [1.0, 0.5, 0.9, 0.1, 0.01]
    work = workload(traits, in_order(Activity(round(n * one), round(8 * n * one)) for one in shares), n, 8 * n)
    rows = tuple(row._asdict() for row in simulate(work, machine, how(CPU, engine)).iterations)
    return RecordedRun(f"{n}", work, how(CPU, engine), machine.cores, None, rows)


@pytest.mark.full
@pytest.mark.parametrize("engine", mostly_full(["auto", "garaph"], "auto"))
def test_costs_on_another_machine_are_found(engine: str) -> None:
    """The programs are compared on a machine that is five times slower than the one that was calibrated."""
    here, there = truth(5, 3), truth(1, 3)
    runs = [run_on(here, traits, engine, n) for traits in (LABELS, OTHER) for n in (1 << 18, 1 << 19)]
    known = Machine(2, tuple(work for work in there.work if work.program == "ConnectedComponents"))
    found = with_costs(known, "Other", "ConnectedComponents", runs)
    assert {work.like for work in found.work if work.program == "Other"} == {"ConnectedComponents"}
    assert found.work[: len(known.work)] == known.work
    expected = run_on(there, OTHER, engine, 1 << 20)
    again = simulate(expected.workload, found, expected.options)
    assert again.seconds == pytest.approx(expected.seconds, rel=0.02)
    alike = with_costs(known, "Other", "ConnectedComponents", runs[:2])  # nothing is known of the program itself
    assert [replace(work, program="ConnectedComponents", like=None) for work in alike.work] == [*known.work] * 2


def test_how_a_push_grows_with_the_graph_stays_as_calibrated() -> None:
    """Iterations that take what the known costs say change none of them, however large the graphs are."""
    known = WorkCost(CPU, "ConnectedComponents", PUSH, UnitCost(1e-9), UnitCost(2e-8, 5e-9))
    run, found = run_on(truth(1, 1), LABELS, "auto", 1 << 12), []
    for nbytes in (4 << 20, 32 << 20):
        for vertices, edges in ((1_000, 9_000), (30_000, 50_000), (200_000, 900_000)):
            demand = Demand(PUSH, edges, edges, 0.0, 0.0, vertex=vertices, graph_bytes=nbytes)
            found.append(Sample(run, demand, known.of(demand, run.workload.vertex_data)))
    vertex = adapted(known, found, 1.0).vertex
    assert (vertex.base, vertex.doubling) == pytest.approx((2e-8, 5e-9))


@pytest.mark.parametrize("call", [0.0, 1e-4])
def test_costs_that_the_other_program_does_not_have_are_found(call: float) -> None:
    """A vertex costs the program something, and the other one nothing; the costs of edges and of calls are the same."""
    known = WorkCost(CPU, "ConnectedComponents", PULL, UnitCost(1e-9), iteration=1e-7, call=call)
    there = Machine(2, (known, replace(known, program="Other", vertex=UnitCost(9e-9))))

    def run_over(traits: Traits, n: int, m: int) -> RecordedRun:
        activities = in_order(Activity(round(n * one), round(m * one)) for one in (1.0, 0.5, 0.9))
        work = workload(traits, activities, n, m)
        rows = tuple(row._asdict() for row in simulate(work, there, how(CPU)).iterations)
        return RecordedRun(f"{n} {m}", work, how(CPU), 2, None, rows)

    sizes = (1 << 14, 1 << 15), (1 << 14, 1 << 18), (1 << 12, 1 << 15)
    runs = [run_over(traits, n, m) for traits in (LABELS, OTHER) for n, m in sizes]
    found = with_costs(Machine(2, (known,)), "Other", "ConnectedComponents", runs)
    for n, m in ((1 << 15, 1 << 15), (1 << 13, 1 << 18)):  # most of the time is that of vertices, and of edges
        expected = run_over(OTHER, n, m)
        assert simulate(expected.workload, found, expected.options).seconds == pytest.approx(expected.seconds, rel=0.15)


@pytest.mark.slow
def test_what_cannot_be_compared_stays_as_it_is() -> None:
    program, traits = gp.apps.BFS(0), Traits("BFS", 4, is_relaxation=True, ends_early=True)
    by_hand = Machine(1, (WorkCost(CPU, "ConnectedComponents", PULL, UnitCost(1e-9)),))
    for machine in (by_hand, machine_with("BFS"), machine_with("Nobody")):
        assert compared(machine, program, traits, "auto") is machine
    of_a_vertex_each = gp.apps.HeatSimulation([0.0, 1.0])  # the graphs have more vertices
    heat = Traits("HeatSimulation", 8, updates_all_vertices=True)
    machine = machine_with("ConnectedComponents")
    assert compared(machine, of_a_vertex_each, heat, "auto") is machine


def test_a_search_starts_where_edges_are() -> None:
    star = gp.from_edges([7, 7, 7], [1, 2, 3])
    assert started(gp.apps.BFS(0), star) == gp.apps.BFS(7)
    assert started(gp.apps.ConnectedComponents(), star) == gp.apps.ConnectedComponents()


@pytest.mark.parametrize(("seconds", "runs"), [(compare.LONG, 2), (compare.LONG / 4, 1 + compare.REPEATS)])
def test_long_runs_are_measured_once(monkeypatch: pytest.MonkeyPatch, seconds: float, runs: int) -> None:
    """After a first run, which may compile."""
    made: list[VertexProgram] = []

    def recorded(program: VertexProgram, graph: gp.Graph, name: str, engine: str) -> RecordedRun:
        made.append(program)
        traits = LABELS if len(made) % 2 else OTHER
        return RecordedRun(name, workload(traits), how(CPU, engine), 1, None, ({"seconds": seconds},))

    monkeypatch.setattr(compare, "recorded_here", recorded)
    monkeypatch.setattr(compare, "RANDOM", ((gp.rmat, 4, 2),))
    monkeypatch.setattr(compare, "OTHERS", ())
    programs = gp.apps.ConnectedComponents(), gp.apps.BFS(0)
    found = measured(programs, "auto", False)
    assert [run.workload.traits.name for run in found] == ["ConnectedComponents", "Other"]
    assert len(made) == 2 * runs


SPEC = """machine = "machine.toml"
[graphs.small]
vertices = 40_000
edges = 400_000
[[runs]]
graph = "small"
program = { name = "BFS", source = 0 }
active = [0.1]
iterations = 1
"""


@pytest.mark.slow
def test_the_command_compares_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(monkeypatch, capsys)
    monkeypatch.setattr(compare, "RANDOM", compare.RANDOM[1:4])
    monkeypatch.setattr(compare, "OTHERS", compare.OTHERS[-1:])
    work = (
        "[[work]]\nprocessor = 'cpu'\nprogram = 'ConnectedComponents'\nmode = '{}'\nedge = 1e-6\nmeasured = [1, 1e9]\n"
    )
    (tmp_path / "machine.toml").write_text("cores = 1\n" + "".join(map(work.format, (PULL, "pull-active", PUSH))))
    (tmp_path / "spec.toml").write_text(SPEC)
    status, out, _ = shell("simulate", tmp_path / "spec.toml", "--json")
    assert status == 0
    (run,) = json.loads(out)["runs"]
    said = "not measured; it has the costs of ConnectedComponents, adapted to a comparison here"
    assert run["extrapolated"] == [f"BFS on the CPU, pull: {said}"]
    assert run["seconds"] > 0
