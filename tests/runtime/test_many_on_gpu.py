"""`run_many` on a GPU: every column has the answer of its own run there, resident, streamed and packed."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import apps
from tests.support import twins

from ..support.runs import run_with

pytestmark = pytest.mark.gpu

SOURCES = list(range(0, 32, 2))
WAYS = {
    "resident": {},
    "streamed": {"engine": "garaph", "page_edges": 20_000},
    "packed": {"encoding": "packed"},
    "hybrid": {"device": "hybrid", "page_edges": 20_000},
}


@pytest.fixture(scope="module")
def graph(graph_of):
    return graph_of(twins.skewed(5, 6000, 90000, "int32"))


def many(program, graph, sources, **how):
    device = how.pop("device", "gpu")
    return gp.run_many(program, graph, sources, device=device, options=gp.Options(**how))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [2, 16])
def test_shortest_paths_and_searches(graph, way, count):
    for program, name in ((apps.SSSP, "value"), (apps.BFS, "level")):
        table = many(program, graph, SOURCES[:count], **WAYS[way])
        assert table[0].stats.note is None
        assert table[0].stats.device != "cpu"
        for source in SOURCES[:count]:
            expected = gp.run(program(source), graph, device="cpu").column(name)
            np.testing.assert_array_equal(table[source].column(name), expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [True, False])
def test_64_searches_as_bits(graph_of, way, directed):
    graph = graph_of(twins.skewed(6, 9000, 130000), weighted=False, directed=directed)
    sources = np.random.default_rng(4).choice(9000, 64, replace=False).tolist()
    table, expected = (many(apps.BFS, graph, sources, **how) for how in (WAYS[way], {"device": "cpu"}))
    assert table[sources[0]].stats.note is None
    assert table[sources[0]].stats.device != "cpu"
    assert table.values.dtype == np.int8
    np.testing.assert_array_equal(table.values, expected.values)


@pytest.mark.parametrize("count", [5, 64])
def test_searches_of_many_supersteps(count):
    """Levels above 127 need more planes, and more bytes."""
    ends = np.arange(2000)
    graph = gp.from_edges(ends[:-1], ends[1:], directed=False)
    sources = range(0, 10 * count, 10)
    table, expected = (many(apps.BFS, graph, sources, device=device) for device in ("gpu", "cpu"))
    assert table[0].stats.note is None
    assert table.values.dtype == np.int32
    np.testing.assert_array_equal(table.values, expected.values)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranks_stop_column_by_column(graph, way, dtype):
    jumps = {source: 10.0 ** -(2 + source % 5) for source in SOURCES}
    programs = [
        apps.PageRank(weighted=False, dtype=dtype, personalization={source: 1}, tolerance=bound)
        for source, bound in jumps.items()
    ]
    table = many(programs, graph, None, **WAYS[way])
    lengths = set()
    for program, (_, result) in zip(programs, table.items(), strict=True):
        alone = run_with(program, graph, device="cpu", sync=True, mode="pull")
        lengths.add(len(alone.stats.history))
        np.testing.assert_allclose(result.values, alone.values, atol=1e-5 if dtype is np.float32 else 1e-12)
    assert len(lengths) > 2
    assert len(table[0].stats.history) == max(lengths)
