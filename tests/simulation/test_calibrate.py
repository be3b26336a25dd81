"""Machines calibrated from recorded runs, and replays of recorded runs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as parquet
import pytest

import garaph_py as gp
from garaph_py.dispatch.engines import is_in_file
from garaph_py.dispatch.policy import POLICIES
from garaph_py.dispatch.rates import Speeds
from garaph_py.errors import FormatError, ParameterError
from garaph_py.executor.modes import CPU, GPU, PULL, PUSH
from garaph_py.simulation import read_machine, simulate
from garaph_py.simulation.assess import extrapolations
from garaph_py.simulation.calibrate import Sample, calibrate, cpu_costs, fitted, samples
from garaph_py.simulation.demand import Demand
from garaph_py.simulation.machine import WorkCost, doublings
from garaph_py.simulation.recorded import (
    copy_rate_of,
    fastest,
    peer_rate_of,
    read_results,
    speeds_of,
    typical,
)
from garaph_py.simulation.replay import replay
from garaph_py.simulation.traces import read_trace
from tests.support.command import garaph
from tests.support.simulated import KNOWN, LABELS, SUMS, how, recorded

from ..support.runs import run_with


@pytest.mark.full
def test_calibration_finds_the_machine_again():
    measured = [
        recorded(scale, traits, device, 0.25)
        for scale in (22, 23)
        for traits in (SUMS, LABELS)
        for device in (CPU, GPU, "hybrid")
    ]
    machine = calibrate(measured)
    assert machine.cores == 16
    pull = machine.work_of(CPU, "PageRank", PULL)
    assert pull.edge.seconds(1 << 24) == pytest.approx(1e-9 + 4 * 3e-10, rel=0.1)
    assert machine.work_of(CPU, "ConnectedComponents", PUSH).edge.base == pytest.approx(4e-9, rel=0.02)
    assert machine.link.to_device == pytest.approx(5e10, rel=0.1)
    assert machine.link.beside_cpu == pytest.approx(0.9, abs=0.05)
    assert machine.host_copy == pytest.approx(8e9, rel=0.2)
    assert machine.overhead("PageRank").page > 5e-5
    for scale in (24, 25):
        for traits in (SUMS, LABELS):
            for device in (CPU, GPU, "hybrid"):
                for share in (0.5, 0.125):
                    run = recorded(scale, traits, device, share)
                    again = simulate(run.workload, machine, run.options, run.room)
                    assert again.seconds == pytest.approx(run.seconds, rel=0.1), (scale, traits.name, device, share)


def test_the_fixed_time_of_a_pull_is_at_most_that_of_the_shortest():
    """Iterations over about as many edges do not show it, so the fit finds it from other pulls."""
    work = WorkCost(CPU, "any", PULL)
    demands = [Demand(PULL, edges, edges, 0.0, 0.0) for edges in (1_000_000, 1_000_100, 1_500_000)]
    run = recorded(10, SUMS, CPU, 1.0)
    found = [Sample(run, demand, seconds) for demand, seconds in zip(demands, (5e-3, 5e-3, 5.2e-3), strict=True)]
    assert fitted(work, found).iteration == pytest.approx(4.6e-3, rel=0.05)
    bounded = fitted(work, found, 1e-3)
    assert bounded.iteration == 1e-3
    assert bounded.edge.base == pytest.approx(12.2e-3 / 3_500_100, rel=0.1)
    wide = [*found, Sample(run, Demand(PULL, 10_000, 10_000, 0.0, 0.0), 4.6e-3)]
    assert fitted(work, wide, 1e-3).iteration > 4e-3


def test_the_prefetch_of_all_edges_is_part_of_the_cost_of_an_edge():
    found = []
    for scale in (18, 19, 20):
        edges = (1 << 22) + (scale << 18)
        demand = Demand(PULL, edges, edges, 0.0, 0.0, fetched=edges)
        found.append(Sample(recorded(scale, SUMS, CPU, 1.0), demand, edges * (1e-9 + (scale - 18) * 2e-10)))
    work = fitted(WorkCost(CPU, "any", PULL), found)
    assert work.fetched == 0
    assert work.edge.base == pytest.approx(1e-9, rel=0.01)
    assert work.edge.doubling == pytest.approx(2e-10, rel=0.01)


def test_costs_of_active_vertices_of_pushes_grow_with_the_whole_graph():
    """The graphs have equally many vertices. If they have nearly equally many edges, too, they show no growth."""
    run = recorded(18, LABELS, CPU, 1.0)

    def fitted_to(*sizes: int) -> WorkCost:
        found = []
        for number, nbytes in enumerate(sizes, 1):
            for vertices, edges in ((1_000, 9_000), (30_000, 50_000), (200_000, 900_000 * number)):
                seconds = 1e-4 + edges * 1e-9 + vertices * (2e-8 + 5e-9 * doublings(nbytes))
                demand = Demand(PUSH, edges, edges, 0.0, 0.0, vertex=vertices, graph_bytes=nbytes)
                found.append(Sample(run, demand, seconds))
        return fitted(WorkCost(CPU, "any", PUSH), found)

    work = fitted_to(4 << 20, 32 << 20)
    assert (work.vertex.base, work.vertex.doubling) == pytest.approx((2e-8, 5e-9), rel=0.01)
    alike = fitted_to(4 << 20, 5 << 20)
    assert alike.vertex.doubling == 0
    assert alike.vertex.base == pytest.approx(2e-8 + 2 * 5e-9, rel=0.1)


def test_costs_of_garaph_are_near_the_others_where_its_runs_do_not_show_them():
    every = [recorded(scale, SUMS, CPU, 1.0) for scale in (14, 15, 16)]
    options = how(CPU, "garaph")
    rows = [tuple(row | {"seconds": row["seconds"] * (1 + 0.1 * (number == 2))} for row in run.rows)
            for number, run in enumerate(every)]  # fmt: skip
    own = [replace(run, options=options, rows=each) for run, each in zip(every, rows, strict=True)]
    near, alone = (next(one for one in cpu_costs(runs) if one.engine == "garaph") for runs in ([*every, *own], own))
    assert alone.edge.base != pytest.approx(1e-9, rel=0.05)
    assert abs(near.edge.base - 1e-9) < abs(alone.edge.base - 1e-9)


def test_iterations_beside_a_gpu_have_costs_of_their_own_if_they_are_large_enough():
    alone = [recorded(scale, LABELS, CPU, 1.0) for scale in (14, 15)]
    slow = [replace(run, options=how("hybrid"), rows=tuple(
        row | {"seconds": 2 * row["seconds"]} for row in run.rows)) for run in alone]  # fmt: skip
    work = [*cpu_costs([*alone, *slow])]
    assert {one.beside_gpu for one in work} == {False, True}
    for mode in PULL, PUSH:
        demands = [sample.demand for sample in samples(alone[-1]) if sample.demand.mode == mode]
        most = max(demands, key=lambda demand: demand.edges)
        seconds = {one.beside_gpu: one.of(most, alone[-1].workload.vertex_data) for one in work if one.mode == mode}
        assert seconds[True] == pytest.approx(2 * seconds[False], rel=0.1)
    few = [replace(run, rows=run.rows[-1:], workload=replace(
        run.workload, activities=run.workload.activities[-1:])) for run in slow]  # fmt: skip
    assert few[0].rows[0]["mode"] == PUSH
    assert not any(one.beside_gpu for one in cpu_costs([*alone, *few]) if one.mode == PUSH)


def test_calibration_needs_what_it_fits():
    with pytest.raises(ParameterError, match="no iteration"):
        calibrate([])
    all_stays = recorded(18, SUMS, GPU, 2.0)
    rows = tuple(row | {"to_device": 0} for row in all_stays.rows)
    with pytest.raises(ParameterError, match="link's rate"):
        calibrate([replace(all_stays, rows=rows)])


def test_the_fastest_of_repeats_counts():
    run = recorded(16, SUMS, CPU, 1.0)
    slower = replace(run, rows=tuple(row | {"seconds": 2 * row["seconds"]} for row in run.rows))
    assert fastest([slower, run, slower]) == [run]


def test_the_median_of_each_iteration_counts():
    run = recorded(16, SUMS, CPU, 1.0)

    def times(*seconds, mode=PULL):
        rows = zip(run.rows, seconds, strict=False)
        return replace(run, rows=tuple(row | {"seconds": each, "mode": mode} for row, each in rows))

    first, other, third = times(1.0, 5.0, 2.0), times(2.0, 2.0, 2.0), times(3.0, 1.0, 9.0)
    (found,) = typical([first, third, other])
    assert [row["seconds"] for row in found.rows] == [2.0, 2.0, 2.0]
    pushing = times(7.0, 1.0, 1.0, mode=PUSH)
    (found,) = typical([first, third, pushing, other])  # the one that pushes takes 9 s, and the median run is the first
    assert [(row["seconds"], row["mode"]) for row in found.rows] == [(2.0, PULL)] * 3
    (found,) = typical([pushing, other, third, pushing, first])
    assert [(row["seconds"], row["mode"]) for row in found.rows] == [(7.0, PUSH), (1.0, PUSH), (1.0, PUSH)]
    assert len(typical([first, replace(other, graph="another")])) == 2


def gpu_trace() -> dict:
    """What a run on a GPU would have traced: two iterations, two pages of which the second is thrice as dear."""
    names = {0: "iterations", 1: "stream 0", 2: "copy to device"}
    events = [{"ph": "M", "name": "thread_name", "tid": tid, "args": {"name": name}} for tid, name in names.items()]
    for number, copied in enumerate((8000, 0)):
        at = number * 10_000
        details = {
            "f": 1.0,
            "active vertices": 100,
            "edges": 2000,
            "device": "gpu",
            "to device": copied,
            "from device": 412,
            "pages": 2,
            "skipped": 0,
        }
        events.append({"ph": "X", "tid": 0, "name": f"{number}: pull", "ts": at, "dur": 5000, "args": details})
        for page, took in enumerate((1000, 3000)):
            span = {"ph": "X", "ts": at + 1000 * page, "args": {"page": page, "edges": 1000}}
            events.append(span | {"name": "gather and apply", "tid": 1, "dur": took})
            if copied:
                events.append(span | {"name": "copy", "tid": 2, "dur": 500})
    facts = {
        "program": "PageRank", "vertices": 100, "edges": 2000, "directed": True, "engine": "auto", "mode": "auto",
        "device": "gpu", "synchronous": True, "gpu_memory": None, "threads": 4, "encoding": "raw", "value_bytes": 4,
        "edge_value_bytes": 0, "everybody": True, "relaxes": False, "priority": False, "pushes": True,
    }  # fmt: skip
    return {"traceEvents": events, "otherData": facts}


def test_recorded_costs_of_pages_are_kept(tmp_path):
    (tmp_path / "trace.json").write_text(json.dumps(gpu_trace()))
    run = read_trace(tmp_path / "trace.json")
    assert run.options.device == GPU
    assert run.copy_rate == pytest.approx(8000 / 1e-3)
    assert run.edge_seconds == pytest.approx(8e-3 / 4000)
    first, second = replace(run.workload, page_edges=1000).pages()
    assert run.workload.gpu_edges(first) == pytest.approx(500)
    assert run.workload.gpu_edges(second) == pytest.approx(1500)
    assert replay(run).simulated.seconds == pytest.approx(run.seconds, rel=0.1)


def test_a_pull_that_skips_edges_takes_as_long_again(tmp_path):
    """BFS's `done` skips the edges of vertices that have a parent; the simulation counts all edges of a pull."""
    graph = gp.rmat(12, directed=False, seed=1)
    program = gp.apps.BFS(int(graph.ids.take(np.array([graph.out_degrees.argmax()]))[0]))
    result = run_with(program, graph, device="cpu", mode="pull", trace=tmp_path / "trace.json")
    assert result.stats.iterations[-1].edges < graph.m / 2
    run = read_trace(tmp_path / "trace.json")
    assert replay(run).simulated.seconds == pytest.approx(run.seconds, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "garaph"])
