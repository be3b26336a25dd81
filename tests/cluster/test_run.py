import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest

import garaph_py as gp
import garaph_py.cluster
from garaph_py import events
from garaph_py.cluster.arrangement import GraphParts
from garaph_py.cluster.local import run_parts
from garaph_py.cluster.part_run import PartRun
from garaph_py.errors import DeviceError, FormatError, ParameterError, ProgramError
from garaph_py.output.recording import read_recording
from garaph_py.runtime.machine import Machine
from garaph_py.runtime.options import RunOptions
from garaph_py.simulation.traces import read_trace
from tests.support.cases import mostly_full
from tests.support.command import garaph
from tests.support.stored_graphs import opened

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow  # the quick tests do without Dask


class Halves(gp.VertexProgram):
    """A program of a user, in a file that no worker can import."""

    start: gp.VertexId
    weight: gp.PerVertex = 1.0

    value = np.float64
    sum = gp.add

    def init(self, id, n):
        return float(1) if id == self.start else float(1) / n

    def gather(self, src, src_id):
        return src / 2 if src_id % 2 else src

    def apply(self, acc, weight, in_degree):
        return acc * weight / (in_degree + 1)


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process of its own with one thread."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def graph():
    return gp.rmat(10, 16, seed=3)


@pytest.mark.parametrize("name", mostly_full(["BFS", "PageRank", "SSSP", "ConnectedComponents"], "BFS", "PageRank"))
def test_a_cluster_has_the_answers_of_one_machine(client, graph, name):
    program = getattr(gp.apps, name)(**({"source": 5} if name in ("BFS", "SSSP") else {}))
    graph = graph.symmetrized() if name == "ConnectedComponents" else graph
    alone = gp.run(program, graph, options=gp.Options(sync=True))
    result = gp.run(program, graph, cluster=client, verify=True)
    np.testing.assert_array_equal(result.values, alone.values)
    assert result.stats.converged
    assert result.program == name
    assert result.top(3) == alone.top(3)


def test_the_next_run_over_a_graph_finds_it_in_the_workers(client, monkeypatch):
    graph, program, sent = gp.rmat(11, seed=3), gp.apps.BFS(source=5), []
    arrays = GraphParts.arrays
    monkeypatch.setattr(GraphParts, "arrays", lambda parts, part: sent.append(part) or arrays(parts, part))
    values = [gp.run(program, graph, cluster=client).values for _ in range(2)]
    assert sorted(sent) == [0, 1]
    graph.release()
    values.append(gp.run(program, graph, cluster=client).values)
    assert sorted(sent) == [0, 0, 1, 1]
    for found in values:
        np.testing.assert_array_equal(found, gp.run(program, graph).values)


@pytest.mark.full
def test_a_user_s_class_goes_as_source(client):
    graph = gp.from_edges(["a", "b", "c", "a", "d"], ["b", "c", "d", "c", "a"])
    program = Halves(start="c", weight={"b": 3.0})
    result = gp.run(program, graph, cluster=client, iterations=5)
    np.testing.assert_array_equal(result.values, gp.run(program, graph, iterations=5).values)
    assert not result.stats.converged
    assert len(result.stats.iterations) == 5


def test_iterations_are_heard_and_recorded_and_say_what_was_sent(client, graph, tmp_path):
    heard, trace, page = [], tmp_path / "trace.json", tmp_path / "report.html"
    result = gp.run(
        gp.apps.PageRank(), graph, cluster=client, iterations=4, on_event=heard.append, report=page,
        options=gp.Options(trace=trace),
    )  # fmt: skip
    assert [one for one in heard if isinstance(one, events.Iteration)] == result.stats.iterations
    assert [one.number for one in result.stats.iterations] == [0, 1, 2, 3]
    assert all(one.sent > 0 and one.edges == graph.m for one in result.stats.iterations)
    assert "MiB sent" in str(result.stats)
    assert result.stats.threads == 2
    recorded = read_recording(trace)
    assert [one.sent for one in recorded.stats.iterations] == [one.sent for one in result.stats.iterations]
    assert Counter(span.track for span in recorded.spans) == {"part 0": 4, "part 1": 4}
    assert {span.name for span in recorded.spans} == set(client.scheduler_info()["workers"])
    gp.run(gp.apps.PageRank(), graph, iterations=4, options=gp.Options(trace=tmp_path / "alone.json"))
    assert recorded.totals == read_recording(tmp_path / "alone.json").totals
    assert ">part 1 (" in page.read_text()
    assert "<dt>Workers</dt><dd>2</dd>" in page.read_text()
    with pytest.raises(FormatError, match="its run was on a cluster"):
        read_trace(trace)


