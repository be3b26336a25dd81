"""On a GPU: what the switches of Garaph's engine change of the GPU's part, each alone and together."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.policy import GaraphPolicy
from tests.support import twins
from tests.support.cases import EXACT, FLOAT

from ...support.runs import run_with

pytestmark = pytest.mark.gpu

ENGINES = {
    "every_edge=no": GaraphPolicy(every_edge=False),
    "all_vertices=no": GaraphPolicy(all_vertices=False),
    "work_items=yes": GaraphPolicy(work_items=True),
    "keep=yes": GaraphPolicy(keep=True),
    "offsets=yes": GaraphPolicy(offsets=True),
    "two_threads=yes": GaraphPolicy(two_threads=True),
    "as in the paper": GaraphPolicy(offsets=True, two_threads=True),
}


@pytest.fixture(scope="module")
def edges():
    """A hub has more edges than a work item."""
    return {weights: twins.skewed(5, 6000, 200_000, weights) for weights in (None, "int32", "float32", "float64")}


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_programs_have_the_same_bits(graph_of, edges, case, engine, device):
    given = edges[case.weights]
    graph, program = graph_of(given, directed=not case.symmetric), case.program(given)
    if case.symmetric:
        program = case.program(given.both_ways())
    right = run_with(program, graph, device="cpu")
    found = run_with(program, graph, device=device, engine=engine, page_edges=20_000)
    assert found.stats.note is None
    assert found.values.tobytes() == right.values.tobytes()


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("case", FLOAT, ids=lambda case: case.name)
def test_float_programs_are_close(graph_of, edges, case, engine):
    given = edges[case.weights]
    graph, program = graph_of(given), case.program(given)
    right = run_with(program, graph, device="cpu", iterations=8, sync=True)
    found = run_with(program, graph, device="gpu", engine=engine, iterations=8, sync=True)
    np.testing.assert_allclose(found.values, right.values, rtol=1e-10, atol=1e-14)


def test_a_shard_whose_hub_has_most_edges_has_one_block(graph_of):
    n = 300_000
    star = twins.Edges(n, np.arange(1, n), np.zeros(n - 1, np.int64))
    program, graph = gp.apps.PageRank(stop="never"), graph_of(star)
    right = run_with(program, graph, device="cpu", iterations=3)
    found = run_with(program, graph, device="gpu", engine=GaraphPolicy(), iterations=3)
    np.testing.assert_allclose(found.values, right.values, rtol=1e-10)


def test_every_iteration_copies_all_pages(graph_of, edges):
    graph = graph_of(edges[None])
    how = {"device": "gpu", "page_edges": 20_000}
    engines = ("garaph", 4), ("garaph:offsets=yes", 6), ("garaph:two_threads=yes", 4)
    for engine, width in engines:
        rows = run_with(gp.apps.PageRank(), graph, iterations=3, engine=engine, **how).stats.iterations
        assert [row.to_device for row in rows] == [width * graph.m] * 3
        assert min(row.pages for row in rows) > 8