def test_a_recorded_run_takes_as_long_again(tmp_path, engine):
    graph = gp.rmat(14, 16, directed=False)
    how = {"engine": engine, "device": "cpu", "sync": engine == "garaph"}  # in supersteps
    run_with(gp.apps.ConnectedComponents(), graph, **how)  # compiles
    result = run_with(gp.apps.ConnectedComponents(), graph, trace=tmp_path / "trace.json", **how)
    run = read_trace(tmp_path / "trace.json")
    assert (run.workload.vertices, run.workload.edges) == (graph.n, graph.m)
    assert [row["mode"] for row in run.rows] == [row.mode for row in result.stats.iterations]
    again = replay(run).simulated
    assert [row.mode for row in again.iterations] == [row.mode for row in result.stats.iterations]
    assert [row.edges for row in again.iterations] == [row.edges for row in result.stats.iterations]
    assert again.seconds == pytest.approx(sum(row.seconds for row in result.stats.iterations), rel=0.05)
    with pytest.raises(ParameterError, match="no GPU"):
        replay(run, device="gpu")
    for other in ("auto", "garaph"):
        again = replay(run, engine=other)
        beyond = extrapolations(again.machine, run.workload, again.simulated, again.options.policy)
        assert any("not measured under" in one for one in beyond) == (other != engine)
    assert len(replay(run, KNOWN, device="hybrid").simulated.iterations) == len(run.rows)


