"""Resumed runs give the answers of uninterrupted ones, on any device; checkpoints of other runs are refused."""

import errno
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.checkpoint import saver
from garaph_py.checkpoint.identity import DIRECTORY, EDGES, differences
from garaph_py.dispatch.rates import Rates
from garaph_py.errors import DamagedCheckpointError, ParameterError
from garaph_py.storage.directory import read_graph
from garaph_py.system import interrupts
from tests.support.cases import mostly_full
from tests.support.checkpoint_files import Failing, Watched
from tests.support.command import garaph
from tests.support.numpy_gpu import GRAPH, HUB, Hops, Quiet, memory_for
from tests.support.programs import DataDriven
from tests.support.threads import at_work

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")


class Stop(Exception):
    pass


@pytest.fixture(scope="module")
def graph(graph_of):
    return graph_of(GRAPH)


def stopped(program, graph, directory, after, **how):
    """Run until the checkpoint of so many iterations has been made."""

    def see(event):
        if isinstance(event, events.Checkpoint) and event.iterations >= after:
            raise Stop

    with pytest.raises(Stop):
        run_with(program, graph, checkpoint=directory, checkpoint_every=1, on_event=see, **how)


def resumed(program, graph, directory, **how):
    with run_with(program, graph, checkpoint=directory, resume=True, **how) as result:
        assert directory.exists()
    assert not directory.exists()
    return result


# Answers


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("device", ["cpu", "gpu", "hybrid"])
@pytest.mark.parametrize("first", ["cpu", "gpu", "hybrid"])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize(
    "program", [pytest.param(Hops(HUB), id="total"), pytest.param(Quiet(HUB), id="quiet", marks=pytest.mark.full)]
)
def test_any_device_goes_on_where_another_was(device_for, graph, directory, monkeypatch, program, sync, first, device):
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    device_for(program, graph)
    how = {"gather": "segmented", "page_edges": 3000, "gpu_memory": memory_for(program, graph, 0.3), "sync": sync}
    expected = run_with(program, graph, device="cpu", sync=sync)
    count = len(expected.stats.iterations)
    for after in range(1, 3):
        stopped(program, graph, directory, after, device=first, **how)
        result = resumed(program, graph, directory, device=device, **how)
        assert result.stats.resumed == after
        np.testing.assert_array_equal(result.values, expected.values)
        if sync:
            assert [row.number for row in result.stats.iterations] == list(range(after, count))
            rows = zip(result.stats.iterations, expected.stats.iterations[after:], strict=True)
            assert all(row.active == other.active for row, other in rows)


