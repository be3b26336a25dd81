"""The command ``garaph``, as a person uses it: answers on standard output, one line on standard error when it fails."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import garaph_py as gp
from garaph_py.cli import run, show
from garaph_py.events import Iteration
from garaph_py.executor.gpu import device
from garaph_py.output.history import History
from garaph_py.output.stats import Stats
from garaph_py.storage import directory as store
from garaph_py.storage import write
from tests.support.command import Shell
from tests.support.stored_graphs import as_version_1

EDGES = "# who pays whom\na\tb\nb\tc\nc\ta\nd\ta\n"
PROGRAM = '''
import garaph_py as gp
import numpy as np

class Reach(gp.VertexProgram):
    """How many walks of k steps end here."""
    weight: float = 1.0
    value = np.float64
    sum = gp.add
    def init(self): return float(1)
    def gather(self, src): return src
    def apply(self, acc): return self.weight * acc
'''


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.tsv"
    path.write_text(EDGES)
    return path


@pytest.fixture
def garaph(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


def test_run_prints_names_modes_and_time(garaph: Shell, edges: Path) -> None:
    status, out, _ = garaph("run", "pagerank", edges, "--top", 2)
    assert status == 0
    assert "PageRank on 4 vertices, 4 directed edges" in out
    assert "pull" in out
    assert "converged after" in out
    top = out.split("top 2:")[1].split()
    assert top[::2] == ["a", "b"]


def test_a_source_without_out_edges_is_told(garaph: Shell, tmp_path: Path) -> None:
    (tmp_path / "edges.tsv").write_text("a\tb\na\tc\nc\tb\n")
    told = "note: source b has no out-edges, so it reaches no other vertex; a has the most out-edges"
    assert told in garaph("run", "BFS", tmp_path / "edges.tsv", "--source", "b")[1]
    assert "note:" not in garaph("run", "BFS", tmp_path / "edges.tsv", "--source", "c")[1]
    assert "note:" not in garaph("run", "PageRank", tmp_path / "edges.tsv")[1]


def test_json_is_whole_and_equal_to_the_api(garaph: Shell, edges: Path) -> None:
    status, out, _ = garaph("run", "PageRank", edges, "--json", "-p", "damping=0.5", "--iterations", 3)
    answer = json.loads(out)
    result = gp.run(gp.apps.PageRank(damping=0.5), gp.read(edges), iterations=3)
    assert status == 0
    assert answer["top"] == [list(pair) for pair in result.top(10)]
    assert [row["mode"] for row in answer["iterations"]] == [row.mode for row in result.stats.iterations]
    assert answer["graph"] == {"vertices": 4, "edges": 4, "stored_edges": 4, "directed": True}


@pytest.mark.parametrize("suffix", ["parquet", "csv", "npy"])
def test_output_files(garaph: Shell, edges: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"levels.{suffix}"
    status, out, _ = garaph("run", "BFS", edges, "--source", "d", "--verify", "--output", target)
    assert status == 0
    assert "verified" in out
    if suffix == "parquet":
        assert pq.read_table(target).to_pydict() == {
            "id": ["a", "b", "c", "d"], "level": [1, 2, 3, 0], "parent": ["d", "a", "b", "d"],
        }  # fmt: skip
    elif suffix == "csv":
        assert target.read_text().splitlines()[1].replace('"', "") == "a,1,d"
    else:
        assert np.load(target)["level"].tolist() == [1, 2, 3, 0]


@pytest.mark.full
def test_a_program_from_a_file(garaph: Shell, edges: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PROGRAM)
    status, out, _ = garaph(
        "run", f"{tmp_path}/mine.py:Reach", edges, "--iterations", 1, "-p", "weight=0.5", "--top", 1, "-q"
    )
    assert status == 0
    assert out.splitlines()[-1].split() == ["a", "1"]
    status, _, err = garaph("run", f"{tmp_path}/mine.py:Reach", edges, "--verify")
    assert (status, err) == (1, "error: Reach has no verifier; run it without verify=True (--verify)\n")


def test_import_info_verify_run(garaph: Shell, edges: Path, tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    assert garaph("import", edges, folder)[0] == 0
    status, out, _ = garaph("info", folder)
    assert status == 0
    assert "4 directed" in out
    assert garaph("verify", folder)[:2] == (0, f"{folder}: whole\n")
    direct = json.loads(garaph("run", "PageRank", edges, "--json")[1])
    stored = json.loads(garaph("run", "PageRank", folder, "--json")[1])
    assert direct["top"] == stored["top"]
    (block,) = folder.glob("in_sources*data*") if list(folder.glob("in_sources*data*")) else [folder / "in_sources"]
    data = bytearray(block.read_bytes())
    data[5] ^= 1
    block.write_bytes(data)
    status, out, _ = garaph("verify", folder)
    assert status == 1
    assert "in_sources" in out
    status, _, err = garaph("run", "PageRank", folder)
    assert status == 1
    assert err.startswith("error: ")
    assert "in_sources" in err


@pytest.mark.slow
def test_generate_and_components_of_a_directed_graph(garaph: Shell, tmp_path: Path) -> None:
    assert garaph("generate", "rmat", tmp_path / "g", "--scale", 6, "--weights", "1:9")[0] == 0
    status, _, err = garaph("run", "ConnectedComponents", tmp_path / "g")
    assert status == 1
    assert "--symmetrize" in err
    status, out, _ = garaph("run", "ConnectedComponents", tmp_path / "g", "--symmetrize", "--verify")
    assert status == 0
    assert "verified" in out


def test_apps_lists_every_program(garaph: Shell) -> None:
    from garaph_py import apps

    status, out, _ = garaph("apps")
    assert status == 0
    assert all(name in out for name in apps.__all__)
    assert "damping=0.85" in out


@pytest.mark.parametrize("command", ["run", "apps", "devices", "import", "generate", "info", "verify", "experiment"])
def test_help_shows_an_example(garaph: Shell, command: str) -> None:
    status, out, _ = garaph(command, "--help")
    assert status == 0
    assert f"garaph {command}" in out.split("Example")[1]
    assert "list[" not in out  # a type of Python


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["run", "PageRnk", "EDGES"], "did you mean PageRank?"),
        (["run", "Nothing", "EDGES"], "the library has BFS, "),
        (["run", "PageRank", "missing.tsv"], "missing.tsv"),
        (["run", "BFS", "EDGES"], "needs its parameter 'source'"),
        (["run", "BFS", "EDGES", "--source", "zz"], "vertex 'zz' is not in the graph"),
        (["run", "PageRank", "EDGES", "-p", "dampng=1"], "no parameter 'dampng'; did you mean damping?"),
        (["run", "PageRank", "EDGES", "-p", "damping=x"], "damping='x' is not a value of type float; write a number"),
        (["run", "PageRank", "EDGES", "-p", "weighted=ja"], "is not a value of type bool; write true or false"),
        (["run", "PageRank", "EDGES", "-p", "damping=7"], "damping=7.0"),
        (["run", "PageRank", "EDGES", "-p", "damping"], "write NAME=VALUE"),
        (["run", "EDGES", "PageRank"], "is not a program; the program comes first: garaph run PageRank "),
        (["run", "EDGES", "my.py:Mine"], "is not a program; the program comes first: garaph run my.py:Mine "),
        (["run", "BFS", "EDGES", "--source", "a", "-p", "source=b"], "--source a and -p source=b both set source"),
        (["run", "BFS", "EDGES", "-p", "source=a", "-p", "source=b"], "-p source=a and -p source=b both set source"),
        (["run", "PageRank", "EDGES", "--mode", "push"], "mode='push'"),
        (["run", "PageRank", "EDGES", "--engine", "warp"], "engine='warp'"),
        (["run", "PageRank", "EDGES", "--threads", "0"], "threads=0"),
        (["run", "PageRank", "EDGES", "--device", "tpu"], "device='tpu'"),
        (["run", "PageRank", "EDGES", "--gpu-memory", "much"], "gpu_memory='much'"),
        (["run", "PageRank", "EDGES", "--gpu-memory", "0"], "gpu_memory='0'"),
        (["run", "PageRank", "EDGES", "--memory", "64"], "memory='64' has no unit; write 64MiB"),
        (["run", "PageRank", "EDGES", "--streams", "0"], "streams=0"),
        (["run", "PageRank", "EDGES", "--gather", "scattered"], "gather='scattered'"),
        (["run", "PageRank", "EDGES", "--replication", "3"], "replication='3'"),
        (["run", "PageRank", "EDGES", "--deterministic", "--gather", "replicated"], "gather='segmented'"),
        (["run", "PageRank", "EDGES", "--deterministic", "--async"], "deterministic=True"),
        (["run", "PageRank", "EDGES", "--output", "x.txt"], "must end in .parquet"),
        (["run", "PageRank", "EDGES", "--output", "no/such/x.csv"], "there is no directory"),
        (
            ["run", "PageRank", "EDGES", "--output", "s3://no/x.csv"],
            "s3://no/x.csv: nothing can be written at URLs",
        ),
        (["info", "s3://no/x"], "s3://no/x: no graph directory can be opened here"),
        (["run", "nothing.py:X", "EDGES"], "no such Python file"),
        (["info", "nowhere"], "nowhere"),
        (["generate", "torus", "out", "--scale", "3"], "no generator 'torus'"),
        (["generate", "rmat", "out", "--scale", "3", "--weights", "1-9"], "write LOW:HIGH"),
    ],
)
def test_mistakes_end_in_one_line(garaph: Shell, edges: Path, arguments: list[str], problem: str) -> None:
    status, out, err = garaph(*[edges if a == "EDGES" else a for a in arguments])
    assert status == 1
    assert err.count("\n") == 1
    assert err.startswith("error: ")
    assert problem in err
    assert out == ""


def test_a_run_on_the_cpu_by_request(garaph: Shell, edges: Path) -> None:
    chosen = ["--device", "cpu", "--gpu-memory", "6GiB", "--streams", 2, "--gather", "segmented", "--replication", 8]
    chosen += ["--gpu-order", "given"]
    status, out, err = garaph("run", "PageRank", edges, *chosen, "--deterministic")
    assert status == 0
    assert "s on cpu, " in out
    assert "bytes/edge" not in out
    assert "GPU" not in err
    answer = json.loads(garaph("run", "PageRank", edges, *chosen, "--json")[1])
    assert (answer["device"], answer["note"]) == ("cpu", None)
    assert {(row["device"], row["to_device"], row["from_device"]) for row in answer["iterations"]} == {("cpu", 0, 0)}


def test_a_missing_gpu_is_said_before_anything_is_read(garaph: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_found", {})
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    for there, said in ((True, "a package is missing"), (False, "no NVIDIA driver")):
        monkeypatch.setattr(device, "has_driver", lambda there=there: there)
        status, out, err = garaph("run", "PageRank", "missing.tsv", "--device", "gpu")
        assert (status, out) == (1, "")
        assert err.startswith(f"error: {said}")
        assert ("pip install 'garaph_py[gpu]', which needs the CUDA toolkit" in err) == there
        assert err.count("\n") == 1


@pytest.mark.full
def test_why_no_gpu_was_used_is_said_once(edges: Path) -> None:
    script = """
