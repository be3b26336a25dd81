"""Programs in plain Python: the answers of compiled runs, and an error at the first number that goes wrong."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.errors import NumberError, ParameterError, ProgramError
from tests.support import twins
from tests.support.cases import EXACT, FLOAT, columns, mostly_full
from tests.support.command import Shell
from tests.support.numpy_gpu import Hops
from tests.support.programs import DataDriven, Relabel, Strongest, Sum, derived

RING = gp.from_edges(["a", "b", "c"], ["b", "c", "a"], np.array([1, 2, 3]))
PULL = gp.Options(mode="pull", sync=True)
SMALL = twins.skewed(3, 40, 150)


def assert_equal(program, graph, rounding=0.0, **how):
    """The interpreter gives the answer of the compiled run."""
    found, wanted = gp.run(program, graph, debug=True, **how), gp.run(program, graph, options=PULL, threads=1, **how)
    assert found.values.dtype == wanted.values.dtype
    for ours, theirs in zip(columns(found), columns(wanted), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=rounding, atol=rounding)
    assert found.stats.converged == wanted.stats.converged
    if not rounding:
        rows = zip(found.stats.iterations, wanted.stats.iterations, strict=True)
        assert all(ours.active == theirs.active for ours, theirs in rows)


PROGRAMS = ("BFS", "SSSP-int", "ConnectedComponents", *(case.name for case in FLOAT))
"""The programs of the library, but for kinds of edge values; `test_random_graphs` runs the widest paths."""


@pytest.mark.slow
@pytest.mark.parametrize("case", mostly_full(EXACT + FLOAT, *PROGRAMS))
def test_programs_of_the_library(graph_of, case):
    edges = SMALL if case.weights is None else twins.skewed(3, 40, 150, case.weights)
    symmetric = getattr(case, "symmetric", False)
    program, graph = case.program(edges), graph_of(edges, directed=not symmetric)
    assert_equal(program, graph) if case in EXACT else assert_equal(program, graph, 1e-12, iterations=8)


@pytest.fixture(params=mostly_full(["raw", "packed"], "packed"))
def weighted(graph_of, request):
    graph = graph_of(twins.skewed(3, 40, 150, "int32"))
    return graph if request.param == "raw" else graph.packed(1)


@pytest.mark.slow
def test_fields_and_prepare(weighted):
    assert_equal(DataDriven(), weighted, 1e-12, iterations=5)


@pytest.mark.full
def test_source_ids_and_own_monoids(weighted):
    assert_equal(Strongest(), weighted, iterations=3)
    assert_equal(Hops(), weighted)


@pytest.mark.full
def test_totals_and_converged(weighted):
    seen = []
    for debug in (True, False):
        program = Relabel()
        program.seen = []
        gp.run(program, weighted, debug=debug, options=PULL)
        seen.append([(total.changed, total.labels, n) for total, n in program.seen])
    assert seen[0] == seen[1] != []


EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2**31 - 1)), max_size=30)


@pytest.mark.full
@settings(max_examples=40, deadline=None)
@given(EDGES)
def test_random_graphs(edges):
    sources, targets, weights = np.array(edges, np.int64).reshape(-1, 3).T
    graph = gp.from_edges(sources, targets, weights.astype(np.int32), vertices=range(10))
    for program in (gp.apps.BFS(0), gp.apps.SSSP(0), gp.apps.SSWP(0), Strongest()):
        assert_equal(program, graph, iterations=5)
    assert_equal(gp.apps.PageRank(), graph, 1e-12, iterations=5)


@pytest.mark.full
def test_parameters_of_every_kind():
    assert_equal(gp.apps.HeatSimulation(initial={"a": 2}, fixed={"c": 0.5}, dtype=np.float32), RING, 1e-5, iterations=9)
    assert_equal(gp.apps.PenalizedHittingProbability(query="b", decay=0.5), RING, 1e-12)


def wrong(gather=lambda self, src: src, **contents):
    return derived(gather=gather, **contents)()


NUMBERS = {
    "integer overflow": (wrong(lambda self, edge: 2**62 * edge), "overflow.*scalar multiply"),
    "above 32 bits": (
        wrong(lambda self, edge: edge + 2**31, value=np.int32),
        r"\d, which does not fit int32; use np\.int64",
    ),
    "above 64 bits": (wrong(lambda self: 2**63), r"does not fit int64; use np\.float64, or smaller numbers"),
    "below 0": (
        wrong(lambda self, src: src - 3, value=np.uint32),
        "returned -1, which does not fit uint32; use np.int64",
    ),
    "not whole": (wrong(lambda self, edge: edge / 2), r"returned 1.5, which does not fit int64; use np\.float64"),
    "division": (wrong(lambda self, src: 1 // (src - 2)), "divide by zero"),
    "division of Python numbers": (wrong(lambda self: 1 // len(())), "ZeroDivisionError"),
    "conversion": (wrong(lambda self, src: int(src * 1e300)), "OverflowError"),
    "float overflow": (wrong(lambda self, src: (src + 1e300) * 1e300, value=np.float64), "overflow"),
    "domain": (wrong(lambda self, src: np.sqrt(-src - 1), value=np.float64), "returned nan"),
    "infinity": (wrong(lambda self, src: np.inf, value=np.float64), "returned inf"),
}


@pytest.mark.parametrize(("program", "problem"), NUMBERS.values(), ids=NUMBERS)
def test_wrong_numbers(program, problem):
    where = rf"Wrong.gather \({__file__}, line \d+\): .*({problem}).*; at the edge [abc] -> [abc] in iteration 0"
    with pytest.raises(NumberError, match=where):
        gp.run(program, RING, debug=True, iterations=3)


def test_sums_and_totals_overflow():
    large = wrong(lambda self: 2**62)
    graph = gp.from_edges([0, 1, 2], [3, 3, 3])
    with pytest.raises(NumberError, match=r"Wrong.sum: overflow.*; at the edge 1 -> 3 in iteration 0 with left=46"):
        gp.run(large, graph, debug=True)
    program = wrong(total=int, aggregate=lambda self: 2**62)
    with pytest.raises(NumberError, match=r"Wrong.total: overflow.*; at vertex 1 before the first iteration with"):
        gp.run(program, graph, debug=True)


def test_vertices_may_start_with_what_is_not_finite():
    program = wrong(value=np.float64, init=lambda self, id: np.nan if id == 0 else float(id))
    assert np.isnan(gp.run(program, RING, debug=True, iterations=2).values).any()


PROGRAMS = {
    "a name": (lambda self: undefined, "NameError: name 'undefined' is not defined"),  # noqa: F821
    "nothing": (lambda self: None, "returned None; allowed is int64"),
    "fields": (lambda self: (1, 2), r"returned \(1, 2\); allowed is int64"),
    "a parameter": (lambda self: self.rate, "self has no numeric parameter 'rate'; it has identity"),
}


@pytest.mark.parametrize(("gather", "problem"), PROGRAMS.values(), ids=PROGRAMS)
def test_wrong_programs(gather, problem):
    line = gather.__code__.co_firstlineno
    with pytest.raises(ProgramError, match=rf"Wrong.gather \({__file__}, line {line}\): {problem}; at the edge c -> a"):
        gp.run(wrong(gather), RING, debug=True)


def test_fields_and_truth_values():
    two = {"x": np.int64, "y": np.int64}
    fields = wrong(lambda self, src: (1, 2, 3), value=two, init=lambda self: (1, 2), apply=lambda self, acc: acc)
    with pytest.raises(
        ProgramError, match=r"returned \(1, 2, 3\); allowed is a tuple \(x, y\).* with src=\(x=1, y=2\)"
    ):
        gp.run(fields, RING, debug=True)
    with pytest.raises(ProgramError, match=r"Wrong.activate.*returned None; allowed is a truth value; at vertex a"):
        gp.run(wrong(activate=lambda self: None), RING, debug=True)


def test_functions_may_print(capsys):
    def gather(self, src, edge):
        print(f"{src} over {edge}")
        return src

    gp.run(wrong(gather), RING, debug=True, iterations=1)
    assert capsys.readouterr().out.splitlines() == ["2 over 3", "0 over 1", "1 over 2"]


@pytest.mark.parametrize("how", [{"device": "gpu"}, {"checkpoint": "c"}, {"options": gp.Options(mode="push")}])
def test_options_that_it_cannot_follow(how):
    with pytest.raises(ParameterError, match="debug=True runs the program in plain Python; leave"):
        gp.run(Sum(), RING, debug=True, **how)


@pytest.mark.slow
def test_nothing_is_compiled(tmp_path):
    code = (
        "import sys, garaph_py as gp; graph = gp.from_edges([0, 1], [1, 2]); sys.modules['numba'] = None;"
        "print(gp.run(gp.apps.PageRank(), graph, debug=True).column())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_command(tmp_path, monkeypatch, capsys):
    path, garaph = tmp_path / "edges.txt", Shell(monkeypatch, capsys)
    path.write_text("0 1 inf\n1 2 0.5\n")
    status, out, _ = garaph("run", "SSSP", path, "--source", 1, "--debug", "--check", "finite", "-q")
    assert (status, "0.5" in out) == (0, True)
    assert garaph("run", "SSSP", path, "--source", 1, "--debug", "--device", "gpu")[0] != 0
