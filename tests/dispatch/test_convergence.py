"""When a run ends: columns that stop one after the other."""

import numpy as np

import garaph_py as gp
from garaph_py.dispatch.convergence import Convergence
from garaph_py.program import bind
from garaph_py.program.columns import STOPPED, joined


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