PROGRAMS = {
    "PageRank": gp.apps.PageRank(), "DeltaPageRank": gp.apps.DeltaPageRank(), "SSSP": gp.apps.SSSP(HUB),
    "DataDriven": DataDriven(),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_synchronous_runs_have_the_same_bits_whenever_they_stopped(graph, directory, name):
    program, how = PROGRAMS[name], {"device": "cpu", "sync": True, "iterations": 30}
    if name == "DeltaPageRank":
        how["deterministic"] = True  # other runs push, which adds floats in no fixed order
    expected = run_with(program, graph, **how)
    count = len(expected.stats.iterations)
    for after in [*range(1, min(count, 4)), count // 2, count]:
        stopped(program, graph, directory, after, **how)
        result = resumed(program, graph, directory, **how)
        assert result.values.tobytes() == expected.values.tobytes()
        assert result.stats.converged == expected.stats.converged
        rows = zip(result.stats.iterations, expected.stats.iterations[after:], strict=True)
        assert all((row.mode, row.f, row.edges) == (other.mode, other.f, other.edges) for row, other in rows)


@pytest.mark.full
@pytest.mark.parametrize("first", ["memory", "disk"])
@pytest.mark.parametrize("second", ["memory", "disk"])
def test_edges_may_be_elsewhere_when_it_goes_on(graph, directory, tmp_path, first, second):
    program, found = gp.apps.BFS(HUB), {}
    for name in ("g", "again"):
        gp.save(graph, tmp_path / name, block_bytes=1 << 14)
        found[name, "memory"] = gp.open(tmp_path / name)
        found[name, "disk"] = read_graph(tmp_path / name, "auto", 8 << 20, None, events.ignore, on_disk=True)
    expected = run_with(program, graph, device="cpu", sync=True)
    stopped(program, found["g", first], directory, 1, device="cpu", sync=True)
    other = found["again", second]
    if (first, second) != ("memory", "memory"):  # else edges are compared, and nobody knows that they are the same
        with pytest.raises(ParameterError, match=r"another run .graph directory: not the same"):
            run_with(program, other, checkpoint=directory, resume=True, sync=True)
        other = found["g", second]
    result = resumed(program, other, directory, device="cpu", sync=True)
    assert result.stats.resumed == 1
    np.testing.assert_array_equal(result.values, expected.values)


def test_a_directory_does_not_make_other_edges_the_same():
    there = {"program": "BFS", EDGES: "a", DIRECTORY: "d"}
    assert not differences(there, there | {DIRECTORY: "e"})
    assert differences(there, there | {EDGES: "b"}) == f"{EDGES}: not the same"
    assert not differences(there, there | {EDGES: None})
    nobody = {"program": "BFS", EDGES: None, DIRECTORY: None}
    assert differences(nobody, nobody) == f"{DIRECTORY}: not the same"


@pytest.mark.full
@pytest.mark.parametrize("mode", mostly_full(["pull", "notify-pull", "push"], "push"))
def test_pending_vertices_are_saved(graph, directory, mode):
    program, how = gp.apps.SSSP(HUB), {"device": "cpu", "sync": False, "mode": mode}
    expected = run_with(program, graph, **how)
    for after in range(1, min(len(expected.stats.iterations) - 1, 8)):
        stopped(program, graph, directory, after, **how)
        result = resumed(program, graph, directory, **how)
        np.testing.assert_array_equal(result.values, expected.values)


def test_limits_count_all_iterations(graph, directory):
    program = gp.apps.PageRank(stop="never")
    stopped(program, graph, directory, 4, device="cpu")
    with pytest.raises(ParameterError, match=r"after 4 iterations, and iterations=3"):
        resumed(program, graph, directory, iterations=3, device="cpu")
    result = resumed(program, graph, directory, iterations=7, device="cpu")
    assert [row.number for row in result.stats.iterations] == [4, 5, 6]
    expected = gp.run(program, graph, iterations=7, device="cpu")
    assert result.values.tobytes() == expected.values.tobytes()


@pytest.mark.full
def test_packed_or_raw_is_the_same_graph(graph, directory):
    program = gp.apps.SSSP(HUB)
    stopped(program, graph, directory, 2, sync=True)
    result = resumed(program, graph.packed(), directory, sync=True)
    assert result.values.tobytes() == gp.run(program, graph).values.tobytes()


def test_graphs_without_vertices_or_active_ones(directory):
    empty = gp.from_edges([], [])
    assert len(resumed(gp.apps.PageRank(), empty, directory).values) == 0


# Something else


def test_a_checkpoint_of_something_else_is_refused_by_name(graph, graph_of, directory):
    stopped(gp.apps.PageRank(damping=0.8), graph, directory, 1, sync=True)
    heavier = gp.from_edges(GRAPH.sources, GRAPH.targets, weights=GRAPH.sources.astype(np.int32))
    for other, on, how, said in (
        (gp.apps.DeltaPageRank(), graph, {}, "program: PageRank there, DeltaPageRank here"),
        (gp.apps.PageRank(), graph, {}, r"damping: 0\.8 there, 0\.85 here"),
        (gp.apps.PageRank(0.8, dangling="drop"), graph, {}, "dangling: 'redistribute' there, 'drop' here"),
        (gp.apps.PageRank(0.8, dtype=np.float32), graph, {}, "type of the values: float64 there, float32 here"),
        (gp.apps.PageRank(0.8), heavier, {}, "type of the edge values: .* there, int32 here"),
        (gp.apps.PageRank(0.8), gp.rmat(4), {}, "number of vertices: 9000 there, 16 here"),
        (gp.apps.PageRank(0.8), graph, {"sync": False}, "synchronous: True there, False here"),
    ):
        with pytest.raises(ParameterError, match=f"checkpoint of another run .*{said}"):
            run_with(other, on, checkpoint=directory, resume=True, **({"sync": True} | how))
    with pytest.raises(ParameterError, match="PageRank after 1 iterations; add --resume"):
        gp.run(gp.apps.PageRank(), graph, checkpoint=directory)


@pytest.mark.full
def test_every_edge_and_value_counts(directory):
    sources, targets = np.random.default_rng(1).integers(50, size=(2, 300))
    weights = np.arange(300, dtype=np.int32)
    program = gp.apps.SSSP(int(sources[0]))
    stopped(program, gp.from_edges(sources, targets, weights=weights), directory, 1, sync=True)
    weights[7] += 1
    with pytest.raises(ParameterError, match="edges and edge values: not the same"):
        resumed(program, gp.from_edges(sources, targets, weights=weights), directory, sync=True)


@pytest.mark.slow
def test_other_functions_and_vertex_data_are_other_programs(graph, directory):
    stopped(gp.apps.NeuralNetwork(np.linspace(0, 1, graph.n)), graph, directory, 1, sync=True)
    with pytest.raises(ParameterError, match="per-vertex parameters: not the same"):
        resumed(gp.apps.NeuralNetwork(np.linspace(0, 2, graph.n)), graph, directory, sync=True)
    changed = type("NeuralNetwork", (gp.apps.NeuralNetwork,), {"apply": lambda self, acc: acc})
    with pytest.raises(ParameterError, match="the program's functions: not the same"):
        resumed(changed(np.linspace(0, 1, graph.n)), graph, directory, sync=True)


def test_what_is_asked_for_must_make_sense(graph, directory):
    for how, said in (
        ({"checkpoint_every": 5}, "checkpoint_every=5 needs checkpoint=DIR"),
        ({"resume": True}, "resume=True needs checkpoint=DIR"),
        ({"checkpoint": directory, "checkpoint_every": "often"}, "checkpoint_every='often'"),
        ({"checkpoint": directory, "checkpoint_every": 0}, "checkpoint_every=0"),
    ):
        with pytest.raises(ParameterError, match=said):
            run_with(gp.apps.PageRank(), graph, **how)
    assert not directory.exists()


def test_damage_never_becomes_an_answer(graph, directory, caplog):
    program = gp.apps.PageRank()
    stopped(program, graph, directory, 3, device="cpu")
    newest, older = (directory / name for name in ("odd.checkpoint", "even.checkpoint"))
    for path, expected in ((newest, 2), (older, None)):
        with path.open("r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"\xa5")
        if expected:
            whole = {each: each.read_bytes() for each in (newest, older)}
            assert resumed(program, graph, directory, device="cpu").stats.resumed == expected
            assert "the other checkpoint is used" in caplog.text
            directory.mkdir()
            for each, data in whole.items():
                each.write_bytes(data)
    with pytest.raises(DamagedCheckpointError, match="total does not match its checksum"):
        resumed(program, graph, directory, device="cpu")


# Faults


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(errno.EIO, marks=pytest.mark.full),
        errno.ENOSPC,
        pytest.param(errno.EINTR, marks=pytest.mark.full),
        None,
    ],
    ids=["EIO", "ENOSPC", "EINTR", "short"],
)
def test_every_call_that_fails(directory, monkeypatch, number):
    """For every k, the k-th call of a run fails: it ends in a typed error or the answer, and leaves no file."""
    graph, program = gp.rmat(6), gp.apps.PageRank()
    expected = gp.run(program, graph, device="cpu", iterations=4).values
    failing = Watched()
    monkeypatch.setattr(saver, "Files", lambda: failing)
    before, errors, k, met = open_files(), 0, 0, True
    while met:
        k, met = k + 1, False
        for after in (0, 2):
            monkeypatch.setattr(saver, "Files", Watched)
            if after:
                stopped(program, graph, directory, after, device="cpu", iterations=4)
            failing = Failing(k, number)
            monkeypatch.setattr(saver, "Files", lambda made=failing: made)
            try:
                with run_with(
                    program, graph, device="cpu", iterations=4, checkpoint=directory, checkpoint_every=1, resume=True
                ) as result:
                    np.testing.assert_array_equal(result.values, expected)
            except (ParameterError, DamagedCheckpointError):
                errors += 1
            met |= len(failing.calls) >= k
            assert open_files() == before, k
            monkeypatch.setattr(saver, "Files", Watched)
            if directory.exists():
                result = resumed(program, graph, directory, device="cpu", iterations=4)
                np.testing.assert_array_equal(result.values, expected)
    assert k > 40
    assert not errors if number is None else 4 <= errors <= 12, errors


def test_a_full_disk_leaves_the_previous_checkpoint_and_the_run_goes_on(graph, directory, monkeypatch, caplog):
    class Full(Watched):
        def meet(self, name, call, *arguments):
            if name == "write" and self.calls.count("rename") >= 2:
                raise OSError(errno.ENOSPC, "No space left on device")
            return call(*arguments)

    program, seen = gp.apps.PageRank(), []

    def see(event):
        if isinstance(event, events.Iteration) and event.number == 6:
            seen.extend(sorted(os.listdir(directory)))
            raise Stop

    monkeypatch.setattr(saver, "Files", Full)
    with pytest.raises(Stop):
        run_with(program, graph, device="cpu", checkpoint=directory, checkpoint_every=1, on_event=see)
    assert "no checkpoint after 3 iterations" in caplog.text
    assert "No space left on device" in caplog.text
    assert seen == ["even.checkpoint", "odd.checkpoint"]
    assert resumed(program, graph, directory, device="cpu").stats.resumed == 2


# Signals


@pytest.mark.parametrize("again", [False, True])
def test_an_interrupt_leaves_a_checkpoint_of_the_iteration_under_way(graph, directory, monkeypatch, again):
    """A second interrupt does not wait for the checkpoint."""
    program, made, check = gp.apps.PageRank(), [], interrupts.check

    def see(event):
        if isinstance(event, events.Checkpoint):
            made.append(event.iterations)
        elif isinstance(event, events.Iteration) and event.number == 2:
            monkeypatch.setattr(interrupts, "check", press)

    def press():
        for _ in range(1 + again):
            signal.raise_signal(signal.SIGINT)
        monkeypatch.setattr(interrupts, "check", check)
        check()

    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt) as ending:
        run_with(program, graph, device="cpu", checkpoint=directory, checkpoint_every="1h", on_event=see)
    said = f"interrupted after 4 iterations; {directory} has a checkpoint"
    assert getattr(ending.value, "__notes__", []) == ([] if again else [said])
    assert made == ([] if again else [4])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert directory.exists() != again
    assert not at_work()
    result = resumed(program, graph, directory, device="cpu")
    assert result.values.tobytes() == gp.run(program, graph, device="cpu").values.tobytes()
    assert result.stats.resumed == (0 if again else 4)