import sys
sys.modules["pycuda.driver"] = None
from garaph_py.cli import main
from garaph_py.executor.gpu import device
from tests.support.verdicts import verdict
from garaph_py.runtime import plan
device.has_driver = lambda: True
plan.reckon = lambda *_: verdict(True)
main()
"""
    command = [sys.executable, "-c", script, "run", "PageRank", str(edges)]
    subprocess.run(command, check=True, capture_output=True)  # compiles
    text = subprocess.run(command, check=True, capture_output=True, text=True)
    assert text.stderr.startswith("garaph_py: no GPU used: a package is missing")
    assert text.stderr.count("\n") == 1
    assert "no GPU used" not in text.stdout
    assert "\ndevice: because the test says so\n" in text.stdout
    quoted = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True)
    document = json.loads(quoted.stdout)
    assert document["note"].startswith("no GPU used: ")
    assert document["why"] == "because the test says so"


def test_a_run_on_a_gpu_shows_what_went_over_its_link(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        Iteration(0, "pull", 1.0, 9, 1000, 1, 0, 0.1, "gpu", 4000, 500),
        Iteration(1, "notify-pull", 0.1, 9, 0, 0, 1, 0.1, "gpu", 0, 0),
        Iteration(2, "pull", 1.0, 9, 1000, 1, 0, 0.1, "cpu"),
    ]
    stats = Stats(History(rows), True, 0.3, 2, "cpu", "NVIDIA X failed")
    show.iterations(stats)
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.endswith("  device  bytes/edge")
    assert [line.split()[-2:] for line in lines] == [["gpu", "4.50"], ["gpu", "-"], ["cpu", "0"]]
    assert {len(line) for line in lines} == {len(heading)}
    ending = "converged after 3 iterations in 300 ms on cpu, 2 threads; 3.9 KiB to the GPU and 500 B back, 4.50 bytes "
    assert show.ending(stats) == ending + "an edge"
    kept = replace(stats, device_bytes=3 << 20, found_bytes=1 << 20)
    there = "; 3.0 MiB of the graph in the GPU's memory, 1.0 MiB found there"
    assert show.ending(kept) == show.ending(stats) + there


def test_defaults_are_those_of_the_api() -> None:
    ours = inspect.signature(run.run).parameters
    theirs = inspect.signature(gp.run).parameters | inspect.signature(gp.Options).parameters
    names = ("engine", "mode", "sync", "device", "gpu_memory", "streams", "gather", "replication", "gpu_order")
    names += ("deterministic",)
    assert {name: ours[name].default for name in names} == {name: theirs[name].default for name in names}


def test_a_broken_program_file_names_its_line(garaph: Shell, edges: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\ny = x / 0\n")
    status, _, err = garaph("run", f"{tmp_path}/broken.py:P", edges)
    assert status == 1
    assert "broken.py, line 2: ZeroDivisionError" in err


@pytest.mark.slow
def test_ctrl_c_ends_cleanly(tmp_path: Path) -> None:
    garaph = "import sys; from garaph_py.cli import main; main()"
    small = ["generate", "uniform", str(tmp_path / "small"), "--scale", "4", "-q"]
    subprocess.run([sys.executable, "-c", garaph, *small], check=True)  # compiles: the interrupt is to meet the work
    shutil.rmtree(tmp_path / "small")
    command = ["garaph", "generate", "uniform", str(tmp_path / "graph"), "--scale", "24", "--edge-factor", "64", "-q"]
    script = f"import sys; from garaph_py.cli import main; sys.argv = {command}; print('ready', flush=True); main()"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"interrupted; nothing was written\n"
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


WHILE_LOADING = """
import signal, sys
from garaph_py.cli import main
class Ending:
    def __del__(self): signal.raise_signal(signal.SIGINT)  # an exception raised here would be ignored