@pytest.mark.parametrize(("text", "known"), [
    ('{"gpus": [{"to_device": 5e10}]}', 5e10), ('{"gpus": []}', None), ('{"gpus": [{}]}', None), ("[]", None),
    (None, None),
])  # fmt: skip
def test_the_link_is_what_the_experiment_measured(tmp_path, text, known):
    if text is not None:
        (tmp_path / "machine.json").write_text(text)
    assert copy_rate_of(tmp_path / "machine.json") == known
    assert speeds_of(tmp_path / "machine.json") is None


def test_speeds_are_what_the_experiment_measured(tmp_path):
    machine = {"cpu": {"gathers": 4e9}, "gpus": [{"to_device": 5e10, "copy": 36e11}]}
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    assert speeds_of(tmp_path / "machine.json") == Speeds(4e9, 1e11, 5e10)


def test_the_rate_between_gpus_is_that_of_both_ways_at_once(tmp_path):
    path = tmp_path / "machine.json"
    assert peer_rate_of(path) is None
    for links, rate in ([], None), ([{"forth": 3e11, "back": 3e11, "both": 5e11}], 2.5e11):
        path.write_text(json.dumps({"links": links}))
        assert peer_rate_of(path) == rate


@pytest.mark.parametrize("text", ["", '{"gpus": [', "\0", "[" * 100_000])
def test_a_damaged_description_is_a_typed_error(tmp_path, text):
    (tmp_path / "machine.json").write_text(text)
    with pytest.raises(FormatError, match=r"machine\.json: does not describe a machine; restore it, or remove it"):
        copy_rate_of(tmp_path / "machine.json")