def test_termination_too_and_whoever_handles_it(graph, directory):
    def see(event):
        if isinstance(event, events.Iteration) and event.number == 1:
            signal.raise_signal(signal.SIGTERM)

    how = {"device": "cpu", "checkpoint": directory, "checkpoint_every": "1h", "on_event": see}
    with pytest.raises(SystemExit, match="143"):
        run_with(gp.apps.PageRank(), graph, **how)
    assert (directory / "odd.checkpoint").exists()
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        how["on_event"] = lambda event: signal.raise_signal(signal.SIGTERM) if not heard else None
        with run_with(gp.apps.PageRank(), graph, resume=True, **how):  # it does not mind
            pass
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]
    assert not directory.exists()


# When


# The command


@pytest.fixture
def stored(tmp_path, graph):
    gp.save(graph, tmp_path / "graph")
    return tmp_path / "graph"


def interrupted(stored, directory, number):
    """`garaph run` in a process of its own, that gets the signal `number` in its fourth iteration."""
    text = (
        "import signal, sys; from garaph_py import cli, output; show = output.Progress.__call__\n"
        "def see(self, event):\n"
        "    show(self, event)\n"
        f"    if getattr(event, 'number', 0) == 3: signal.raise_signal({int(number)})\n"
        f"output.Progress.__call__ = see; sys.argv = ['garaph', 'run', 'PageRank', {stored.name!r}, '--device', 'cpu',"
        f" '--checkpoint', {directory.name!r}]; cli.main()"
    )
    command = [sys.executable, "-c", text]
    return subprocess.run(command, cwd=stored.parent, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)])
