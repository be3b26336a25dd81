"""Parents that a GPU finds, and values that it stores in 32 bits: the answers of the CPU."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.modes import PULL
from garaph_py.program import narrow
from tests.support import twins
from tests.support.parent_programs import Paths, Steps
from tests.support.real_gpu import memory_for

from ...support.runs import run_with

pytestmark = pytest.mark.gpu

HUB_EDGES = 30_000


def made(kind, directed):
    """A skewed graph; or one in which a vertex with many edges is reached over one of its last ones."""
    if kind == "skewed":
        edges = twins.skewed(8, 6000, 90_000, "int32")
        sources, targets, n = edges.sources, edges.targets, edges.n
    else:
        n = HUB_EDGES + 3
        sources = np.append(np.arange(2, n), [0, n - 1])
        targets = np.append(np.full(n - 2, 1), [n - 2, 2])
    weights = (sources.astype(np.int64) * 7 + targets) % 5 + 1
    return gp.from_edges(sources, targets, weights, vertices=range(n), directed=directed)


@pytest.mark.parametrize("program", [Steps(), Paths(), gp.apps.BFS(0)], ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("kind", ["skewed", "late"])
def test_parents_are_the_cpus(kind, directed, program):
    graph = made(kind, directed)
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True).values.tobytes()
    for encoding in "raw", "packed":
        gather = "packed" if encoding == "packed" else "auto"
        for share in (1.0, 0.5, 0.2) if kind == "skewed" else (1.0,):  # a hub's list has to fit, several times
            memory = None if share == 1 else memory_for(program, graph, share, gather)
            found = run_with(
                program, graph, device="gpu", encoding=encoding, gpu_memory=memory, page_edges=1000, gather=gather
            )
            assert found.stats.device != "cpu"
            assert found.values.tobytes() == expected
        assert run_with(program, graph, device="hybrid", encoding=encoding).values.tobytes() == expected


@pytest.mark.parametrize("far", [5, 1 << 33])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("sync", [True, False])
def test_values_beyond_32_bits(far, device, sync):
    edges = twins.skewed(8, 6000, 90_000)
    weights = np.random.default_rng(3).integers(1, far, len(edges.sources))
    graph = gp.from_edges(edges.sources, edges.targets, weights, vertices=range(edges.n), directed=False)
    for program in gp.apps.SSSP(0), gp.apps.SSWP(0):
        expected = run_with(program, graph, device="cpu", iterations=edges.n, sync=True)
        found = run_with(program, graph, device=device, sync=sync)
        assert found.values.tobytes() == expected.values.tobytes()
        is_wide = any(name.startswith("wide values") for name in graph._arrays.derived.names)
        assert is_wide == (far > narrow.STORED_MOST)
