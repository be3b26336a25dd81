"""A plan says before a run what the run then does."""

import json
import re

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import GraphError, ParameterError
from garaph_py.runtime import explain
from garaph_py.runtime.machine import Machine
from garaph_py.runtime.options import RunOptions
from garaph_py.runtime.past import Past, Took
from garaph_py.runtime.reckoning import OnDevice
from garaph_py.runtime.several import Gpus
from garaph_py.storage import directory as store
from garaph_py.system.sizes import parse_bytes
from tests.support import command
from tests.support.numpy_gpu import Quiet
from tests.support.stored_graphs import STORED, hub, opened, stored_cases
from tests.support.verdicts import verdict

pytestmark = pytest.mark.usefixtures("read_like_large_graphs")


@pytest.fixture(scope="module", params=stored_cases((False, "raw")))
def stored(request, tmp_path_factory):
    """A graph on disk, whose directory has values."""
    directed, encoding = request.param
    path = tmp_path_factory.mktemp("stored") / "graph"
    graph = gp.rmat(16, 8, directed=directed, weights=(1, 255))
    store.save(graph, path, encoding=encoding, block_bytes=1 << 15)
    return opened(path, int((1.1 if directed else 0.8) * store.info(path).arrays["in_sources"].stored_bytes))


PAGES = gp.Options(page_edges=20_000)


def programs(graph):
    yield gp.apps.PageRank(stop="never", weighted=False), 4
    yield gp.apps.SSSP(hub(graph)), None
    yield gp.apps.BFS(hub(graph)), None
    if not graph.directed:
        yield gp.apps.ConnectedComponents(), None


@pytest.mark.slow
def test_no_iteration_reads_more_than_planned(stored):
    for program, iterations in programs(stored):
        how = {"iterations": iterations, "device": "cpu", "options": PAGES}
        plan = gp.plan(program, stored, **how)
        read = [row.from_disk for row in gp.run(program, stored, **how).stats.iterations]
        assert max(read) <= plan.first_read
        for one, before in zip(read[1:], np.cumsum(read), strict=False):
            assert before < plan.first_read or one <= plan.later_read


