"""Programs that gather over both directions apart: the same as NumPy computes, in every run; what is refused."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import GraphError, NumberError, ParameterError, ProgramError
from garaph_py.program.directions import bind_directions
from garaph_py.runtime import runner
from tests.support.cases import mostly_full
from tests.support.command import Shell
from tests.support.directions import CASES, EDGES, VALUES, Between, Calm, Flow, Hits, Latest, N, flow
from tests.support.runs import run_with
from tests.support.stored_graphs import opened


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    graph = gp.from_edges(EDGES.sources, EDGES.targets, VALUES, vertices=range(N))
    folder = tmp_path_factory.mktemp("directions")
    for encoding in ("raw", "packed"):
        gp.save(graph, folder / encoding, encoding=encoding, block_bytes=8192)
    return [graph, graph.packed(), *(opened(folder / encoding, 8 << 20) for encoding in ("raw", "packed"))]


def assert_equal(result, expected):
    parts = expected if isinstance(expected, dict) else {None: expected}
    for name, column in parts.items():
        np.testing.assert_allclose(result.column(name), column, rtol=1e-12)


@pytest.mark.parametrize("case", mostly_full(CASES, "flow"))
def test_every_program_is_what_numpy_computes(graphs, case):
    program, expected = CASES[case]
    for graph in graphs:
        for iterations in (0, 1, 4) if graph is graphs[0] else (3,):
            result = gp.run(program, graph, iterations=iterations, device="cpu")
            assert_equal(result, expected(iterations))
            assert not result.stats.converged
            assert len(result.stats.iterations) == iterations
    assert_equal(gp.run(program, graphs[0], iterations=2, debug=True), expected(2))


@pytest.mark.parametrize(
    "how",
    [
        {"mode": "pull-tiled"},
        {"engine": "garaph"},
        {"deterministic": True, "threads": 3},
        pytest.param({"mode": "notify-pull"}, marks=pytest.mark.full),
        {"fetch": False},
        {"encoding": "packed"},
    ],
)
def test_options(graphs, how):
    program, expected = CASES["flow"]
    result = run_with(program, graphs[0], iterations=3, **how)
    assert_equal(result, expected(3))
    gp.check(program, graphs[0], result)
    if "mode" in how:
        assert {one.mode for one in result.stats.iterations} == {how["mode"]}


@pytest.mark.parametrize("kind", [Flow, Between, pytest.param(Latest, marks=pytest.mark.full)])
def test_random_graphs_and_the_interpreter(kind):
    rng = np.random.default_rng(5)
    for n, m, directed in [(1, 0, True), (7, 0, True), (2, 1, True), (9, 30, True), (9, 30, False), (70, 90, True)]:
        ends = rng.integers(0, n, (2, m))
        graph = gp.from_edges(*ends, rng.integers(0, 5, m).astype(np.int32), vertices=range(n), directed=directed)
        program = Flow(weight=rng.integers(0, 5, n)) if kind is Flow else kind()
        result, other = (gp.run(program, graph, iterations=3, debug=debug) for debug in (False, True))
        np.testing.assert_array_equal(result.values, other.values)
        assert result.stats.columns()["active"] == other.stats.columns()["active"]
        assert result.stats.columns()["edges"] == other.stats.columns()["edges"]


@pytest.fixture
def on_gpu(device_for, interpreting, monkeypatch):
    """A function that runs a program on a GPU that is simulated, and counts what crosses the link."""
    monkeypatch.setattr(runner, "INTERVAL", math.inf)  # a run that takes long copies nothing for safety

    def run(program, graph, **how):
        driver = device_for(program, graph, bind=lambda *given: bind_directions(*given).whole)
        copied = []
        for name in "memcpy_dtoh", "memcpy_htod", "memcpy_dtoh_async", "memcpy_htod_async":
            works = getattr(driver, name)

            def noted(first, second, *more, works=works):
                copied.append(max(getattr(each, "nbytes", 0) for each in (first, second)))
                works(first, second, *more)

            setattr(driver, name, noted)
        return run_with(program, graph, **how), [nbytes for nbytes in copied if nbytes >= 8 * N]

    return run


@pytest.mark.parametrize("device", mostly_full(["gpu", "hybrid"], "gpu"))
def test_a_gpu_keeps_what_runs_hand_over(on_gpu, graphs, device):
    program, expected = CASES["flow"]
    for iterations in 0, 1, 3:
        result, _ = on_gpu(program, graphs[0], iterations=iterations, device=device)
        assert_equal(result, expected(iterations))
    assert result.stats.device == "NumPy"
    few, many = (on_gpu(program, graphs[0], iterations=count, device=device)[1] for count in (3, 8))
    if device == "gpu":
        assert len(many) == len(few) <= 12  # parameters and the graph go there, the answer comes back


@pytest.mark.full
def test_an_undirected_graph_has_both_sums_over_the_same_edges():
    graph = gp.from_edges([0, 0, 1], [1, 2, 2], directed=False)
    result = gp.run(Hits(), graph, iterations=3)
    np.testing.assert_allclose(result.column("hub"), result.column("authority"))


@pytest.mark.parametrize("debug", mostly_full([False, True], "False"))
def test_it_ends_when_no_vertex_is_active(graphs, debug):
    result = gp.run(Calm(), graphs[0], debug=debug)
    assert result.stats.converged
    active = result.stats.columns()["active"]
    assert active[0] == N and min(active) > 0 and active[-1] < N  # noqa: PT018
    again = gp.run(Calm(), graphs[0], iterations=len(active) - 1, debug=debug)
    assert not again.stats.converged


class Quiet(Calm):
    tolerance: float = 0.0
    total = float

    def frontier(self, id):
        return id == 300

    def aggregate(self, new, old):
        return abs(new - old)

    def converged(self, total, n):
        SEEN.append((total, n))
        return total < self.tolerance


SEEN = []


class Awake(Quiet):
    frontier = None


@pytest.mark.parametrize("debug", mostly_full([False, True], "True"))
def test_it_ends_when_the_program_says_so(graphs, debug):
    assert len(gp.run(Quiet(), graphs[0], debug=debug).stats.iterations) == 0
    assert SEEN == []
    result = gp.run(Awake(tolerance=50.0), graphs[0], debug=debug)
    assert result.stats.converged
    assert len(SEEN) == len(result.stats.iterations) > 2
    assert SEEN[-1][0] < 50.0 <= min(total for total, _ in SEEN[:-1])
    SEEN.clear()


def test_listeners_hear_of_each_iteration_once(graphs):
    heard = []
    result = gp.run(CASES["flow"][0], graphs[0], iterations=3, on_event=heard.append)
    done = [event for event in heard if isinstance(event, gp.events.Iteration)]
    assert done == result.stats.iterations
    assert [one.number for one in done] == [0, 1, 2]
    for one in done:
        assert one.edges == 2 * 2500 == sum(group.edges for group in one.groups)
        assert one.why.startswith("out-edges: ")
        assert "; in-edges: " in one.why
    assert all(first.ended <= second.started for first, second in pairwise(done))


def test_many_sources(graphs):
    program, expected = Flow(weight=2), [flow(2, 2, 0, source=source) for source in (3, 5)]
    table = gp.run_many(program, graphs[0], sources=[3, 5], iterations=2, verify=True)
    np.testing.assert_array_equal(table.values, np.array(expected).T)


def test_one_may_take_results_of_other_runs(graphs):
    first = gp.run(Calm(), graphs[0], iterations=0)
    result = gp.run(Flow(bias=gp.run(Flow(), graphs[0], iterations=0), weight={0: 5}), graphs[0], iterations=2)
    assert_equal(result, flow(2, np.where(np.arange(N) == 0, 5, 1), flow(0, 1, 0)))
    assert len(first) == N


def test_numbers_that_are_not_finite_are_found(graphs):
    class Grows(Calm):
        sum_out = gp.add

        def apply(self, acc, acc_out):
            return (acc + acc_out) * 1e150

    with pytest.raises(NumberError, match=r"Grows: the value of vertex \d+ is inf after \d iterations"):
        gp.run(Grows(), graphs[0], iterations=5)
    with pytest.raises(NumberError, match=r"after iteration 2, but not at the start"):
        gp.run(Grows(), graphs[0], iterations=5, options=gp.Options(check="finite"))
    gp.run(Grows(), graphs[0], iterations=5, options=gp.Options(check="off"))
    with pytest.raises(NumberError, match=r"Grows\.(apply|gather|gather_out|sum).*in iteration 2"):
        gp.run(Grows(), graphs[0], iterations=5, debug=True)


def test_an_infinite_identity_of_either_sum_allows_infinity(graphs):
    """Calm's maximum over no out-edges is minus infinity."""

    class Farthest(Calm):
        def apply(self, acc_out):
            return acc_out

    for how in {}, {"debug": True}:
        assert np.isneginf(gp.run(Farthest(), graphs[0], iterations=1, **how).values).any()


