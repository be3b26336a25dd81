"""Sums over edges by vertex programs, which verify them. More is in test_hits.py."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.algorithms.edge_sums import SumIn, SumOut, WeightedIn, WeightedOut


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SumIn, SumOut, WeightedIn, WeightedOut])
def test_the_programs_verify_their_answer(kind):
    graph = gp.rmat(6, 4, weights=(1, 9))
    program = kind(np.linspace(-1e-10, 1e-10, graph.n))  # sums of any size are checked
    result = gp.run(program, graph, iterations=1, verify=True)
    gp.run(kind(2.0), graph, iterations=1, verify=True)
    result.values[5] += 1e-13
    with pytest.raises(gp.errors.VerificationError, match=f"{kind.__name__}: the values are not the sums"):
        gp.check(program, graph, result)
