"""Programs over both directions apart on a GPU: the same as on the CPU, with what runs hand over left there."""

import numpy as np
import pytest

import garaph_py as gp
from tests.support.directions import CASES, EDGES, VALUES, N

from ..support.runs import run_with

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def graph():
    return gp.from_edges(EDGES.sources, EDGES.targets, VALUES, vertices=range(N))


@pytest.mark.parametrize("how", [{}, {"fetch": False}, {"device": "hybrid"}, {"encoding": "packed"},
                                 {"deterministic": True}])  # fmt: skip
@pytest.mark.parametrize("case", CASES)
def test_every_program_is_what_the_cpu_computes(graph, case, how):
    program, _ = CASES[case]
    for iterations in 0, 5:
        result = run_with(program, graph, iterations=iterations, **{"device": "gpu"} | how)
        expected = gp.run(program, graph, iterations=iterations, device="cpu")
        for name in expected.names:
            np.testing.assert_allclose(result.column(name), expected.column(name), rtol=1e-9)
        assert result.stats.note is None
        assert result.stats.device != "cpu"