@pytest.mark.slow
def test_from_an_experiment_to_a_machine(tmp_path, monkeypatch, capsys, caplog):
    experiment = """repeats = 2
[[runs]]
program = { name = "PageRank", dtype = "float32", stop = "never" }
graph = ["rmat:10:8:symmetric", "rmat:11:8:symmetric"]
iterations = 3
[[runs]]
program = { name = "SSSP", source = 5 }
graph = ["rmat:10:8:symmetric:weights", "rmat:11:8:symmetric:weights"]
device = "cpu"
engine = ["auto", "garaph"]
"""
    (tmp_path / "spec.toml").write_text(experiment)
    folder, machine, trace = tmp_path / "measured", tmp_path / "machine.toml", tmp_path / "trace.json"
    assert garaph(monkeypatch, "experiment", tmp_path / "spec.toml", "--out", folder, "--json") == 0
    assert garaph(monkeypatch, "calibrate", folder, "--out", machine, "--json") == 0
    measured, calibrated = map(json.loads, capsys.readouterr().out.splitlines())
    assert list(measured) == ["folder", "measurements", "failed", "combinations"]
    assert (measured["measurements"], measured["failed"]) == (12, 0)
    assert all(0 < one["seconds"]["least"] <= one["seconds"]["median"] for one in measured["combinations"])
    known = read_machine(machine)
    assert list(calibrated) == ["machine", "cores", "kinds", "runs", "fit"]
    assert len(calibrated["fit"]) == calibrated["runs"] == 6
    assert all(one["fitted_seconds"] > 0 and one["held_out_seconds"] > 0 for one in calibrated["fit"])
    assert garaph(monkeypatch, "calibrate", folder, "--out", machine) == 0
    said = capsys.readouterr().out
    assert "\nfitted: off by " in said
    assert "\nheld out: off by " in said
    assert "note: fewer than three sizes of graphs" in said
    assert calibrated["kinds"] == len(known.work)
    assert {work.program for work in known.work} == {"PageRank", "SSSP", "any"}
    runs = read_results(folder)
    assert len(runs) == 12
    assert {run.workload.traits.edge_value_bytes for run in runs} == {0, 4}
    for run in typical(runs):
        again = simulate(run.workload, known, run.options)
        assert [row.mode for row in again.iterations] == [row["mode"] for row in run.rows]
    assert "left out" not in caplog.text
    table = parquet.read_table(folder / "results.parquet")
    assert table["graph_directed"].to_pylist() == [False] * 12
    encodings = table.schema.get_field_index("encoding_used"), "encoding_used", [["packed"] + ["raw"] * 11]
    parquet.write_table(table.set_column(*encodings), folder / "results.parquet")
    assert len(read_results(folder)) == 11
    assert "1 of 12 runs left out, with packed edges, components" in caplog.text
    graph = tmp_path / "graph"
    assert garaph(monkeypatch, "generate", "rmat", graph, "--scale", "10", "--undirected", "-q") == 0
    assert garaph(monkeypatch, "run", "SSSP", graph, "--source", 5, "--trace", trace, "-q", "--device", "cpu") == 0
    capsys.readouterr()
    assert garaph(monkeypatch, "simulate", "--trace", trace, "--engine", "garaph", "--machine", machine) == 0
    assert "s recorded" in capsys.readouterr().out
    assert garaph(monkeypatch, "calibrate", tmp_path, "--out", machine) == 1
    assert "no such file" in capsys.readouterr().err
    (folder / "iterations.parquet").write_bytes((folder / "results.parquet").read_bytes())
    with pytest.raises(FormatError, match="its tables are not those of an experiment of runs"):
        read_results(folder)
    (folder / "results.parquet").write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(FormatError, match=r"results\.parquet: is damaged, or is not Parquet; measure anew"):
        read_results(folder)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["program", "engine"])
