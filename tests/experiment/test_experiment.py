"""``garaph experiment``: what a spec may say, what is measured in which order, and what is written."""

from __future__ import annotations

import errno
import importlib.util
import inspect
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import garaph_py as gp
from garaph_py import experiment
from garaph_py.errors import FormatError, ParameterError
from garaph_py.experiment import kinds, measure
from garaph_py.experiment.kinds import ITERATIONS
from garaph_py.experiment.spec import COUNTED, RESULTS
from garaph_py.runtime.options import DEVICES
from tests.support.command import garaph
from tests.support.experiments import MACHINE, SWEEP, interrupt_at, table

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
PLOTS = """
[[plots]]
name = "bars"
kind = "bar"
x = "graph"
y = "seconds"
by = ["program", "replication"]
log = "y"
[[plots]]
table = "iterations"
x = "iteration"
y = "f"
by = "program"
panels = "graph"
"""
PROGRAM = """
import garaph_py as gp
import numpy as np

class Reach(gp.VertexProgram):
    weight: float
    value = np.float64
    sum = gp.add
    def init(self): return float(1)
    def gather(self, src): return src
    def apply(self, acc): return self.weight * acc
"""


def test_the_product_of_a_sweep(spec_of: Any) -> None:
    spec = spec_of(SWEEP)
    settings = [combination.settings for combination in spec.combinations]
    assert len(settings) == 8
    assert [row["program"] for row in settings] == ["PageRank"] * 4 + ["BFS"] * 4
    assert {(row["graph"], row["replication"], row["parameters"]) for row in settings if row["program"] == "BFS"} == {
        (graph, replication, "source=1")
        for graph in ("rmat:6:4", "uniform:6:4:symmetric:weights")
        for replication in ("custom", 2)
    }
    assert all(row["streams"] == gp.Options().streams for row in settings)


@pytest.mark.parametrize("fresh", [True, False])
def test_a_fresh_measurement_finds_nothing_that_others_kept(
    spec_of: Any, tmp_path: Path, no_machine: None, monkeypatch: pytest.MonkeyPatch, fresh: bool
) -> None:
    released: list[gp.Graph] = []
    monkeypatch.setattr(gp.Graph, "release", lambda graph: released.append(graph))
    spec = spec_of(f"fresh = {str(fresh).lower()}\n{SWEEP}".replace("repeats = 2", "repeats = 1\nwarmups = 0"))
    experiment.run(spec, tmp_path / "out")
    assert len(set(map(id, released))) == (6 if fresh else 0)  # the last of each graph's four are not looked at again


def test_runs_share_the_sweep_and_override_it(spec_of: Any) -> None:
    spec = spec_of(
        """
        [sweep]
        graph = "rmat:6:4"
        mode = ["pull", "notify-pull"]
        [[runs]]
        program = "PageRank"
        iterations = [1, 2]
        [[runs]]
        program = "ConnectedComponents"
        graph = "rmat:6:4:symmetric"
        mode = "auto"
        """
    )
    settings = [combination.settings for combination in spec.combinations]
    assert [(row["program"][0], row["mode"], row["iterations"]) for row in settings] == [
        ("P", "pull", 1), ("P", "pull", 2), ("P", "notify-pull", 1), ("P", "notify-pull", 2), ("C", "auto", None),
    ]  # fmt: skip


def test_no_runs_are_those_of_the_sweep(spec_of: Any) -> None:
    assert len(spec_of("runs = []\n" + SWEEP).combinations) == 8


def test_rounds_are_interleaved_and_shuffled(spec_of: Any) -> None:
    spec = spec_of(SWEEP.replace("repeats = 2", "repeats = 5\nwarmups = 2"))
    steps = list(measure.order(spec))
    assert steps == list(measure.order(spec))
    rounds = [steps[k : k + 4] for k in range(0, len(steps), 4)]
    assert [those[0][0] for those in rounds] == [-2, -1, 0, 1, 2, 3, 4] * 2
    for those in rounds:
        assert len({repeat for repeat, _ in those}) == 1
        assert len({combination.graph for _, combination in those}) == 1
        assert len({combination.number for _, combination in those}) == 4
    assert len({tuple(combination.number for _, combination in those) for those in rounds[:7]}) > 1