@pytest.mark.full
@pytest.mark.parametrize("case", STORED)
def test_no_iteration_of_any_mode_reads_more_than_planned(case, tmp_path):
    """With a fourth and an eighth of the edges' bytes, and with so little memory that there is one frame."""
    directed, encoding = case
    graph = gp.rmat(11, 16, directed=directed, weights=(1, 255))
    store.save(graph, tmp_path / "g", encoding=encoding, block_bytes=1 << 13)
    arrays, source = store.info(tmp_path / "g").arrays, hub(graph)
    nbytes = arrays["in_sources"].stored_bytes + arrays["in_values"].stored_bytes
    there = opened(tmp_path / "g", 0)
    ways = [("auto", None), ("auto", True), ("pull", True), ("notify-pull", True), ("push", None)]
    for program in [gp.apps.BFS(source), gp.apps.SSSP(source), gp.apps.PageRank(weighted=False)]:
        can_push = not isinstance(program, gp.apps.PageRank)
        for mode, sync in ways if can_push else ways[:-1]:
            how = {"device": "cpu", "options": gp.Options(mode=mode, sync=sync)}
            least = least_memory(program, there, **how)
            for memory in (least, least + nbytes // 8, least + nbytes // 4):
                check_reads(program, there._replace(memory=memory), how)


@pytest.mark.slow
@pytest.mark.parametrize("case", STORED)
def test_no_iteration_with_a_gpu_reads_more_than_planned(case, tmp_path, device_for):
    """On a simulated GPU, which keeps few edges or a quarter of them, and whose pages are small."""
    directed, encoding = case
    graph = gp.rmat(13, 16, directed=directed)
    store.save(graph, tmp_path / "g", encoding=encoding, block_bytes=1 << 14)
    nbytes = store.info(tmp_path / "g").arrays["in_sources"].stored_bytes
    program, there = Quiet(hub(graph)), opened(tmp_path / "g", 0)
    device_for(program, there)
    for mode, beside in ("auto", 0), ("auto", nbytes // 4), ("notify-pull", 0):
        options = gp.Options(mode=mode, sync=True, gpu_memory=100 * graph.n + beside)
        how = {"device": "hybrid", "options": options}
        least = least_memory(program, there, **how)
        for memory in (least + nbytes // 16, least + nbytes // 8):  # a page of a GPU may be larger than the least one
            rows = check_reads(program, there._replace(memory=memory), how)
            assert mode != "auto" or "gpu" in {row.device for row in rows}


def check_reads(program, graph, how):
    """No iteration reads more than the plan says for its mode; return the iterations."""
    graph.release()
    plan = gp.plan(program, graph, **how)
    most, is_loaded = {row.mode: row for row in plan.reads}, False
    rows = gp.run(program, graph, **how).stats.iterations
    for row in rows:
        assert row.from_disk <= (most[row.mode].later_bytes if is_loaded else most[row.mode].first_bytes)
        is_loaded |= row.mode == "pull" and not row.pages_skipped  # then each page has been read as a whole
    return rows


def test_a_pass_over_all_edges_reads_as_much_as_planned(stored):
    how = {"iterations": 4, "device": "cpu", "options": PAGES}
    program = gp.apps.PageRank(stop="never", weighted=False)
    plan = gp.plan(program, stored, **how)
    first, *later = [row.from_disk for row in gp.run(program, stored, **how).stats.iterations]
    assert all(read <= plan.later_read for read in later)
    assert min(later) > 0.4 * plan.later_read  # it is 0.48 or more: a pass begins with what buffers still hold
    (edges,) = plan.on_disk
    assert edges.nbytes <= first <= plan.first_read
    assert 0 < edges.staying < edges.pages
    assert edges.later_bytes < edges.nbytes
    assert plan.iterations == 4


def test_a_run_by_tiles_reads_once(stored, tmp_path):
    roomy = stored._replace(memory=stored.memory + (12 << 20))
    how = gp.Options(mode="pull-tiled", sync=True)
    program = gp.apps.PageRank(stop="never", weighted=False)
    plan = gp.plan(program, roomy, iterations=3, device="cpu", options=how)
    read = [row.from_disk for row in gp.run(program, roomy, iterations=3, device="cpu", options=how).stats.iterations]
    assert plan.later_read == 0 == sum(read[1:])
    assert read[0] <= plan.first_read


def test_pages_for_tiles_are_those_of_the_run(tmp_path):
    """Tiles are made from pages of their own, in two passes."""
    graph = gp.rmat(14, 8)
    store.save(graph, tmp_path / "g", encoding="raw", block_bytes=1 << 14)
    there, how = opened(tmp_path / "g", 12_000_000), gp.Options(mode="pull-tiled", sync=True)
    program = gp.apps.PageRank(stop="never", weighted=False)
    tight = there._replace(memory=least_memory(program, there, device="cpu", options=how))
    plan = gp.plan(program, tight, iterations=2, device="cpu", options=how)
    read = [row.from_disk for row in gp.run(program, tight, iterations=2, device="cpu", options=how).stats.iterations]
    assert plan.first_read / 2 < read[0] <= plan.first_read


def least_memory(program, graph, **how):
    """The memory that an error asks for."""
    with pytest.raises(GraphError, match="allow") as caught:
        gp.plan(program, graph._replace(memory=1), **how)
    return parse_bytes(re.search(r"allow ([\d.]+ \w+) when", str(caught.value))[1], "memory")


@pytest.mark.parametrize(
    ("program", "given"),
    [
        (gp.apps.PageRank(weighted=False), {"options": gp.Options(encoding="packed")}),
        (gp.apps.BFS(0), {}),
    ],
    ids=["another encoding", "no room for out-edges"],
)
def test_what_the_run_refuses_the_plan_refuses(tmp_path, program, given):
    store.save(gp.rmat(10, 8), tmp_path / "g", encoding="raw", block_bytes=1 << 14)
    graph = opened(tmp_path / "g", 100_000)
    messages = []
    for function in (gp.plan, gp.run):
        with pytest.raises(GraphError) as caught:
            function(program, graph, device="cpu", **given)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_memory_for_verifying_is_asked_for(tmp_path):
    store.save(gp.rmat(12, 4), tmp_path / "g", encoding="raw", block_bytes=1 << 14)
    graph = opened(tmp_path / "g", 150_000)
    with pytest.raises(GraphError, match="to verify the answer"):
        explain.explain(gp.apps.BFS(0), graph, RunOptions(device="cpu", verify=True))


def test_a_limit_of_iterations_limits_the_expected_time(stored):
    seconds = [gp.plan(gp.apps.SSSP(0), stored, iterations=k, device="cpu").seconds for k in (0, 1, 3, 50)]
    assert sorted(seconds) == seconds
    assert seconds[1] < seconds[2] < seconds[3]


def test_a_run_that_only_pulls_reads_no_out_edges(stored):
    plan = gp.plan(gp.apps.BFS(0), stored, device="cpu", options=gp.Options(mode="pull"))
    assert [edges.name for edges in plan.on_disk] == ["in-edges" if stored.directed else "edges"]


def test_a_plan_of_edges_in_memory():
    graph = gp.rmat(10)
    plan = gp.plan(gp.apps.PageRank(), graph, iterations=7, device="cpu", threads=3)
    assert (plan.device, plan.threads, plan.iterations, plan.on_disk) == ("cpu", 3, 7, ())
    assert (plan.first_read, plan.later_read, plan.gpu_bytes) == (0, 0, 0)
    assert plan.seconds > 0
    assert "edges         raw, in memory" in str(plan)


def test_a_plan_for_the_gpu_says_what_stays_there(monkeypatch):
    graph = gp.rmat(12, weights=(1, 9))
    machine = Machine(8, lambda: True, on_device=lambda *_: OnDevice(room=100_000 + 32 * graph.n))
    monkeypatch.setattr(explain.Machine, "here", lambda: machine)
    plan = gp.plan(gp.apps.PageRank(weighted=False), graph, device="gpu", iterations=3)
    assert (plan.device, plan.gpu_bytes) == ("gpu", 70_000)  # beside four arrays of values
    assert plan.gpu_bytes + plan.streamed_bytes == graph.m * 4 + graph.n * 8
    assert "stay in its memory; each pass copies" in str(plan)


def test_the_expected_time_on_several_gpus_is_that_of_their_calls(monkeypatch):
    past = Past(3, took={("gpu", 1): Took(0.030, 0.005), ("gpu", 2): Took(0.020, 0.025)})
    there = OnDevice(has_context=True, is_compiled=True, nbytes=1 << 40)
    machine = Machine(8, lambda: True, past=lambda *_: past, on_device=lambda *_: there, gpus=lambda: Gpus(2, 1))
    monkeypatch.setattr(explain.Machine, "here", lambda: machine)
    program, graph = gp.apps.PageRank(weighted=False), gp.rmat(8)
    seconds = [gp.plan(program, graph, device="gpu", gpus=count).seconds for count in (1, 2)]
    assert seconds == pytest.approx([0.035, 0.045])


def test_the_reason_of_auto_is_shown(monkeypatch):
    monkeypatch.setattr("garaph_py.runtime.plan.reckon", lambda *_: verdict(False))
    assert "device        because the test says so" in str(gp.plan(gp.apps.PageRank(), gp.rmat(8)))


def test_expected_times_follow_what_runs_have_taught(monkeypatch, stored):
    program = gp.apps.PageRank(stop="never", weighted=False)
    rates = explain.Rates(cpu_all=1e12, disk_raw=1e6, disk_packed=1e6)
    monkeypatch.setattr("garaph_py.runtime.learned.rates", lambda: rates)
    plan = gp.plan(program, stored, iterations=4, device="cpu")
    assert plan.seconds == pytest.approx((plan.first_read + 3 * plan.later_read) / 1e6, rel=0.05)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"options": {"mode": "push"}}, "write options=gp.Options"),
        ({"device": "tpu"}, "tpu"),
        ({"debug": True}, "plan"),
        ({"iterations": -1}, "-1"),
    ],
)
def test_bad_arguments(given, problem):
    with pytest.raises((ParameterError, TypeError), match=problem):
        gp.plan(gp.apps.PageRank(), gp.rmat(5), **given)


def test_too_little_memory_is_told(stored):
    with pytest.raises(GraphError, match=r"allow .* when the graph is opened"):
        gp.plan(gp.apps.PageRank(weighted=False), stored._replace(memory=stored.nbytes), device="cpu")


def test_the_command_explains_and_does_not_run(tmp_path, monkeypatch, capsys):
    gp.save(gp.rmat(8), tmp_path / "g")
    shell = command.Shell(monkeypatch, capsys)
    given = ["run", "PageRank", tmp_path / "g", "--iterations", 3, "--explain", "--output", tmp_path / "o.npy"]
    status, output, _ = shell(*given)
    assert status == 0
    assert re.match(r"PageRank over 256 vertices and [\d,]+ stored edges: on the CPU, \d+ thread", output)
    assert "expected      3 iterations in" in output
    assert not (tmp_path / "o.npy").exists()
    document = json.loads(shell(*given, "--json")[1])
    assert (document["iterations"], document["on_disk"]) == (3, [])