def test_a_table_has_no_file_run(tmp_path, monkeypatch, capsys, kind):
    """A program or a policy in a file runs only if the user names it, whatever the experiment's tables say."""
    (tmp_path / "mine.py").write_text(
        "import pathlib\nimport garaph_py as gp\n"
        f"pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
        "class Hops(gp.apps.BFS):\n    pass\n"
        "class Pulls(gp.Policy):\n    def decide(self, seen):\n        return gp.Decision('pull', '', seen.device)\n"
    )
    name = f"{tmp_path / 'mine.py'}:{'Hops' if kind == 'program' else 'Pulls'}"
    experiment = f"""
kind = "run"
[sweep]
program = {{ name = "{name if kind == "program" else "BFS"}", source = 5 }}
engine = "{name if kind == "engine" else "auto"}"
graph = "rmat:8:8:symmetric"
device = "cpu"
"""
    (tmp_path / "spec.toml").write_text(experiment)
    folder, machine = tmp_path / "measured", tmp_path / "machine.toml"
    assert garaph(monkeypatch, "experiment", tmp_path / "spec.toml", "--out", folder, "-q") == 0
    (tmp_path / "ran").unlink()
    for known in [name for name in POLICIES if is_in_file(name)]:
        monkeypatch.delitem(POLICIES, known)  # as in a new process
    assert garaph(monkeypatch, "calibrate", folder, "--out", machine) == 1
    assert f"if you trust that file, name it, too: --{kind} {name}" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()
    assert not machine.exists()
    assert garaph(monkeypatch, "calibrate", folder, "--out", machine, f"--{kind}", name) == 0
    assert (tmp_path / "ran").exists()