def test_the_command_resumes_what_was_interrupted(stored, directory, monkeypatch, capsys, number):
    ended = interrupted(stored, directory, number)
    assert ended.returncode == 128 + number
    (said,) = [line for line in ended.stderr.splitlines() if "interrupted" in line or "garaph resume" in line]
    how = "; to go on: garaph resume checkpoints" * (number == signal.SIGINT)
    assert said.endswith(f"interrupted after 4 iterations; {directory} has a checkpoint{how}")
    assert garaph(monkeypatch, "run", "BFS", stored, "--source", 1, "--checkpoint", directory) == 1
    assert "PageRank after 4 iterations; add --resume" in capsys.readouterr().err
    monkeypatch.chdir("/")
    assert garaph(monkeypatch, "resume", directory, "--iterations", 6) == 0
    assert "stopped after 2 iterations" in (said := capsys.readouterr().out)
    assert "and 4 before" in said
    assert not directory.exists()


@pytest.mark.slow
def test_the_command_says_what_cannot_be_resumed(graph, directory, monkeypatch, capsys):
    assert garaph(monkeypatch, "resume", directory) == 1
    ended = "a run that has finished removes its checkpoints; to run again: garaph run ... --checkpoint"
    assert f"there is no such directory; {ended} {directory}" in capsys.readouterr().err
    directory.mkdir()
    assert garaph(monkeypatch, "resume", directory) == 1
    assert f"there is no checkpoint; {ended} {directory}" in capsys.readouterr().err
    stopped(gp.apps.PageRank(), graph, directory, 1)
    assert garaph(monkeypatch, "resume", directory) == 1
    assert "its checkpoint does not say what to run, because a script" in capsys.readouterr().err