def test_the_command(client, graph, monkeypatch, capsys, tmp_path):
    gp.save(graph, tmp_path / "graph")
    address = client.scheduler.address
    asked = "run", "BFS", tmp_path / "graph", "--source", 5, "--cluster", address, "--json", "--quiet"
    assert garaph(monkeypatch, *asked) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["iterations"][0]["sent"] > 0
    assert garaph(monkeypatch, *asked, "--explain") == 1
    assert "--explain is about a run on this machine; leave --cluster out" in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize("is_divided", [False, pytest.param(True, marks=pytest.mark.full)], ids=["graph", "partition"])
def test_a_killed_client_resumes(client, graph, monkeypatch, tmp_path, is_divided):
    """The command is killed (SIGKILL) once it has a checkpoint, and resumed on the cluster and on this machine; a
    partition on the cluster only."""
    gp.save(graph, tmp_path / "graph")
    if is_divided:
        assert garaph(monkeypatch, "partition", tmp_path / "graph", tmp_path / "parts", "--parts", 3, "--quiet") == 0
    kept, address, over = tmp_path / "kept", client.scheduler.address, tmp_path / ("parts" if is_divided else "graph")
    asked = ["run", "PageRank", over, "--iterations", 600, "-p", "stop=never", "--quiet"]
    more = ["--cluster", address, "--checkpoint", kept, "--checkpoint-every", 1]
    with subprocess.Popen([sys.executable, "-m", "garaph_py", *map(str, asked + more)]) as killed:
        while killed.poll() is None and not list(kept.glob("*.checkpoint")):
            time.sleep(0.01)
        killed.kill()
    assert killed.returncode == -signal.SIGKILL
    shutil.copytree(kept, tmp_path / "copy")
    assert garaph(monkeypatch, "resume", kept, "--output", tmp_path / "cluster.npy", "--cluster", address) == 0
    expected = gp.run(gp.apps.PageRank(stop="never"), graph, iterations=600).values
    np.testing.assert_array_equal(np.load(tmp_path / "cluster.npy"), expected)
    assert not kept.exists()
    if not is_divided:
        assert garaph(monkeypatch, "resume", tmp_path / "copy", "--output", tmp_path / "alone.npy") == 0
        np.testing.assert_array_equal(np.load(tmp_path / "alone.npy"), expected)


def runs_left(client):
    """How many runs the workers have."""
    return sum(client.run(lambda dask_worker: len(getattr(dask_worker, "garaph_py_runs", ()))).values())


class Endless(Halves):
    """A run of it has no end of its own."""

    total = float

    def aggregate(self, new):
        return new

    def converged(self, total, n):
        time.sleep(0.01)
        return False


@pytest.mark.parametrize("by_address", [False, True])
def test_an_interrupt_ends_the_run(client, graph, by_address):
    heard = []

    def interrupt(event):
        heard.append(event)
        raise KeyboardInterrupt

    cluster = client.scheduler.address if by_address else client
    with pytest.raises(KeyboardInterrupt):
        gp.run(Endless(start=5), graph, cluster=cluster, iterations=10**6, on_event=interrupt)
    assert runs_left(client) == 0
    assert len(heard) == 1


ENDLESS = """
import garaph_py as gp
from tests.cluster.test_run import Endless
gp.run(Endless(start=5), gp.rmat(10, 16, seed=3), cluster={address!r}, iterations=10**6, on_event=lambda event: print())
"""


@pytest.mark.full
def test_a_killed_client_leaves_no_memory_taken(client, graph):
    """The next run gets it. `test_runs` shows that workers need no next run for that."""
    script = ENDLESS.format(address=client.scheduler.address)
    with subprocess.Popen([sys.executable, "-uc", script], stdout=subprocess.PIPE) as process:
        process.stdout.readline()  # the first iteration is done
        assert runs_left(client) == 2
        process.kill()
    program = gp.apps.BFS(source=5)
    np.testing.assert_array_equal(gp.run(program, graph, cluster=client).values, gp.run(program, graph).values)
    assert runs_left(client) == 0


def test_an_address_does_as_well(client, graph):
    result = gp.run(gp.apps.BFS(source=5), graph, cluster=client.scheduler.address)
    np.testing.assert_array_equal(result.values, gp.run(gp.apps.BFS(source=5), graph).values)


