"""When a run ends: what `converged` may return, and columns that stop one after the other."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.convergence import Convergence, has_converged
from garaph_py.errors import ProgramError
from garaph_py.program import bind
from garaph_py.program.columns import STOPPED, joined
from tests.support.numpy_gpu import HUB, Hops


@pytest.mark.parametrize("answer", [True, False, np.True_, np.False_])
def test_converged_returns_a_truth_value(answer):
    assert has_converged(program_with(answer), np.array([3]), 5) is bool(answer)
    assert not has_converged(program_with(answer), None, 5)


@pytest.mark.parametrize("answer", [None, 0, 1.5, "no"])
def test_another_answer_of_converged_is_refused(answer):
    with pytest.raises(ProgramError, match=f"Hops.converged returns {answer!r}; return True to end the run"):
        has_converged(program_with(answer), np.array([3]), 5)


def test_columns_stop_one_after_the_other():
    graph = gp.from_edges([0, 1, 2], [1, 2, 0])
    programs = [gp.apps.PageRank(personalization={k: 1}, tolerance=0.5) for k in range(3)]
    bound = joined([bind(program, graph) for program in programs])
    ends, total = Convergence(bound, graph.n), np.zeros(1, bound.total)
    steps = [
        ((1.0, 0.1, 1.0), (3, 3, 3), 0b010),
        ((1.0, 1.0, 1.0), (3, 3, 0), 0b110),  # column 1 has stopped for good; column 2 has no active vertex
        ((0.4, 1.0, 1.0), (3, 3, 3), 0b111),
    ]
    for changes, active, stopped in steps:
        total[STOPPED] = 0  # as the sum over the vertices leaves it
        for c in range(3):
            total[f"c{c}_change"], total[f"active{c}"] = changes[c], active[c]
        assert ends.ends(total) == (stopped == 0b111)
        assert total[STOPPED][0] == stopped


def test_columns_that_a_device_has_stopped_stay_so():
    graph = gp.from_edges([0, 1, 2], [1, 2, 0])
    bound = joined([bind(gp.apps.PageRank(personalization={k: 1}), graph) for k in range(2)])
    total = np.ones(1, bound.total)
    total[STOPPED] = 0b01
    assert not Convergence(bound, graph.n).ends(total)
    assert total[STOPPED][0] == 0b01


def program_with(answer):
    """A program whose `converged` returns `answer`."""
    program = Hops(HUB)
    program.converged = lambda total, n: answer
    return program