def wrong(base=Calm, **contents):
    return type("Wrong", (base,), contents)


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (wrong(gathers="out"), r"leave gathers = 'out' out"),
        (wrong(done=lambda self, acc: acc > 3), "pulls all edges; leave done out"),
        (wrong(monotone=True), "leave monotone out"),
        (wrong(prepare=lambda self, value: value), "leave prepare out"),
        (wrong(apply=lambda self, acc: acc), r"never used: apply\(self, ...\) has to ask for acc_out"),
        (wrong(gather_out=None), "asks for 'acc_out'; allowed are"),
        (wrong(gather_out=None, apply=None), r"sum_out is set, but there is no gather_out\(self, ...\)"),
        (wrong(gather_out=lambda self, srk: srk), "gather_out .* asks for 'srk'; allowed are src, edge, dst, src_id"),
        (wrong(sum_out=min), "has sum_out = min, a function of Python; write sum_out = gp.add"),
        (wrong(gather_out=lambda self, src: (src, src)), r"gather_out .* returns a tuple"),
        (wrong(gather_out=lambda self, src: print(1)), "gather_out .* uses print"),
        (wrong(gather_out=lambda self, src: self.nothing), "gather_out .* no numeric parameter 'nothing'"),
        (wrong(sum_out=gp.bitwise_and), "bitwise_and, which takes integers"),
        (wrong(value={"x": np.float32, "k": np.int64}, init=lambda self: (float(1), 1)), "value has integers of type"),
        (wrong(accumulator_out=np.int64), "accumulator_out has integers of type int64, which float64"),
        (wrong(gather_ou=lambda self, src: src), "did you mean gather_out"),
    ],
)  # fmt: skip
def test_wrong_programs(graphs, program, problem):
    with pytest.raises(ProgramError, match=problem):
        gp.run(program(), graphs[0], iterations=1)


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ({"checkpoint": "points"}, "checkpoint='points': a program with gather_out takes two runs"),
        ({"trace": "trace.json"}, "leave trace out"),
        ({"report": "report.html"}, "leave report out"),
        ({"sync": False}, "leave sync out"),
        ({"mode": "push"}, "cannot push"),
        ({"mode": "components"}, "does not sum over connected components"),
        ({"engine": "emogi"}, "cannot push"),
        ({"verify": True}, "has no verifier"),
    ],
)
def test_options_that_are_refused(graphs, how, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=problem):
        run_with(Calm(), graphs[0], **how)
    assert list(tmp_path.iterdir()) == []