@pytest.mark.parametrize("kind", [ValueError, PermissionError])
def test_what_a_worker_raises_comes_here(client, graph, kind):
    class Fails(Endless):
        def converged(self, total, n):
            raise kind("no answer today")

    with pytest.raises(ProgramError, match=rf"Fails\.converged \(.*\): {kind.__name__}: no answer today"):
        gp.run(Fails(start=5), graph, cluster=client)
    assert runs_left(client) == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"threads": 2}, "threads=2 cannot be used with cluster: each worker uses the threads"),
        ({"debug": True}, "debug=True cannot be used with cluster"),
        ({"options": gp.Options(check="finite")}, "check='finite' cannot be used with cluster: workers look"),
        ({"device": "gpu", "options": gp.Options(deterministic=True)}, "another one on a GPU; use device='cpu'"),
        ({"options": gp.Options(sync=False)}, "sync=False"),
        ({"options": gp.Options(mode="notify-pull", deterministic=True)}, "sums depend on their order"),
        (
            {"options": gp.Options(encoding="packed")},
            "encoding='packed' cannot be used",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(graph, options, named):
    with pytest.raises(ParameterError, match=named):
        gp.run(gp.apps.PageRank(), graph, cluster="tcp://127.0.0.1:1", **options)


@pytest.mark.parametrize(
    ("cluster", "problem"),
    [(3, "cluster=3: give a distributed.Client"), ("local:none", "write local:N"), ("local:0", "write local:N")],
)
def test_what_is_no_cluster_is_refused(graph, cluster, problem):
    with pytest.raises(ParameterError, match=problem):
        gp.run(gp.apps.PageRank(), graph, cluster=cluster)


def test_without_dask(graph, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "garaph_py.cluster.dask", raising=False)
    monkeypatch.delattr(garaph_py.cluster, "dask", raising=False)
    with pytest.raises(ParameterError, match=r"cluster= needs Dask: .*pip install 'garaph_py\[dask\]'"):
        gp.run(gp.apps.PageRank(), graph, cluster="local:2")


def test_nothing_else_imports_dask():
    script = (
        "import sys, garaph_py as gp; from garaph_py import cli; from garaph_py.cli import commands; "
        "gp.run(gp.apps.BFS(source=0), gp.from_edges([0], [1]), debug=True); "
        "assert not {'dask', 'distributed'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


class SlowRank(gp.apps.PageRank):
    def converged(self, total, n):
        time.sleep(0.1)
        return super().converged(total, n)


class Slow:
    """Takes 0.2 s more for a superstep."""

    total = int

    def aggregate(self, new):
        return 0

    def converged(self, total, n):
        time.sleep(0.2)
        return False


class SlowPaths(Slow, gp.apps.SSSP):
    pass


class SlowComponents(Slow, gp.apps.ConnectedComponents):
    pass


@pytest.mark.full
@pytest.mark.parametrize(
    "program", [SlowPaths(source=5), SlowRank(), SlowComponents()], ids=lambda program: type(program).__name__
)
def test_a_killed_worker_changes_no_answer(graph, program):
    """A worker is killed once the first iteration is heard of, in each run another one. Nannies start new ones."""
    graph = graph.symmetrized() if isinstance(program, SlowComponents) else graph
    alone = gp.run(program, graph, options=gp.Options(sync=True), iterations=10)
    run_parts(program, graph, 3, RunOptions(iterations=1, sync=True))  # compiles what the workers would all compile
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        for pid in list(client.run(os.getpid).values())[:2]:
            victim = [pid]

            def kill(event, victim=victim):
                if isinstance(event, events.Iteration) and victim:
                    os.kill(victim.pop(), signal.SIGKILL)

            result = gp.run(program, graph, cluster=client, on_event=kill, iterations=10)
            np.testing.assert_array_equal(result.values, alone.values)
            assert "during the run, 1 worker went" in result.stats.note
            assert len(result.stats.iterations) == len(alone.stats.iterations)


def slow_down(dask_worker=None):
    """On a worker: take 2 microseconds more for each edge."""
    step = PartRun.step

    def slowly(self, totals, tell):
        time.sleep(2e-6 * self.part.graph.m)
        return step(self, totals, tell)

    PartRun.step = slowly


@pytest.mark.full
def test_a_slow_worker_gets_less(tmp_path, monkeypatch):
    program, graph, trace = gp.apps.PageRank(stop="never"), gp.rmat(12, 16, seed=3), tmp_path / "trace.json"
    heard = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        gp.run(program, graph, cluster=client, iterations=1)
        slow = max(client.scheduler_info()["workers"])
        client.run(slow_down, workers=[slow])
        result = gp.run(
            program, graph, cluster=client, iterations=80, on_event=heard.append, options=gp.Options(trace=trace)
        )
        assert runs_left(client) == 0
        with monkeypatch.context() as changed:  # the next run begins as this one has ended
            changed.delattr(GraphParts, "arrays")
            again = gp.run(program, graph, cluster=client, iterations=3)
        assert again.stats.note is None
    alone = gp.run(program, graph, iterations=80, options=gp.Options(sync=True))
    np.testing.assert_array_equal(result.values, alone.values)
    seconds = [one.seconds for one in result.stats.iterations]
    assert len(seconds) == len(alone.stats.iterations)
    assert np.median(seconds[-5:]) < 0.6 * np.median(seconds[:5])
    assert "parts moved " in result.stats.note
    assert f"{slow} was slow" in result.stats.note
    assert [one for one in heard if isinstance(one, events.Step) and one.name == "moving parts"]
    (pause, *_) = [span for span in read_recording(trace).spans if span.track == "pauses"]
    assert pause.name == f"parts move: {slow} is slow"


def test_workers_read_their_parts_of_a_graph_on_disk(client, tmp_path):
    gp.save(gp.rmat(10, 16), tmp_path / "g")
    graph = opened(tmp_path / "g", 18 << 20)
    result = gp.run(gp.apps.BFS(5), graph, cluster=client, verify=True)
    np.testing.assert_array_equal(result.values, gp.run(gp.apps.BFS(5), gp.rmat(10, 16)).values)


def test_packed_edges_are_raw_in_the_workers(client, graph):
    result = gp.run(gp.apps.BFS(5), graph.packed(), cluster=client)
    assert result.stats.encoding == "raw"
    np.testing.assert_array_equal(result.values, gp.run(gp.apps.BFS(5), graph).values)


def test_a_closed_client_is_refused(client):
    with distributed.Client(client.scheduler.address, set_as_default=False) as closed:
        pass
    with pytest.raises(ParameterError, match="cluster=: the client is closed"):
        gp.run(gp.apps.BFS(0), gp.from_edges([0], [1]), cluster=closed)


def test_a_worker_without_a_gpu_says_so(client, graph):
    if any(client.run(find_gpu).values()):
        pytest.skip("this machine has a GPU")
    with pytest.raises(DeviceError, match=r"the worker tcp://\S+ cannot use a GPU: .*device='cpu'"):
        gp.run(gp.apps.BFS(5), graph, cluster=client, device="gpu")


def find_gpu():
    """On a worker: whether it can use a GPU."""
    return Machine.here().has_gpu()


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["gpu", "hybrid", "auto"])
def test_workers_share_a_gpu(client, device):
    graph, options = gp.rmat(17, 16, seed=3), gp.Options(gpu_memory="256MiB")
    for program in gp.apps.BFS(5), gp.apps.PageRank(stop="never"):
        alone = gp.run(program, graph, device="cpu", iterations=6, options=gp.Options(sync=True))
        result = gp.run(program, graph, cluster=client, device=device, iterations=6, options=options)
        if result.values.dtype.names:
            np.testing.assert_array_equal(result.values, alone.values)
        else:
            np.testing.assert_allclose(result.values, alone.values, rtol=1e-9)
        used = {one.device for one in result.stats.iterations}
        assert used & {"gpu", "both"} or device != "gpu"


@pytest.mark.full
@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl to make a certificate with")
def test_an_encrypted_cluster(graph, monkeypatch, capsys, tmp_path):
    """A client with a certificate has the answer; a command without one is told what is missing."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate]
    subprocess.run([*made, "-subj", "/CN=localhost"], check=True, capture_output=True)
    files = {"cert": str(certificate), "key": str(key)}
    roles = {f"tls_{role}_{kind}": files[kind] for role in ("client", "worker", "scheduler") for kind in files}
    security = distributed.Security(tls_ca_file=files["cert"], require_encryption=True, **roles)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, protocol="tls://", security=security, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, security=security, set_as_default=False) as client,
    ):
        address = client.scheduler.address
        found = gp.run(gp.apps.BFS(source=5), graph, cluster=client).values
        gp.save(graph, tmp_path / "graph")
        assert garaph(monkeypatch, "run", "PageRank", tmp_path / "graph", "--cluster", address) == 1
    np.testing.assert_array_equal(found, gp.run(gp.apps.BFS(source=5), graph).values)
    assert address.startswith("tls://")
    assert f"Dask has no certificate here, but {address} needs one" in capsys.readouterr().err
