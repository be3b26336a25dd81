"""On a GPU that has the parts of several: pulls that one step repeats have the bits of single ones."""

import numpy as np
import pytest

import garaph_py as gp

from ..support.runs import run_with

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("three_of_one")]

PROGRAMS = {
    "float32": gp.apps.PageRank(dtype=np.float32, tolerance=1e-4),
    "float64": gp.apps.PageRank(tolerance=1e-7),
    "weighted": gp.apps.PageRank(dtype=np.float32, stop="never"),
}


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request):
    return gp.rmat(16, 10, directed=request.param, weights=(1, 255), seed=5)


@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_are_the_same(graph, steps, name, count, encoding):
    program = PROGRAMS[name]
    how = {"device": "gpu", "gpus": count, "iterations": 40, "encoding": encoding, "gather": "segmented"}
    how |= {"gather": "packed"} if encoding == "packed" else {}
    run_with(program, graph, **how)  # which brings the edges there
    steps.clear()
    found = run_with(program, graph, **how)
    assert max(count for _, count in steps) > 4
    steps.clear()
    single = run_with(program, graph, **how, check="finite")
    assert not steps
    assert found.stats.note is None
    assert found.values.tobytes() == single.values.tobytes()
    rows, expected = found.stats.iterations, single.stats.iterations
    assert [(row.number, row.active, row.edges) for row in rows] == [
        (row.number, row.active, row.edges) for row in expected
    ]
    assert found.stats.converged == single.stats.converged


@pytest.mark.parametrize("count", [2, 3])
def test_deterministic_bits_do_not_depend_on_the_number_of_gpus(graph, steps, count):
    how = {"device": "gpu", "gpu_order": "given", "deterministic": True, "iterations": 25, "page_edges": graph.m // 9}
    one = run_with(PROGRAMS["float64"], graph, **how)
    for _ in range(2):
        several = run_with(PROGRAMS["float64"], graph, **how, gpus=count)
        assert one.values.tobytes() == several.values.tobytes()
    assert steps