def test_what_else_takes_programs_refuses_it(graphs):
    for call in (lambda: gp.plan(Calm(), graphs[0]), lambda: graphs[0].to_device(Calm())):
        with pytest.raises(ProgramError, match="Calm gathers over both directions apart"):
            call()


@pytest.mark.slow  # for .[dev], which installs Dask
def test_a_cluster_refuses_it(graphs):
    pytest.importorskip("distributed")
    with pytest.raises(ProgramError, match="Calm gathers over both directions apart"):
        gp.run(Calm(), graphs[0], cluster="local:2")


def test_a_directory_needs_values_of_both_directions(graphs):
    without = graphs[2]._replace(out_edges=graphs[2]._arrays.out_edges.without_values())
    with pytest.raises(GraphError, match="out-edges"):
        gp.run(Flow(), without, iterations=1)
    assert_equal(gp.run(Calm(), without, iterations=2), gp.run(Calm(), graphs[0], iterations=2).values)


def test_a_program_that_is_changed_runs_as_it_is_now(graphs):
    class Changes(Calm):
        pass

    before = gp.run(Changes(), graphs[0], iterations=2).values
    Changes.gather_out = lambda self, src: 2 * src
    after = gp.run(Changes(), graphs[0], iterations=2).values
    assert (before != after).any()
    np.testing.assert_array_equal(after, gp.run(Changes(), graphs[0], iterations=2, debug=True).values)


@pytest.mark.parametrize("how", [pytest.param([], marks=pytest.mark.full), ["--debug"]], ids=["compiled", "debug"])
def test_the_command(tmp_path, monkeypatch, capsys, how):
    (tmp_path / "calm.py").write_text(
        "import numpy as np\nimport garaph_py as gp\n\n\nclass Both(gp.VertexProgram):\n"
        "    value = np.int64\n    sum = gp.add\n\n    def init(self):\n        return 1\n\n"
        "    def gather(self, src):\n        return src\n\n    def gather_out(self, src):\n        return 10 * src\n\n"
        "    def apply(self, acc, acc_out):\n        return acc + acc_out\n"
    )
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n")
    shell = Shell(monkeypatch, capsys)
    given = (tmp_path / "calm.py:Both", tmp_path / "edges.txt", "--iterations", 1, "--json", *how)
    status, found, _ = shell("run", *given)
    assert status == 0
    assert dict(json.loads(found)["top"]) == {0: 10, 1: 11, 2: 1}