class Slow:
    def find_spec(self, name, *_):
        if name == 'typer': Ending()
sys.meta_path.insert(0, Slow())
sys.argv = ["garaph", "apps"]
"""


def test_ctrl_c_while_the_commands_are_loaded() -> None:
    ended = subprocess.run([sys.executable, "-c", f"{WHILE_LOADING}main()"], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"interrupted; nothing was written\n")


@pytest.mark.slow
def test_an_ignored_ctrl_c_stays_ignored() -> None:
    script = f"{WHILE_LOADING}signal.signal(signal.SIGINT, signal.SIG_IGN); main()"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"SSSP" in ended.stdout


def test_a_command_imports_hardly_anything_before_it_handles_ctrl_c() -> None:
    script = "import os, sys; before = set(sys.modules); import garaph_py.cli; print(*sorted({*sys.modules} - before))"
    command = [sys.executable, "-S", "-c", script]  # -S: packages may have other modules imported at the start
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert ended.stdout.split() == ["__future__", "garaph_py", "garaph_py.cli"]


def test_ctrl_c_when_the_graph_is_there(garaph: Shell, tmp_path: Path) -> None:
    from garaph_py.io.bulk import import_

    def interrupted(path: Path) -> None:
        raise KeyboardInterrupt

    garaph.monkeypatch.setattr(import_.store, "info", interrupted)  # which is asked last
    status, _, err = garaph("generate", "uniform", tmp_path / "graph", "--scale", 4)
    assert (status, err) == (130, f"interrupted after {tmp_path / 'graph'} was written; the graph is complete\n")
    assert garaph("verify", tmp_path / "graph")[0] == 0


def test_a_second_ctrl_c_leaves_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def remove(directory: Path, *, ignore_errors: bool, remove=shutil.rmtree) -> None:
        signal.raise_signal(signal.SIGINT)
        remove(directory, ignore_errors=ignore_errors)

    monkeypatch.setattr(write.shutil, "rmtree", remove)
    with pytest.raises(KeyboardInterrupt), write.creating(tmp_path / "graph"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_verify_upgrades_a_whole_graph(garaph: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    gp.save(gp.rmat(6), folder)
    as_version_1(folder)
    assert garaph("verify", folder, "--upgrade")[:2] == (0, f"{folder}: whole\n")
    assert store.info(folder).version == 3
    as_version_1(folder)
    (folder / "in_sources.data").write_bytes(b"damaged")
    assert garaph("verify", folder, "--upgrade")[0] == 1
    assert store.info(folder).version == 1


def test_verify_counts_problems(garaph: Shell, tmp_path: Path) -> None:
    garaph("generate", "uniform", tmp_path / "graph", "--scale", 4)
    for count, name in enumerate(("in_offsets", "out_offsets"), 1):
        data = bytearray((tmp_path / "graph" / f"{name}.data").read_bytes())
        data[0] ^= 1
        (tmp_path / "graph" / f"{name}.data").write_bytes(data)
        status, out, _ = garaph("verify", tmp_path / "graph")
        assert (status, out.splitlines()[-1]) == (1, f"{tmp_path / 'graph'}: {count} problem{'s' * (count > 1)}")


@pytest.mark.slow
def test_a_closed_pipe_ends_the_command_quietly(edges: Path) -> None:
    script = "import sys; from garaph_py.cli import main; sys.argv = ['garaph', 'run', 'PageRank', sys.argv[1]]; main()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(edges)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_encodings_and_memory(garaph: Shell, edges: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from garaph_py.errors import GraphError
    from garaph_py.io.load import LoadOptions, load
    from garaph_py.storage import directory as store

    made = {name: tmp_path / name for name in ("imported", "generated", "converted", "back")}
    assert garaph("import", edges, made["imported"], "--encoding", "packed")[0] == 0
    assert garaph("generate", "rmat", made["generated"], "--scale", 12, "--encoding", "packed")[0] == 0
    assert garaph("convert", made["generated"], made["converted"], "--encoding", "raw")[0] == 0
    assert garaph("convert", made["converted"], made["back"], "--encoding", "packed")[0] == 0
    for name, path in made.items():
        encoding = store.info(path).arrays["in_sources"].encoding[0]
        assert encoding == ("raw" if name == "converted" else "packed")
    assert " packed " in garaph("info", made["back"])[1]
    gp.write(store.open(made["back"]), tmp_path / "g.npz")
    for path in (made["back"], made["converted"], tmp_path / "g.npz"):
        for memory, encoding in (("1GiB", "raw"), ("500kB", "packed")):
            graph = load(path, LoadOptions(memory=memory), 1)
            assert graph.encoding == encoding, path
        assert f"{path}: its arrays take" in caplog.text
        with pytest.raises(GraphError, match="its packed arrays take"):
            load(path, LoadOptions(memory="1kB"), 1)
        caplog.clear()
        with pytest.raises(GraphError, match="its raw arrays take"):
            load(path, LoadOptions(memory="500kB", encoding="raw"), 1)
        assert load(path, LoadOptions(memory="500kB", encoding="packed"), 1).encoding == "packed"
        assert not caplog.records
        run = ["run", "pagerank", path, "--iterations", 1, "--json", "--memory"]
        assert json.loads(garaph(*run, "1GiB", "--encoding", "packed")[1])["encoding"] == "packed"
        status, _, err = garaph(*run, "500kB", "--encoding", "raw")
        assert (status, "its raw arrays take" in err) == (1, True)


@pytest.mark.parametrize("command", [["import", "EDGES"], ["generate", "rmat"], ["convert", "EDGES"]])
def test_an_unknown_encoding_is_found_first(garaph: Shell, tmp_path: Path, command: list[str]) -> None:
    status, _, err = garaph(*command, tmp_path / "g", "--encoding", "zip", *["--scale", "9"] * ("rmat" in command))
    assert (status, err) == (1, "error: encoding='zip': choose from auto, raw, packed\n")


def test_encodings_are_for_directories(garaph: Shell, edges: Path, tmp_path: Path) -> None:
    status, _, err = garaph("convert", edges, tmp_path / "g.mtx", "--encoding", "packed")
    assert status == 1
    assert "--encoding is only for these" in err


def test_trace_and_report_are_written(garaph: Shell, edges: Path, tmp_path: Path) -> None:
    trace, report = tmp_path / "trace.json", tmp_path / "report.html"
    status, out, _ = garaph("run", "PageRank", edges, "--trace", trace, "--report", report, "--top", 1)
    assert status == 0
    assert f"wrote a trace to {trace}" in out
    assert f"wrote a report to {report}" in out
    assert json.loads(trace.read_text())["traceEvents"]
    assert report.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("option", ["--trace", "--report", "--output"])
def test_what_cannot_be_written_fails_before_the_graph_is_read(
    garaph: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str
) -> None:
    status, _, err = garaph("run", "PageRank", "no-such-graph", option, "/no/such/folder/file.csv")
    assert status == 1
    assert err == f"error: {option} /no/such/folder/file.csv: there is no directory /no/such/folder; make it first\n"

    def denied(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", denied)
    status, _, err = garaph("run", "PageRank", "no-such-graph", option, tmp_path / "file.csv")
    assert status == 1
    assert "file.csv: Permission denied; choose another place" in err


def test_a_directory_keeps_to_little_memory_by_the_command(garaph: Shell, tmp_path: Path) -> None:
    assert garaph("generate", "rmat", tmp_path / "g", "--scale", 15, "--encoding", "raw")[0] == 0
    vertices = 2 * 8 * ((1 << 15) + 1)  # offsets both ways; blocks on disk take a little more
    for more, words in ((64, "edges that it reads at a time"), (1 << 19, "import them once more with --symmetrize")):
        symmetrize = ["--symmetrize"] * (more > 64)
        status, _, err = garaph("run", "PageRank", tmp_path / "g", "--memory", vertices + more, *symmetrize)
        assert status == 1
        assert words in err


@pytest.mark.slow
def test_the_package_runs_as_a_module():
    ended = subprocess.run([sys.executable, "-m", "garaph_py", "apps"], capture_output=True, text=True, check=True)
    assert "PageRank" in ended.stdout