def test_everything_that_run_takes_can_be_set() -> None:
    parameters = {*inspect.signature(gp.run).parameters, *inspect.signature(gp.Options).parameters}
    assert {"program", "graph", *kinds.OF_RUN, *kinds.REFUSED} == parameters - {
        "options",
        "on_event",
        "unknown",
        "cluster",
    }
    assert not kinds.OF_RUN.keys() & kinds.REFUSED.keys()
    assert set(kinds.CHOICES) <= {*kinds.OF_RUN, *kinds.OF_READ}
    assert kinds.OF_RUN["device"].choices is DEVICES
    assert set(kinds.OF_RUN["gpu_memory"].types) == {int, str}


def test_no_two_columns_have_one_name() -> None:
    for kind in kinds.KINDS.values():
        names = [*COUNTED, *kind.parameters]
        for measured in (kind.columns, kind.part_columns):
            assert len({*names, *measured}) == len(names) + len(measured)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sweep = [", "is not TOML"),
        ("", "nothing to run"),
        ("repeat = 3\n" + SWEEP, "there is no 'repeat'; choose from kind, repeats,"),
        (SWEEP.replace("repeats = 2", "repeats = 0"), "repeats=0: give a whole number, 1 or more"),
        (SWEEP.replace("repeats = 2", "warmups = true"), "warmups=True"),
        (SWEEP.replace("repeats = 2", "kind = 'walk'"), "kind='walk': choose from run, import"),
        ("sweep = 3", "sweep=3: give a table"),
        ("runs = 3", "runs=3: give a list of tables"),
        ("runs = [3]", "runs=3: write [[runs]]"),
        (SWEEP + "devise = 'cpu'", "sweep: there is no 'devise'; choose from program, graph, engine, mode"),
        (SWEEP + "device = []", "sweep: device is an empty list"),
        (SWEEP + "device = ['cpu', 'tpu']", "sweep: device='tpu': choose from auto, cpu"),
        (SWEEP + "threads = '2'", "sweep: threads='2': give a whole number"),
        (SWEEP + "streams = true", "sweep: streams=True: give a whole number"),
        (SWEEP + "sync = 1", "sweep: sync=1: give true or false"),
        (SWEEP + "gpu_memory = 1.5", "gpu_memory=1.5: give a whole number or a string"),
        (SWEEP + "[[runs]]\nmode = 'pul'", "runs 1: mode='pul': choose from auto, pull"),
        ("[sweep]\nprogram = 'BFS'", "sweep: graph is missing"),
        ("[sweep]\ngraph = 'rmat:6:4'\n[[runs]]\nthreads = 1", "runs 1: program is missing"),
        (SWEEP.replace("PageRank", "PageRnk"), "program='PageRnk': there is no program 'PageRnk'"),
        (SWEEP.replace("PageRank", "no.py:It"), "no such Python file"),
        (SWEEP.replace("PageRank", 300 * "n" + ":It"), "no such Python file"),
        (SWEEP.replace("rmat:6:4", 300 * "n"), "there is no "),
        (SWEEP.replace("source = 1", "sauce = 1"), "BFS has no parameter 'sauce'"),
        (SWEEP.replace(", source = 1", ""), 'write program = { name = "BFS", source = ... }'),
        (SWEEP.replace('name = "BFS", ', ""), "write its name"),
        (SWEEP.replace("rmat:6:4", "graph.tsv"), "'graph.tsv': there is no "),
        (SWEEP.replace("rmat:6:4", "rmat:6"), "'rmat:6': write a file"),
        (SWEEP.replace("rmat:6:4", "rmat:6:4:directed"), "'rmat:6:4:directed': write a file"),
        (SWEEP.replace("rmat:6:4", "rmat:60:4"), "scale=60"),
        (SWEEP.replace("rmat:6:4", "rmat:6:4:weights=3"), "'rmat:6:4:weights=3': write a file"),
        (SWEEP.replace("rmat:6:4", "rmat:6:4:weights=9..3"), "'rmat:6:4:weights=9..3': highest weight=3: give a"),
        (SWEEP.replace("rmat:6:4", "rmat:6:4:weights:weights=1..3"), "has weights twice; leave one out"),
        (SWEEP.replace("source = 1", "source = 'random:0'"), "program='BFS': source='random:0': write"),
        (SWEEP.replace("source = 1", "source = 'random:many'"), "program='BFS': source='random:many': write"),
        (SWEEP + "report = 'x.html'", "sweep: report: each measurement would write it anew; leave it out, and run one"),
        (SWEEP + "[[runs]]\ntrace = 'x.json'", "runs 1: trace: each measurement would write it anew; leave it out"),
        (SWEEP + "checkpoint = 'x'", "sweep: checkpoint: writing checkpoints would be measured, too"),
        (SWEEP + "resume = true", "leave it out; `garaph experiment --resume` continues an experiment"),
        ("plots = 3\n" + SWEEP, "plots=3: give a list of tables"),
        ("plots = [3]\n" + SWEEP, "plots 1: write [[plots]]"),
        (SWEEP + "[[plots]]\nx = 'graph'\nz = 1", "plots 1: there is no 'z'"),
        (SWEEP + "[[plots]]\nx = 'graph'", "plots 1: y=None: choose from measurement,"),
        (SWEEP + "[[plots]]\nx = 'graph'\ny = 'f'", "plots 1: y='f'"),
        (SWEEP + "[[plots]]\nx = 'graph'\ny = 'seconds'\nby = ['x']", "plots 1: by='x'"),
        (SWEEP + "[[plots]]\nx = 'graph'\ny = 'seconds'\nkind = 'pie'", "kind='pie': choose from line, bar"),
        (SWEEP + "[[plots]]\nx = 'graph'\ny = 'seconds'\nname = '../x'", "name='../x': give the name of a file"),
        (SWEEP + "[[plots]]\nx = ['graph']\ny = 'seconds'", "plots 1: x=['graph']"),
        (SWEEP + 2 * "[[plots]]\nx = 'graph'\ny = 'seconds'\nname = 'p'\n", "two have the same name"),
        ("kind = 'import'\n[sweep]\ngraph = '.'", "is imported already"),
        ("kind = 'import'\n[sweep]\nprogram = 'BFS'", "sweep: there is no 'program'; choose from graph, directed"),
    ],
)  # fmt: skip
def test_a_wrong_spec_is_one_error_that_names_the_key(spec_of: Any, tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises((ParameterError, FormatError)) as caught:
        spec_of(text)
    assert str(caught.value).startswith(f"{tmp_path}/spec.toml: ")
    assert problem in str(caught.value)
    assert "\n" not in problem
    with pytest.raises(FormatError, match="no such file"):
        experiment.read(tmp_path / "other.toml")


@pytest.mark.full
def test_end_to_end(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    out, spec = tmp_path / "out", spec_of(SWEEP + PLOTS)
    heard: list[Any] = []
    rows = experiment.run(spec, out, on_event=heard.append)
    results, iterations = table(out, RESULTS), table(out, ITERATIONS)
    assert results == rows
    assert {(row["combination"], row["repeat"]) for row in results} == {(c, r) for c in range(8) for r in range(2)}
    assert [row["measurement"] for row in results] == list(range(16))
    assert list(results[0]) == list(spec.columns[RESULTS])
    assert list(iterations[0]) == list(spec.columns[ITERATIONS])
    for row in results:
        own = [one for one in iterations if (one["combination"], one["repeat"]) == (row["combination"], row["repeat"])]
        assert row["error"] is None
        assert row["device_used"] == "cpu"
        assert row["iterations_done"] == len(own) <= 3
        assert [one["iteration"] for one in own] == list(range(len(own)))
        assert row["edges"] == sum(one["edges"] for one in own)
        assert 0 < row["seconds"] <= row["total_seconds"]
        assert row["graph_edges"] == (256 if row["graph"] == "rmat:6:4" else row["graph_edges"])
    assert {row["replication"] for row in results} == {"custom", "2"}
    assert (out / "spec.toml").read_text() == SWEEP + PLOTS
    assert json.loads((out / "machine.json").read_text()) == MACHINE
    assert (heard[-1].done, heard[-1].total, heard[-1].unit) == (24, 24, "measurements")
    assert {path.name for path in out.iterdir()} - {"bars.png", "bars.svg", "plot2.png", "plot2.svg"} == {
        "results.parquet", "iterations.parquet", "spec.toml", "machine.json",
    }  # fmt: skip
    with pytest.raises(ParameterError, match="is there already"):
        experiment.run(spec, out)


@pytest.mark.skipif(not HAS_MATPLOTLIB, reason="no matplotlib; pip install 'garaph_py[plots]'")
def test_plots(spec_of: Any, no_machine: None, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    nothing = "[[plots]]\nname = 'none'\nx = 'note'\ny = 'seconds'\n"
    experiment.run(spec_of(SWEEP.replace("repeats = 2", "repeats = 1") + PLOTS + nothing), tmp_path / "out")
    for name in ("bars", "plot2"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "out" / "none.png").exists()
    assert "plot none: nothing to draw" in caplog.text


def test_without_matplotlib_the_rest_is_there(
    spec_of: Any, no_machine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert len(experiment.run(spec_of(SWEEP + PLOTS), tmp_path / "out")) == 16
    assert "pip install 'garaph_py[plots]'" in caplog.text
    assert not list((tmp_path / "out").glob("*.png"))


def test_an_unusable_device_becomes_a_row(spec_of: Any, no_machine: None, no_gpu: None, tmp_path: Path) -> None:
    experiment.run(spec_of(SWEEP + "device = ['cpu', 'gpu']"), tmp_path / "out")
    errors = {(row["device"], row["error"]) for row in table(tmp_path / "out", RESULTS)}
    assert errors == {("cpu", None), ("gpu", "no GPU here; buy one")}
    assert {row["device"] for row in table(tmp_path / "out", ITERATIONS)} == {"cpu"}


def test_contradicting_settings_become_a_row(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    (tmp_path / "broken.tsv").write_text("1 2\n3\n")
    spec = spec_of("warmups = 0\n[sweep]\nprogram = 'PageRank'\ngraph = ['broken.tsv', 'rmat:4:2']\nmode = 'push'")
    errors = {row["graph"]: row["error"] for row in experiment.run(spec, tmp_path / "out")}
    assert "broken.tsv" in errors["broken.tsv"]
    assert "cannot push" in errors["rmat:4:2"]
    assert table(tmp_path / "out", ITERATIONS) == []


def test_combinations_do_not_share_derived_arrays(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    spec = spec_of("[sweep]\nprogram='PageRank'\ngraph='rmat:6:4'\niterations=2\nmode=['auto', 'pull-tiled', 'pull']")
    experiment.run(spec, tmp_path / "out")
    modes = {(row["mode"], row["mode_used"]) for row in table(tmp_path / "out", ITERATIONS)}
    assert modes == {("auto", "pull"), ("pull-tiled", "pull-tiled"), ("pull", "pull")}


@pytest.mark.full
def test_programs_of_ones_own_and_graphs_beside_the_spec(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PROGRAM)
    (tmp_path / "edges.tsv").write_text("1\t2\n2\t3\n")
    gp.save(gp.read(tmp_path / "edges.tsv"), tmp_path / "stored")
    spec = spec_of(
        "[sweep]\nprogram={ name = 'mine.py:Reach', weight = 0.5 }\ngraph=['edges.tsv', 'stored:symmetric']\n"
        "iterations=2"
    )
    rows = experiment.run(spec, tmp_path / "out")
    assert {(row["graph"], row["graph_edges"], row["error"]) for row in rows} == {
        ("edges.tsv", 2, None), ("stored:symmetric", 4, None),
    }  # fmt: skip


def test_imports(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    (tmp_path / "edges.tsv").write_text("1\t2\n2\t3\n")
    spec = spec_of(
        "kind='import'\nrepeats=1\n[sweep]\ngraph=['edges.tsv:symmetric', 'rmat:6:4']\nencoding=['raw', 'packed']\n"
        "order='degree'"
    )
    rows = experiment.run(spec, tmp_path / "out")
    assert {(row["graph"], row["encoding"], row["encoding_used"], row["graph_edges"]) for row in rows} == {
        ("edges.tsv:symmetric", "raw", "raw", 4), ("edges.tsv:symmetric", "packed", "packed", 4),
        ("rmat:6:4", "raw", "raw", 256), ("rmat:6:4", "packed", "packed", 256),
    }  # fmt: skip
    assert all(row["read_seconds"] + row["write_seconds"] == pytest.approx(row["seconds"]) for row in rows)
    assert all(row["stored_bytes"] > 0 for row in rows)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "results.parquet", "iterations.parquet", "spec.toml", "machine.json",
    }  # fmt: skip


def test_a_new_experiment_survives_a_loss_of_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(measure, "make_names_durable", synced.append)
    measure.make_folder(tmp_path / "new" / "out")
    assert synced == [tmp_path / "new", tmp_path]


def test_a_temporary_directory_that_stays_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cleanup(self: Any) -> None:
        self._finalizer.detach()
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(tempfile.TemporaryDirectory, "cleanup", cleanup)
    with measure.place_in(tmp_path) as place:
        assert place.is_dir()
    with pytest.raises(OSError, match="mine"), measure.place_in(tmp_path):
        raise OSError("mine")
    monkeypatch.undo()
    measure.sweep(tmp_path)
    assert not list(tmp_path.iterdir())


def test_faults_while_it_prepares_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **named: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(tempfile, "mkdtemp", fail)
    with pytest.raises(ParameterError, match="Input/output error; choose a place"), measure.place_in(tmp_path):
        pass
    monkeypatch.setattr(Path, "read_bytes", fail)
    with pytest.raises(FormatError, match=r"cannot be read \(Input/output error\)"):
        experiment.read(tmp_path / "spec.toml")


def test_the_command(
    tmp_path: Path, no_machine: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(SWEEP + "mode = ['pull', 'push']")
    assert garaph(monkeypatch, "experiment", "tiny.toml") == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == "tiny: 32 measurements, 8 of them failed"
    assert len(lines) == 13  # of twelve combinations, and why the four others failed
    first = "program=PageRank graph=rmat:6:4 mode=pull replication=custom: "
    assert any(line.startswith(first) and "s (" in line for line in lines)
    assert lines[-1].startswith("failed: program=PageRank mode=push: ")
    assert "PageRank cannot push" in lines[-1]
    assert garaph(monkeypatch, "experiment", "tiny.toml") == 1
    assert capsys.readouterr().err.startswith("error: tiny: is there already; ")
    assert garaph(monkeypatch, "experiment", "tiny.toml", "--resume", "-q") == 0
    assert capsys.readouterr().out.splitlines() == [*lines, "tiny: 32 measurements, 0 of them new, 8 of them failed"]
    interrupt_at(monkeypatch, 1)
    assert garaph(monkeypatch, "experiment", "tiny.toml", "--out", "other") == 130
    assert capsys.readouterr().err == (
        "interrupted after 0 of 32 measurements, which are in other; continue with --resume\n"
    )


def test_the_machine_is_described(spec_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from garaph_py.executor.cpu import measure as memory_speed
    from garaph_py.system import machine

    monkeypatch.setattr(memory_speed.read_bandwidth, "__defaults__", (1 << 20,))
    monkeypatch.setattr(memory_speed.gather_rate, "__defaults__", (1 << 20, 1 << 16))
    monkeypatch.setattr(machine, "FILE_BYTES", 2 * machine.CHUNK)
    experiment.run(spec_of("[sweep]\nprogram='PageRank'\ngraph='rmat:4:2'"), tmp_path / "out")
    found = json.loads((tmp_path / "out" / "machine.json").read_text())
    assert found["cpu"]["cores"] >= 1
    assert found["disks"][0]["path"] == str(tmp_path / "out")
    assert bool(found["gpus"]) != bool(found["no_gpu"])
    assert found["versions"]["garaph_py"] == gp.__version__
